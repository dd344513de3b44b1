"""A run that survives, as a person sees it: kills, signals, closed terminals, storms, limits."""

import contextlib
import os
import pty
import random
import signal
import sqlite3
import subprocess
import time
from typing import Any

import pytest

from support.cli import Shell, assert_one_line, wait_for
from support.server import ServerProcess

pytestmark = pytest.mark.e2e

TASKS, K, AT_ONCE = 4, 6, 4


@pytest.fixture
def at(shell: Shell, api: ServerProcess):
    """Sets how the server answers from now on; every test has figures of its own."""
    api.reset()

    def behave(spec: str) -> None:
        shell.variables["OPENAI_BASE_URL"] = api.url_for(spec)

    return behave


def takes(shell: Shell, run: str, tasks: int = TASKS) -> list[dict[str, Any]]:
    return [take for n in range(tasks) for take in shell.json("show", run, f"n{n}", "--json")["attempts"]]


def requests(api: ServerProcess) -> int:
    return api.stats()["requests"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.timeout(300)
def test_a_run_that_is_killed_again_and_again_repeats_no_more_than_was_in_flight(shell, api, at, seed):
    at(f"p=0.6,lat=100,jitter=150,seed={seed}")
    shell.environment(tasks=TASKS)
    rng = random.Random(seed)
    command, kills, run = ["run", "env.py", "-k", str(K)], 0, {}
    while kills < 3:
        goal = rng.randint(1, 6) + (shell.runs()[0]["n_ended"] if kills else 0)
        child = shell.start(*command, "-c", str(AT_ONCE), "--headless")
        shell.wait_for_run(lambda run, child=child, goal=goal: run["pid"] == child.pid and run["n_ended"] >= goal)
        time.sleep(rng.uniform(0, 0.2))
        child.kill()
        child.wait()
        kills += 1
        run = shell.runs()[0]
        command = ["resume", run["run_id"]]
        if run["n_ended"] >= TASKS * K - 6:
            break
    before = {(t["task"], t["attempt"], t["take"]): t for t in takes(shell, run["run_id"]) if t["passed"] is not None}
    told = shell.json("resume", run["run_id"], "-c", str(AT_ONCE), "--headless", "--json")

    assert (told["state"], told["summary"]["n_attempts"], told["summary"]["n_scored"]) == (
        "finished",
        TASKS * K,
        TASKS * K,
    )
    assert TASKS * K <= requests(api) <= TASKS * K + kills * AT_ONCE
    after = takes(shell, run["run_id"])
    current = [(take["task"], take["attempt"]) for take in after if take["superseded"] is None]
    assert len(current) == len(set(current)) == TASKS * K
    kept = {(t["task"], t["attempt"], t["take"]): t for t in after if t["superseded"] is None}
    assert {key: kept[key] for key in before} == before
    ended = shell.runs()[0]
    assert (ended["n_started"], ended["n_ended"], ended["n_scored"]) == (TASKS * K,) * 3
    assert ended["input_tokens"] == sum(take["input_tokens"] for take in after)
    with contextlib.closing(sqlite3.connect(shell.log)) as log:
        assert log.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_every_call_refused_costs_two_rounds_and_says_why(shell, api, at):
    at("e401=1")
    shell.environment(tasks=20)
    done = shell.run("run", "env.py", "-k", "8", "-c", "6", "--headless")
    assert_one_line(done, "no attempt was scored: HTTP 401: incorrect API key provided", code=3)
    assert requests(api) <= 2 * 6
    (run,) = shell.runs()
    assert (run["state"], run["stopped_early"]) == ("stopped", "error-storm")


def test_after_a_storm_the_run_goes_on_and_its_attempts_are_made_again(shell, api, at):
    at("p=1,lat=20,e500=1,since=12,upto=24")
    shell.variables["ROLLGRID_MAX_RETRIES"] = "0"
    shell.environment(tasks=TASKS)
    assert_one_line(shell.run("run", "env.py", "-k", "8", "-c", "4", "--headless"), "error-storm", code=3)
    scored = shell.runs()[0]["n_scored"]
    assert 0 < scored < TASKS * 8
    # Each resume meets what is left of the outage, until it is over.
    for _ in range(5):
        if shell.run("resume", "last", "-c", "4", "--headless").returncode == 0:
            break
    (run,) = shell.runs()
    assert (run["state"], run["n_scored"]) == ("finished", TASKS * 8)
    failed = [take for take in takes(shell, "last") if take["superseded"] is not None]
    assert failed
    assert all(take["error"] for take in failed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_what_is_in_flight_finish_and_says_so(shell, api, at, number):
    at("p=1,lat=600")
    shell.environment(tasks=TASKS)
    child = subprocess.Popen(
        shell.command("run", "env.py", "-k", str(K), "-c", "3", "--headless"),
        cwd=shell.folder,
        env=shell.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    shell.started.append(child)
    shell.wait_for_run(lambda run: run["n_ended"] >= 1 and run["n_started"] - run["n_ended"] == 3)
    child.send_signal(number)
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "rollgrid: stopping: 3 in flight, press again to drop them\n" in said
    (run,) = shell.runs()
    assert run["state"] == "interrupted"
    assert run["n_scored"] == run["n_ended"] == requests(api)
    assert shell.json("resume", "last", "--headless", "--json")["summary"]["n_scored"] == TASKS * K


def test_a_second_signal_drops_what_is_in_flight(shell, at):
    at("p=1,hang=1")
    shell.environment(tasks=TASKS)
    child = shell.start("run", "env.py", "-k", str(K), "-c", "3", "--headless")
    shell.wait_for_run(lambda run: run["n_started"] == 3)
    child.send_signal(signal.SIGINT)
    shell.wait_for_run(lambda run: run["state"] == "stopping")
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    (run,) = shell.runs()
    assert (run["state"], run["n_ended"], run["n_scored"]) == ("interrupted", 3, 0)


def test_a_terminal_that_is_closed_does_not_end_a_headless_run(shell, api, at):
    at("p=1,lat=300")
    shell.environment(tasks=TASKS)
    # The environment prints in every attempt: that must not fail either when the terminal is gone.
    path = shell.folder / "env.py"
    path.write_text(path.read_text().replace("def right(run, expected):", "def right(run, expected):\n    print(run)"))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(shell.folder)
        os.execvpe(
            shell.command()[0], shell.command("run", "env.py", "-k", str(K), "-c", "2", "--headless"), shell.env()
        )
    try:
        shell.wait_for_run(lambda run: run["n_ended"] >= 1)
    finally:
        os.close(terminal)  # what losing an SSH session does: SIGHUP, and errors for whoever writes
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    (run,) = shell.runs()
    assert (run["state"], run["n_scored"]) == ("finished", TASKS * K)


def test_a_pipe_that_nobody_reads_does_not_end_a_headless_run(shell, at):
    at("p=1,lat=200")
    shell.environment(tasks=TASKS)
    child = subprocess.Popen(
        shell.command("run", "env.py", "-k", str(K), "-c", "2", "--headless"),
        cwd=shell.folder,
        env=shell.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    shell.started.append(child)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(60) == 0
    assert shell.runs()[0]["state"] == "finished"


def test_a_budget_stops_a_run_with_an_exit_code_of_its_own(shell, api, at):
    at("p=1,lat=20")
    shell.environment(tasks=TASKS)
    once = ("--headless", "--json", "--price", "1000/1000")
    told = shell.json("run", "env.py", "-k", str(K), "-c", "2", "--max-cost", "1", *once, code=4)
    assert (told["state"], told["stopped_early"]) == ("stopped", "budget")
    (run,) = shell.runs()
    assert 0 < run["cost"] <= 1
    assert run["n_scored"] == requests(api) < TASKS * K
    done = shell.run("resume", "last", "--headless")
    assert_one_line(done, "was stopped by its budget, cost: $", "of $1 is spent", "larger limit", code=4)
    assert requests(api) == run["n_scored"]
    assert shell.json("resume", "last", "--max-cost", "100", "--headless", "--json")["state"] == "finished"
    assert requests(api) == TASKS * K


def test_a_cost_that_is_not_known_cannot_be_limited(shell, api, at):
    at("p=1")
    shell.environment()
    done = shell.run("run", "env.py", "--max-cost", "1", "--headless")
    assert_one_line(done, "no price is known for test-model at http://127.0.0.1", "--price")
    assert (requests(api), shell.runs()) == (0, [])


def test_limits_can_stand_in_the_configuration(shell, at):
    at("p=1,lat=20")
    shell.environment(tasks=TASKS)
    (shell.folder / "rollgrid.toml").write_text('concurrency = "auto"\nmax_tokens = 500\n')
    assert shell.run("run", "env.py", "-k", str(K), "--headless").returncode == 4
    assert shell.runs()[0]["input_tokens"] + shell.runs()[0]["output_tokens"] <= 500


@pytest.mark.timeout(240)
def test_auto_runs_into_fewer_refusals_than_a_large_number(shell, api, at):
    shell.environment(tasks=20)
    refused: dict[str, int] = {}
    for n, way in enumerate(("64", "auto")):
        api.reset()
        at(f"p=1,lat=300,rpm=120,seed={n}")
        told = shell.json("run", "env.py", "-k", "8", "-c", way, "--headless", "--json")
        assert told["summary"]["n_scored"] == 160
        refused[way] = api.stats()["kinds"].get("limit", 0)
    assert refused["auto"] <= refused["64"]
    assert refused["auto"] <= 4
    assert refused["64"] <= 64


def test_a_script_whose_scorer_hangs_ends(shell, at):
    at("p=1")
    script = shell.folder / "script.py"
    script.write_text(
        "import threading\n"
        "from rollgrid import CodeScorer, Environment, Task, run_rollouts\n"
        "async def agent(prompt):\n"
        "    return prompt\n"
        "def hangs(run, expected):\n"
        "    threading.Event().wait()\n"
        'env = Environment(name="e", tasks=[Task("q")], scorer=CodeScorer(hangs), agent=agent, timeout_seconds=0.3)\n'
        "print(run_rollouts(env, k=2).n_unscored)\n"
    )
    done = subprocess.run(
        [shell.command()[0], str(script)], cwd=shell.folder, env=shell.env(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert wait_for(lambda: shell.runs())[0]["state"] == "finished"
