"""Runs as processes: killed, resumed, detached, steered and read from outside."""

import os
import signal
import subprocess
import urllib.request
from typing import Any

import pytest

from support.cli import Shell, assert_one_line, wait_for
from support.server import ServerProcess

pytestmark = pytest.mark.e2e

SLOW = "p=1,lat=300"
TASKS, K = 4, 4


@pytest.fixture
def slow(shell: Shell, api: ServerProcess) -> Shell:
    """Every answer takes a while, so that there is a middle of the run to act in."""
    shell.variables["OPENAI_BASE_URL"] = api.url_for(SLOW)
    shell.environment(tasks=TASKS)
    return shell


def counted(shell: Shell, run: str) -> dict[tuple[int, int], dict[str, Any]]:
    """The takes that count, by task and attempt; more than one for a key is a failure."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for n in range(TASKS):
        for attempt in shell.json("show", run, f"n{n}", "--json")["attempts"]:
            if attempt["superseded"] is None and attempt["phase"] == "ended":
                key = (attempt["task"], attempt["attempt"])
                assert key not in found
                found[key] = attempt
    return found


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["--headless", "--detach"])
def test_a_killed_run_is_resumed_and_every_finished_attempt_is_kept_once(slow: Shell, way: str) -> None:
    started = slow.start("run", "env.py", "-k", str(K), "-c", "2", way)
    run = slow.wait_for_run(lambda run: run["n_ended"] >= 3)
    os.kill(run["pid"], signal.SIGKILL)
    started.wait()
    assert slow.wait_for_run(lambda run: run["state"] == "dead")["n_ended"] < TASKS * K
    before = {key: one for key, one in counted(slow, run["run_id"]).items() if one["passed"] is not None}
    assert len(before) >= 3

    told = slow.json("resume", run["run_id"], "-c", "4", "--headless", "--json")

    assert (told["run_id"], told["state"]) == (run["run_id"], "finished")
    assert (told["summary"]["n_attempts"], told["summary"]["n_scored"]) == (TASKS * K, TASKS * K)
    after = counted(slow, run["run_id"])
    assert len(after) == TASKS * K
    assert {key: after[key] for key in before} == before


def test_a_finished_run_can_be_asked_for_more_attempts(slow: Shell) -> None:
    first = slow.json("run", "env.py", "-k", "1", "-c", "4", "--headless", "--json")
    told = slow.json("resume", first["run_id"], "-k", "2", "-c", "4", "--headless", "--json")
    assert (told["summary"]["k"], told["summary"]["n_scored"]) == (2, TASKS * 2)


def test_an_environment_that_has_changed_is_not_resumed(slow: Shell) -> None:
    slow.start("run", "env.py", "-k", str(K), "-c", "1", "--detach").wait()
    run = slow.wait_for_run(lambda run: run["n_ended"] >= 1)
    os.kill(run["pid"], signal.SIGKILL)
    slow.wait_for_run(lambda run: run["state"] == "dead")
    path = slow.folder / "env.py"
    path.write_text(path.read_text().replace("Say the number.", "Tell the number."))
    assert_one_line(slow.run("resume", "last", "--headless"), "changed", "tasks")


def test_a_detached_run_goes_on_alone_and_can_be_read_meanwhile(slow: Shell) -> None:
    done = slow.run("run", "env.py", "-k", str(K), "-c", "2", "--detach")
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    running = slow.wait_for_run(lambda run: run["n_ended"] >= 1)
    assert (running["run_id"], running["state"]) == (run_id, "running")
    assert running["pid"] != os.getpid()
    assert slow.json("runs", "--json")["runs"][0]["state"] == "running"
    assert slow.run("show", run_id).returncode == 0
    finished = slow.wait_for_run(lambda run: run["state"] == "finished")
    assert (finished["n_ended"], finished["n_scored"]) == (TASKS * K, TASKS * K)


def test_a_run_is_paused_resumed_and_cancelled_from_the_shell(slow: Shell) -> None:
    slow.run("run", "env.py", "-k", str(K), "-c", "1", "--detach")
    assert slow.json("pause", "last", "--json")["accepted"] is True
    paused = slow.wait_for_run(lambda run: run["state"] == "paused")
    assert_one_line(slow.run("pause", "last"), "paused")
    assert slow.run("resume", "last", "--detach").returncode == 0
    slow.wait_for_run(lambda run: run["state"] == "running" and run["n_ended"] > paused["n_ended"])
    assert slow.run("cancel", "last").returncode == 0
    ended = slow.wait_for_run(lambda run: run["state"] == "interrupted")
    assert ended["n_ended"] < TASKS * K
    told = slow.json("resume", "last", "-c", "4", "--headless", "--json")
    assert told["summary"]["n_scored"] == TASKS * K


def test_two_runners_do_not_share_a_run(slow: Shell) -> None:
    slow.run("run", "env.py", "-k", str(K), "-c", "1", "--detach")
    run = slow.wait_for_run(lambda run: run["state"] == "running")
    assert_one_line(slow.run("resume", "last", "--headless"), str(run["pid"]))
    slow.run("cancel", "last")
    slow.wait_for_run(lambda run: run["state"] == "interrupted")


def test_one_interrupt_keeps_what_is_finished(slow: Shell) -> None:
    started = slow.start("run", "env.py", "-k", str(K), "-c", "2", "--headless")
    slow.wait_for_run(lambda run: run["n_ended"] >= 2)
    started.send_signal(signal.SIGINT)
    assert started.wait(60) == 130
    (run,) = slow.runs()
    assert run["state"] == "interrupted"
    assert 2 <= run["n_ended"] < TASKS * K


def test_a_lost_terminal_does_not_end_a_run(slow: Shell) -> None:
    started = slow.start("run", "env.py", "-k", "2", "-c", "4", "--headless")
    slow.wait_for_run(lambda run: run["n_ended"] >= 1)
    started.send_signal(signal.SIGHUP)
    assert started.wait(60) == 0
    assert slow.runs()[0]["state"] == "finished"


def test_the_simulated_server_says_where_it_is(shell: Shell) -> None:
    with subprocess.Popen(
        shell.command("simulate", "--life", "60"),
        cwd=shell.folder,
        env=shell.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        word, url = server.stdout.readline().split()
        assert word == "ready"
        with urllib.request.urlopen(f"{url}/models", timeout=10) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGINT)
        assert wait_for(lambda: server.poll() is not None)
        assert server.returncode == 0
