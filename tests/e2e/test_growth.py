"""Further attempts, and how many run at once, asked for from another shell."""

import pytest

from support.cli import Shell, assert_one_line
from support.server import ServerProcess

pytestmark = pytest.mark.e2e

TASKS = 3


@pytest.fixture
def slow(shell: Shell, api: ServerProcess) -> Shell:
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=300")
    shell.environment(tasks=TASKS)
    return shell


def attempts_of(shell: Shell, run: str) -> list[int]:
    return [
        len({one["attempt"] for one in shell.json("show", run, f"n{n}", "--json")["attempts"]}) for n in range(TASKS)
    ]


def test_a_live_run_takes_in_more_attempts_of_some_tasks(slow: Shell) -> None:
    slow.run("run", "env.py", "-k", "2", "-c", "1", "--detach")
    slow.wait_for_run(lambda run: run["state"] == "running" and run["n_started"] >= 1)
    told = slow.json("more", "last", "n1", "-n", "2", "--json")
    assert (told["accepted"], told["answer"]) == (True, "2 more attempts of 1 task, 8 in all")
    assert slow.json("concurrency", "last", "6", "--json")["answer"] == "at most 6 at once from now on"
    done = slow.wait_for_run(lambda run: run["state"] == "finished")
    assert (done["k"], done["n_planned"], done["n_ended"], done["concurrency"]) == (2, 8, 8, 6)
    assert attempts_of(slow, "last") == [2, 4, 2]


def test_a_run_that_is_over_goes_on_for_the_further_attempts_alone(slow: Shell) -> None:
    slow.json("run", "env.py", "-k", "1", "-c", "4", "--headless", "--json")
    told = slow.json("more", "last", "n0", "n2", "-n", "1", "--headless", "--json")
    assert (told["state"], told["summary"]["k"], told["summary"]["n_attempts"]) == ("finished", 1, 5)
    assert attempts_of(slow, "last") == [2, 1, 2]
    everywhere = slow.json("more", "last", "--headless", "--json")
    assert (everywhere["summary"]["k"], everywhere["summary"]["n_attempts"]) == (2, 8)
    saved = slow.folder / "base.json"
    assert slow.run("baseline", "save", "last", str(saved)).returncode == 0
    compared = slow.json("diff", "last", str(saved), "--json")
    assert all(row["status"] == "" for row in compared["rows"])
    assert [row["current"] for row in compared["rows"]] == [row["baseline"] for row in compared["rows"]]


def test_what_makes_no_sense_is_refused_in_one_line(slow: Shell) -> None:
    slow.json("run", "env.py", "-k", "1", "-c", "4", "--headless", "--json")
    assert_one_line(slow.run("more", "last", "nobody", "--headless"), "no task 'nobody'")
    assert_one_line(slow.run("more", "last", "-n", "0", "--headless"), "-n")
    assert_one_line(slow.run("more", "last", "--where", "split=none", "--headless"), "matches --where")
    assert_one_line(slow.run("more", "last"), "--headless")
    assert_one_line(slow.run("concurrency", "last", "4"), "no runner works on it")
    assert_one_line(slow.run("concurrency", "last", "0"), "at least 1")
    assert_one_line(slow.run("resume", "last", "--where", "split=none", "--headless"), "--where split=none")
    assert_one_line(slow.run("resume", "last", "--where", "split", "--headless"), "KEY=VALUE")
