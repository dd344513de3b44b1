"""Gates on runs of the log: a good run, a bad one, broken infrastructure, and one that still goes on."""

import pytest

from support.cli import Shell, assert_one_line
from support.server import ServerProcess

pytestmark = pytest.mark.e2e

RUN = ("run", "env.py", "-k", "4", "-c", "4", "--headless")


def test_a_gate_passes_fails_and_is_inconclusive(shell: Shell, api: ServerProcess) -> None:
    shell.environment(tasks=4)
    assert shell.run(*RUN).returncode == 0
    assert shell.run("baseline", "save", "last", "marks.json").returncode == 0
    gate = ("gate", "last", "--baseline", "marks.json", "--min-pass-rate", "0.8", "--junit", "gate.xml")
    assert shell.run(*gate).returncode == 0

    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=0,seed=2")
    assert shell.run(*RUN).returncode == 0
    bad = shell.json(*gate, "--json", code=1)
    assert bad["comparison"]["verdict"] == "regressed"
    assert "<failure" in (shell.folder / "gate.xml").read_text()

    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=0,e401=1")
    assert shell.run(*RUN).returncode == 3
    blind = shell.json(*gate, "--json", code=3)
    assert blind["outcome"] == "inconclusive"
    xml = (shell.folder / "gate.xml").read_text()
    assert "<error" in xml
    assert "<failure" not in xml


def test_a_run_that_still_goes_on_is_inconclusive(shell: Shell, api: ServerProcess) -> None:
    shell.environment(tasks=2)
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=1,lat=20000")
    shell.json("run", "env.py", "-k", "2", "--detach", "--json")
    shell.wait_for_run(lambda run: run["state"] == "running")
    told = shell.json("gate", "last", "--min-pass-rate", "0.5", "--json", code=3)
    assert "still running" in told["summary"]


def test_statistics_are_shown_for_a_run_of_the_log(shell: Shell) -> None:
    shell.environment(tasks=3)
    assert shell.run(*RUN).returncode == 0
    text = shell.run("show", "last", "--statistics").stdout
    assert "for tasks like these" in text
    assert "tokens: median" in text
    told = shell.json("show", "last", "--statistics", "--json")
    assert (told["n_passed"], told["interval_these_tasks"][1]) == (12, 1.0)
    assert told["tokens"]["n"] == 12
    assert_one_line(shell.run("show", "last", "n1", "--statistics"), "whole run")


def test_a_headless_run_is_compared_with_verdicts(shell: Shell, api: ServerProcess) -> None:
    shell.environment(tasks=3)
    assert shell.run(*RUN).returncode == 0
    assert shell.run("baseline", "save", "last", "marks.json").returncode == 0
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=0,seed=2")
    done = shell.run(*RUN, "--baseline", "marks.json")
    assert "regressed: 100.0 % -> 0.0 % over 3 shared tasks" in done.stdout
