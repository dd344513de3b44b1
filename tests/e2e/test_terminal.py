"""The dashboard in a real terminal of 80x24: opened, left, and found again."""

import pytest

from support.cli import TMUX, Shell, terminal
from support.server import ServerProcess

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(TMUX is None, reason="needs tmux")]

TASKS, K = 4, 8


@pytest.fixture
def slow(shell: Shell, api: ServerProcess) -> Shell:
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=700")
    shell.environment(tasks=TASKS)
    return shell


@pytest.mark.smoke
def test_leaving_the_dashboard_leaves_the_run_going(slow: Shell) -> None:
    with terminal(slow) as screen:
        screen.type("run", "env.py", "-k", str(K), "-c", "2")
        shown = screen.wait_for("marks", "n0", "n3")
        assert len(shown.splitlines()) <= 24
        screen.keys("q")
        run_id = slow.runs()[0]["run_id"]
        screen.wait_for(f"Run {run_id} goes on", f"rollgrid watch {run_id}")
        left = slow.runs()[0]
        assert left["alive"]
        later = slow.wait_for_run(lambda run: run["n_ended"] > left["n_ended"])
        assert later["run_id"] == run_id
        slow.run("cancel", run_id)
        slow.wait_for_run(lambda run: not run["alive"])


def test_a_detached_run_is_watched_from_another_terminal(slow: Shell) -> None:
    run_id = slow.run("run", "env.py", "-k", str(K), "-c", "2", "--detach").stdout.strip()
    with terminal(slow) as first, terminal(slow, 120, 40) as second:
        first.type("watch", run_id)
        second.type("watch")
        first.wait_for("marks", "n3")
        second.wait_for("marks", "n3")
        slow.run("cancel", run_id)
        slow.wait_for_run(lambda run: run["state"] == "interrupted")
        first.keys("q")
        first.wait_for(f"rollgrid resume {run_id}")
        second.keys("q")
        second.wait_for(f"rollgrid resume {run_id}")


def test_the_bare_command_opens_the_list_of_runs(slow: Shell) -> None:
    slow.variables["OPENAI_BASE_URL"] = slow.variables["OPENAI_BASE_URL"].replace("lat=700", "lat=0")
    run_id = slow.json("run", "env.py", "-k", "1", "--headless", "--json")["run_id"]
    with terminal(slow) as screen:
        screen.type()
        screen.wait_for(run_id, "marks")
        screen.keys("q")
        assert "Traceback" not in screen.wait_until_left()


def test_an_empty_log_says_how_to_start(slow: Shell) -> None:
    with terminal(slow) as screen:
        screen.type()
        screen.wait_for("rollgrid run")
        screen.keys("q")
        assert "Traceback" not in screen.wait_until_left()


def test_the_demo_runs_simulated_and_says_so(slow: Shell) -> None:
    with terminal(slow) as screen:
        screen.type("demo", "--simulated", "-k", "2")
        screen.wait_for("SIMULATED")
        screen.keys("q")
        screen.wait_for("Run ", "rollgrid watch")
