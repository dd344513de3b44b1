"""A run without a terminal: what goes to stdout, what to stderr, and what programs can read."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import Shell, assert_one_line
from support.server import ServerProcess
from support.sources import ROOT

pytestmark = pytest.mark.e2e

SUMMARY_KEYS = {
    "env",
    "k",
    "n_tasks",
    "n_attempts",
    "n_scored",
    "n_unscored",
    "pass_rate",
    "mean_value",
    "env_fingerprint",
    "policy_fingerprint",
    "stopped_early",
    "tasks",
}


@pytest.mark.smoke
def test_the_last_line_of_stdout_is_one_object(shell: Shell) -> None:
    shell.environment(tasks=3)
    done = shell.run("run", "env.py", "-k", "2", "-c", "3", "--headless", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["log"] == str(shell.log)
    assert told["state"] == "finished"
    assert set(told["summary"]) == SUMMARY_KEYS
    assert (told["summary"]["n_attempts"], told["summary"]["n_scored"], told["summary"]["pass_rate"]) == (6, 6, 1.0)


@pytest.mark.smoke
def test_stdout_holds_the_grid_and_not_what_the_users_code_prints(shell: Shell) -> None:
    shell.environment(tasks=3)
    done = shell.run("run", "env.py", "-k", "2", "--headless")
    assert "the user's own words" not in done.stdout
    assert "the user's own words" in done.stderr
    assert all(f"n{n}" in done.stdout for n in range(3))
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stderr
    assert re.search(r"6/6 ended, 0 in flight, passed 6/6 100%", done.stderr)


def test_runs_lists_the_newest_first(shell: Shell) -> None:
    shell.environment(tasks=1)
    first = shell.json("run", "env.py", "-k", "1", "--headless", "--json")["run_id"]
    second = shell.json("run", "env.py", "-k", "1", "--headless", "--json")["run_id"]
    runs = shell.json("runs", "--json")["runs"]
    assert [run["run_id"] for run in runs] == [second, first]
    assert [(run["state"], run["env"]) for run in runs] == [("finished", "marks")] * 2
    assert second in shell.run("runs").stdout


def test_tasks_and_metadata_choose_what_is_run(shell: Shell) -> None:
    shell.environment(tasks=4)
    even = shell.json("run", "env.py", "-k", "1", "--where", "split=even", "--headless", "--json")["summary"]
    two = shell.json("run", "env.py", "-k", "1", "--tasks", "n1,n3", "--headless", "--json")["summary"]
    assert [task["id"] for task in even["tasks"]] == ["n0", "n2"]
    assert [task["id"] for task in two["tasks"]] == ["n1", "n3"]


def test_flags_beat_the_environment_which_beats_the_configuration(shell: Shell) -> None:
    shell.environment(tasks=1)
    (shell.folder / "rollgrid.toml").write_text("k = 2\n")
    run = ("run", "env.py", "--headless", "--json")
    assert shell.json(*run)["summary"]["k"] == 2
    shell.variables["ROLLGRID_K"] = "3"
    assert shell.json(*run)["summary"]["k"] == 3
    assert shell.json(*run, "-k", "4")["summary"]["k"] == 4


@pytest.mark.parametrize("place", ["flag", "variable", "configuration"])
def test_the_log_is_where_it_was_asked_for(shell: Shell, place: str) -> None:
    shell.environment(tasks=1)
    wanted = shell.folder / "elsewhere" / "other.db"
    flags: tuple[str, ...] = ()
    if place == "flag":
        flags = ("--log", str(wanted))
    elif place == "variable":
        shell.variables["ROLLGRID_LOG"] = str(wanted)
    else:
        (shell.folder / "rollgrid.toml").write_text('log = "elsewhere/other.db"\n')
    told = shell.json("run", "env.py", "-k", "1", "--headless", "--json", *flags)
    assert told["log"] == str(wanted)
    assert wanted.stat().st_mode & 0o777 == 0o600
    assert not shell.log.exists()
    assert [run["run_id"] for run in shell.json("runs", "--json", *flags)["runs"]] == [told["run_id"]]


def test_a_script_and_the_commands_share_one_log(shell: Shell) -> None:
    shell.environment(tasks=1)
    (shell.folder / "rollgrid.toml").write_text('log = "elsewhere/other.db"\n')
    script = shell.folder / "script.py"
    script.write_text("from env import env\nfrom rollgrid import run_rollouts\nrun_rollouts(env, k=2)\n")
    subprocess.run([sys.executable, "script.py"], cwd=shell.folder, env=shell.env(), check=True, capture_output=True)
    (run,) = shell.json("runs", "--json")["runs"]
    assert (run["n_scored"], run["state"]) == (2, "finished")


def test_show_prints_the_run_the_task_and_the_transcript(shell: Shell) -> None:
    shell.environment(tasks=2)
    run_id = shell.json("run", "env.py", "-k", "2", "--headless", "--json")["run_id"]
    assert "PP" in shell.run("show", "last").stdout
    task = shell.json("show", run_id[:4], "n1", "--json")
    assert task["task"]["input"] == "Say the number. ANS=1"
    assert [attempt["attempt"] for attempt in task["attempts"]] == [1, 2]
    transcript = shell.run("show", "last", "n1", "2").stdout
    assert "Say the number. ANS=1" in transcript
    assert '"value"' in transcript


def test_the_readmes_first_environment_runs(shell: Shell) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 15
    (shell.folder / "arithmetic.py").write_text(code[1])
    summary = shell.json("run", "arithmetic.py", "-k", "2", "--headless", "--json")["summary"]
    assert (summary["env"], summary["n_scored"], summary["n_tasks"]) == ("arithmetic", 4, 2)


def test_a_baseline_is_saved_listed_shown_and_compared(shell: Shell, api: ServerProcess) -> None:
    shell.environment(tasks=4)
    shell.json("run", "env.py", "-k", "8", "--headless", "--json")
    assert shell.run("baseline", "save", "last", "kept/marks.json").returncode == 0
    assert (shell.folder / "kept" / "marks.json").stat().st_mode & 0o777 == 0o600
    assert_one_line(shell.run("baseline", "save", "last", "kept/marks.json"), "--force")
    assert [one["n_passed"] for one in shell.json("baseline", "list", "--json")["baselines"]] == [32]
    assert "n1" in shell.run("baseline", "show", "kept/marks.json").stdout
    assert shell.run("diff", "kept/marks.json", "last").returncode == 0
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=0,seed=2")
    told = shell.json("run", "env.py", "-k", "8", "--baseline", "kept/marks.json", "--headless", "--json")
    assert told["diff"]["regressed"] == ["n0", "n1", "n2", "n3"]
    assert shell.run("diff", "kept/marks.json", "last").returncode == 1


def test_a_run_is_exported_for_training_and_for_spreadsheets(shell: Shell, api: ServerProcess) -> None:
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=0.5,seed=3")
    shell.environment(tasks=3)
    summary = shell.json("run", "env.py", "-k", "4", "--headless", "--json")["summary"]
    passed = round(12 * summary["pass_rate"])
    assert 0 < passed < 12
    assert shell.run("export", "sft", "last", "sft.jsonl").returncode == 0
    lines = (shell.folder / "sft.jsonl").read_text().splitlines()
    assert [list(json.loads(line)) for line in lines] == [["messages"]] * passed
    assert shell.run("export", "preferences", "last", "pairs.jsonl").returncode == 0
    assert (shell.folder / "pairs.jsonl").read_text()
    assert shell.run("export", "csv", "last", "all.csv").returncode == 0
    with (shell.folder / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["task"], row["attempt"]) for row in rows[:5]] == [*(("n0", str(n)) for n in range(1, 5)), ("n1", "1")]
    assert sum(row["outcome"] == "pass" for row in rows) == passed
    assert {row["metadata.split"] for row in rows} == {"odd", "even"}


def test_nothing_a_run_writes_holds_the_key(shell: Shell) -> None:
    shell.environment(tasks=1)
    done = shell.run("run", "env.py", "-k", "2", "--headless", "--json")
    key = shell.variables["OPENAI_API_KEY"]
    assert done.returncode == 0
    assert key not in done.stdout + done.stderr
    written = [Path(folder) / name for folder, _, names in os.walk(shell.folder) for name in names]
    assert shell.log in written
    assert not [path for path in written if key.encode() in path.read_bytes()]
