"""Runs on a real Ray cluster of several nodes: what is promised of a run holds there too."""

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.cli import Shell, assert_one_line, wait_for
from support.ray_cluster import ClusterProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PATIENCE = 120.0

ENVIRONMENT = """\
import os
from pathlib import Path
from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Score, Task
from helper import right

def score(run, expected):
    return Score(1.0, right(run, expected), reason=f"{os.getpid()} {os.environ.get('EXTRA', '')}")

print("the key is", os.environ["OPENAI_API_KEY"], flush=True)
env = Environment(
    name="far",
    tasks=[Task(f"Say the number. ANS={n}", str(n), id=f"n{n}") for n in range(4)],
    scorer=CodeScorer(score),
    agent=Agent(
        model=OpenAIResponses(id="test-model"), instructions=Path(__file__).with_name("prompt.txt").read_text()
    ),
    timeout_seconds=60,
)
"""


@pytest.fixture
def far(shell: Shell) -> Shell:
    """An environment of several files, which are all needed where the attempts run."""
    folder = shell.folder / "evals"
    folder.mkdir()
    (folder / "env.py").write_text(ENVIRONMENT)
    (folder / "helper.py").write_text("def right(run, expected):\n    return str(expected) in run.content\n")
    (folder / "prompt.txt").write_text("Answer with the number.")
    return shell


def on(cluster: ClusterProcess, *args: str) -> tuple[str, ...]:
    return ("run", "evals/env.py", "--engine", "ray", "--ray-address", cluster.address, *args)


def takes(shell: Shell, run: str) -> list[dict[str, Any]]:
    return [take for n in range(4) for take in shell.json("show", run, f"n{n}", "--json")["attempts"]]


def counted(shell: Shell, run: str) -> Counter[tuple[str, int]]:
    """Scored takes that count, by task and attempt."""
    found: Counter[tuple[str, int]] = Counter()
    for n in range(4):
        for take in shell.json("show", run, f"n{n}", "--json")["attempts"]:
            if take["superseded"] is None and take["passed"] is not None:
                found[f"n{n}", take["attempt"]] += 1
    return found


def each_once(k: int) -> dict[tuple[str, int], int]:
    return {(f"n{n}", attempt): 1 for n in range(4) for attempt in range(1, k + 1)}


def test_attempts_and_scorers_run_on_several_workers_and_no_key_gets_into_a_log(far, api, cluster):
    far.variables |= {"EXTRA": "passed-on"}
    done = far.run(*on(cluster, "-k", "6", "-c", "8", "--ray-pass", "EXTRA", "--headless", "--json"), timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (run,) = far.runs()
    assert counted(far, run["run_id"]) == each_once(6)
    assert api.stats()["requests"] == 24
    reasons = [take["reason"].split() for take in takes(far, run["run_id"])]
    assert len({pid for pid, _ in reasons}) == 2
    assert {extra for _, extra in reasons} == {"passed-on"}
    assert run["input_tokens"] > 0
    key = far.variables["OPENAI_API_KEY"].encode()
    logs = [path for path in cluster.folder.rglob("*") if path.is_file() and path.suffix in (".log", ".out", ".err")]
    assert wait_for(lambda: any(b"the key is ***" in path.read_bytes() for path in logs))
    assert not [path for path in [*logs, far.log] if key in path.read_bytes()]


def test_a_node_that_is_killed_midway_loses_nothing_and_repeats_nothing(far, api, cluster):
    far.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=600")
    child = far.start(*on(cluster, "-k", "12", "-c", "8", "--headless"))
    far.wait_for_run(lambda run: run["n_ended"] >= 8)
    cluster.kill_a_node()
    try:
        child.wait(timeout=PATIENCE)
    finally:
        cluster.add_a_node()
    (run,) = far.runs()
    assert (child.returncode, run["state"], run["n_scored"]) == (0, "finished", 48)
    assert counted(far, run["run_id"]) == each_once(12)
    lost = [take for take in takes(far, run["run_id"]) if take["error_type"] == "WorkerLost"]
    assert 0 < len(lost) <= 8
    assert all(take["superseded"] == "worker-lost" for take in lost)
    assert 48 <= api.stats()["requests"] <= 48 + len(lost)


def test_a_head_that_is_killed_leaves_no_worker_behind_and_its_run_is_resumed(far, api, cluster):
    far.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=400")
    child = far.start(*on(cluster, "-k", "8", "-c", "6", "--headless"))
    run = far.wait_for_run(lambda run: run["n_ended"] >= 10)
    pids = {int(take["reason"].split()[0]) for take in takes(far, run["run_id"]) if take["reason"]}
    child.kill()
    child.wait()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    done = far.run("resume", run["run_id"], "--headless", timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert counted(far, run["run_id"]) == each_once(8)
    again = {int(take["reason"].split()[0]) for take in takes(far, run["run_id"]) if take["reason"]}
    assert os.getpid() not in again
    assert again - pids
    assert api.stats()["requests"] <= 32 + 6


def test_pause_resume_and_cancel_reach_the_workers(far, api, cluster):
    far.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=3000")
    child = far.start(*on(cluster, "-k", "50", "-c", "4", "--headless"))
    run = far.wait_for_run(lambda run: run["n_ended"] >= 4)
    assert far.run("pause", run["run_id"]).returncode == 0
    # What had started finishes, and it may not have made its call yet.
    far.wait_for_run(lambda run: run["state"] == "paused" and run["n_started"] == run["n_ended"])
    n = api.stats()["requests"]
    time.sleep(1.0)
    assert api.stats()["requests"] == n
    assert far.run("resume", run["run_id"], "--headless").returncode == 0
    far.wait_for_run(lambda run: run["n_started"] == run["n_ended"] + 4)
    child.send_signal(signal.SIGINT)
    far.wait_for_run(lambda run: run["state"] == "stopping")
    child.send_signal(signal.SIGINT)
    child.wait(timeout=PATIENCE)
    assert child.returncode == 130
    (run,) = far.runs()
    assert run["state"] == "interrupted"
    dropped = [take for take in takes(far, run["run_id"]) if take["stop_reason"] == "cancelled"]
    assert 0 < len(dropped) <= 4
    assert api.stats()["in_flight"] == 0


def test_a_storm_and_a_budget_stop_a_run_on_workers(far, api, cluster):
    far.variables["OPENAI_BASE_URL"] = api.url_for("p=1,e401=1")
    done = far.run(*on(cluster, "-k", "20", "-c", "4", "--headless"), timeout=PATIENCE)
    assert_one_line(done, "no attempt was scored: HTTP 401", code=3)
    assert api.stats()["requests"] <= 8
    far.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=50")
    done = far.run(*on(cluster, "-k", "20", "-c", "4", "--headless", "--max-tokens", "600"), timeout=PATIENCE)
    assert_one_line(done, "budget", code=4)
    assert far.runs()[0]["n_ended"] < 80


def test_an_environment_that_is_another_one_on_the_workers_is_refused(far, cluster):
    env = far.folder / "evals" / "env.py"
    env.write_text(ENVIRONMENT.replace('Path(__file__).with_name("prompt.txt").read_text()', "os.environ['PROMPT']"))
    far.variables["PROMPT"] = "only here"
    done = far.run(*on(cluster, "-k", "1", "--headless"), timeout=PATIENCE)
    assert_one_line(done, "the Ray worker", "KeyError: 'PROMPT'")
    done = far.run(*on(cluster, "-k", "1", "--headless", "--ray-pass", "PROMPT"), timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    env.write_text(ENVIRONMENT.replace('"Say', 'f"Say {os.getcwd()}" "').replace('f"Say', '"" f"Say'))
    done = far.run(*on(cluster, "-k", "1", "--headless"), timeout=PATIENCE)
    assert_one_line(done, "its copy of the environment is another one (tasks)")


def test_an_address_where_nobody_answers_is_told_in_one_line(far):
    done = far.run("run", "evals/env.py", "--engine", "ray", "--ray-address", "127.0.0.1:1", "--headless")
    assert_one_line(done, "no Ray cluster answers at 127.0.0.1:1 (connection refused)")
    assert not far.runs()
