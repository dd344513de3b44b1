"""Every sample environment runs: as a plain script, and through `rollgrid run`."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from rollgrid.environments import EnvironmentRunResult
from support.samples import FOLDER, SAMPLES, environments_of, module_of, run_script, server_that_knows

EACH = pytest.mark.parametrize("name", SAMPLES)


@pytest.fixture
def sample(name, tmp_path, monkeypatch):
    """The sample in a folder of its own, where it can leave files, with a server behind OPENAI_BASE_URL."""
    folder = tmp_path / name.split("/")[0]
    shutil.copytree(FOLDER / folder.name, folder, ignore=shutil.ignore_patterns("generated", "__pycache__"))
    path = folder / name.split("/")[1]
    envs = list(environments_of(path).values())
    tools = ",tool=1" if folder.name == "tool_reliability" else ""
    with server_that_knows(envs, f"p=0.8{tools}") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("ROLLGRID_LOG", str(tmp_path / "log.db"))
        monkeypatch.chdir(folder)
        yield path


SAYS = {
    "saved_baselines/basic.py": "12 attempts saved to",
    "saved_baselines/reload.py": "still of this environment: True",
    "saved_baselines/async_save_load.py": "8 attempts came back as they were saved",
    "task_sets/inline.py": r"dual-chain-sum: \d of 4",
    "task_sets/with_metadata.py": "chained-product-b: split=validation, difficulty=calibration, pass_rate=",
    "math/basic.py": "single-product: pass rate ",
    "math/chained_arithmetic.py": "passes sometimes: ",
    "math/recurrence_boundary.py": r"10 rounds: \d of 6, 0 unscored",
    "environment_diff/basic.py": r"the policy changed: True\n(.|\n)*iso-week: (within noise|improved|regressed)",
    "environment_diff/task_subset.py": r"only in the baseline: \['one-month', 'iso-week'\]",
    "environment_diff/mismatch_guard.py": "refused: .*prompt",
    "prompt_comparison/compare.py": "wants to happen next",
    "code_fixes/repairs.py": "right for every case|wrong for ",
    "structured_extraction/invoices.py": r"mean share of right fields: 0\.\d+",
    "tool_reliability/basic.py": "no clean execution of refund",
    "tool_reliability/per_task.py": "ran nothing|no clean execution",
    "sft_export/export.py": r"n_written=\d+(.|\n)*preference pairs: ",
}


@EACH
def test_it_runs_as_a_script(name, sample, capfd):
    code = run_script(sample)
    out = capfd.readouterr().out
    if name == "ci_gating/check.py":
        assert code in (0, 1), out
        assert re.search("pass", out)
        return
    assert code == 0, out
    assert "unscored" not in out.replace("0 unscored", "")
    assert re.search(SAYS.get(name, "pass rate"), out), out


@EACH
def test_it_runs_through_the_command(name, sample, capfd):
    from rollgrid_tui.cli import main

    chosen = SAMPLES[name]
    ref = str(sample) if chosen is None else f"{sample}:{chosen}"
    with pytest.raises(SystemExit) as end:
        main(["run", ref, "--headless", "--json", "-k", "2"])
    out = capfd.readouterr().out
    assert end.value.code == 0, out
    told = json.loads(out.splitlines()[-1])
    assert told["state"] == "finished"
    assert told["summary"]["n_unscored"] == 0
    assert told["summary"]["n_attempts"] == 2 * told["summary"]["n_tasks"]
    assert told["summary"]["env_fingerprint"] is not None


@pytest.mark.parametrize("name", ["saved_baselines/basic.py"])
def test_a_baseline_that_a_script_saved_is_one_for_the_command(name, sample, capfd):
    from rollgrid_tui.cli import main

    assert run_script(sample) == 0
    saved = sample.parent / "data" / "generated" / "baseline.json"
    assert EnvironmentRunResult.load(saved).n_attempts == 12
    with pytest.raises(SystemExit) as end:
        main(["run", str(sample), "--headless", "--json", "-k", "2", "--baseline", str(saved)])
    assert end.value.code == 0
    assert json.loads(capfd.readouterr().out.splitlines()[-1])["diff"]["policy_changed"] is False


@pytest.mark.parametrize("name", ["sft_export/export.py"])
def test_what_is_exported_is_what_the_model_said(name, sample):
    assert run_script(sample) == 0
    folder = sample.parent / "data" / "generated"
    lines = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    right = {task.input: task.expected for env in environments_of(sample).values() for task in env.tasks}
    assert lines
    for line in lines:
        system, user, assistant = line["messages"]
        assert (system["role"], user["role"], assistant["role"]) == ("system", "user", "assistant")
        assert json.loads(assistant["content"]) == {"value": right[user["content"]]}
    sidecar = json.loads((folder / "train.jsonl.meta.json").read_text())
    assert len(sidecar["lines"]) == len(lines)
    pairs = [json.loads(line) for line in (folder / "preferences.jsonl").read_text().splitlines()]
    assert pairs
    assert all(pair["chosen"] != pair["rejected"] for pair in pairs)


@pytest.mark.parametrize("name", ["ci_gating/check.py"])
def test_the_gate_closes_on_a_worse_policy(name, tmp_path, monkeypatch, capfd):
    folder = tmp_path / "ci_gating"
    shutil.copytree(FOLDER / "ci_gating", folder, ignore=shutil.ignore_patterns("generated", "__pycache__"))
    path = folder / "check.py"
    envs = list(environments_of(path).values())
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    codes = []
    for spec in ("p=1", "p=0.2", "e401=1"):
        with server_that_knows(envs, spec) as url:
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            codes.append(run_script(path))
    assert codes == [0, 1, 3], capfd.readouterr().out
    assert "this run is now it" in capfd.readouterr().out or (folder / "data" / "generated" / "baseline.json").exists()


def test_a_sample_runs_in_a_process_of_its_own_without_any_model(tmp_path):
    options = ["--headless", "--json", "-k", "3", "--model", "simulated"]
    done = subprocess.run(
        [sys.executable, "-m", "rollgrid_tui", "run", FOLDER / "math" / "basic.py", *options],
        env={**os.environ, "ROLLGRID_LOG": str(tmp_path / "log.db")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["summary"]["n_scored"] == 6


def test_every_sample_is_tested_and_described():
    files = {
        str(path.relative_to(FOLDER))
        for path in FOLDER.glob("*/*.py")
        if path.parent.name not in ("quickstart", "sql_generation")
    }
    helpers = {"environment_diff/calendar_tasks.py", "tool_reliability/shop_tools.py", "ci_gating/release_gate.py"}
    assert files - helpers == set(SAMPLES)
    for name in files:
        readme = (FOLDER / name).parent / "README.md"
        assert name.split("/")[1] in readme.read_text(), name


def test_tasks_from_a_file_are_those_that_are_written_inline():
    inline = module_of(FOLDER / "task_sets" / "inline.py")["TASKS"]
    loaded = module_of(FOLDER / "task_sets" / "from_jsonl.py")["env"].tasks
    assert [(task.id, task.input, task.expected) for task in inline] == [
        (task.id, task.input, task.expected) for task in loaded
    ]
