"""`rollgrid rescore`, and the commands that show a run as a later scoring sees it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rollgrid_tui.cli import root
from rollgrid_tui.cli.common import Settings

ENVIRONMENT = """\
from rollgrid import CodeScorer, Environment, Task

class Echo:
    async def arun(self, input):
        return input
    def prompt_fields(self):
        return {{}}
    def policy(self):
        return {{"id": "echo"}}

def right(run, expected):
    {body}

print("the user's own words")
env = Environment("words", [Task(word, "b", id=word) for word in ("a", "b", "c")], CodeScorer(right), Echo())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run of three words of which one is right, and environments with other scorers."""
    for name in [name for name in os.environ if name.startswith("ROLLGRID_")]:
        monkeypatch.delenv(name)
    (tmp_path / "rollgrid.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROLLGRID_AUTHOR", "ann")
    for name, body in (
        ("exact", "return run.content == expected"),
        ("near", "return abs(ord(run.content) - ord(expected)) <= 1"),
        ("odd", "raise ValueError('\\x1b[2J[red]odd')"),
    ):
        (tmp_path / f"{name}.py").write_text(ENVIRONMENT.format(body=body))
    assert call("run", "exact.py", "-k", "2", "--headless") == 0
    return tmp_path


def call(*args: str) -> int:
    return root.run_cli(args, Settings())


def said(capsys: Any, *args: str, code: int = 0) -> str:
    capsys.readouterr()
    assert call(*args) == code
    told = capsys.readouterr()
    return told.out if code == 0 else told.err


def told(capsys: Any, *args: str) -> Any:
    return json.loads(said(capsys, *args, "--json").splitlines()[-1])


def test_a_dry_run_shows_what_would_flip_and_keeps_nothing(folder, capsys):
    text = said(capsys, "rescore", "last", "--env", "near.py", "--dry-run")
    assert "a dry run, nothing is kept" in text
    assert "4 attempts flipped: 4 fail->pass" in text
    assert told(capsys, "show", "last")["scorings"] == []


def test_the_flips_are_told_to_programs(folder, capsys):
    facts = told(capsys, "rescore", "last", "--env", "near.py")
    assert (facts["scoring"], facts["scorer"], facts["same_scorer"]) == (2, "CodeScorer(right)", False)
    assert (facts["before"]["n_passed"], facts["after"]["n_passed"]) == (2, 6)
    assert [(flip["task"], flip["attempt"], flip["kind"]) for flip in facts["flips"]] == [
        ("a", 1, "fail->pass"),
        ("a", 2, "fail->pass"),
        ("c", 1, "fail->pass"),
        ("c", 2, "fail->pass"),
    ]


def test_show_has_the_runs_own_scores_until_another_scoring_is_asked_for(folder, capsys):
    call("rescore", "last", "--env", "near.py")
    own = told(capsys, "show", "last")
    assert (own["scoring"], own["n_passed"], [one["number"] for one in own["scorings"]]) == (1, 2, [2])
    assert "  2  CodeScorer(right), passed 6/6 100%, 0 unscored, ann" in said(capsys, "show", "last")
    for arguments in (("last", "--scoring", "latest"), ("last@2",), ("last@latest",)):
        later = told(capsys, "show", *arguments)
        assert (later["scoring"], later["n_passed"], later["n_scored"]) == (2, 6, 6)
    text = said(capsys, "show", "last@2")
    assert text.startswith("scoring 2 of 2 (the latest), by CodeScorer(right), ann")
    assert told(capsys, "show", "last@2", "a", "1")["transcript"]["score"]["passed"] is True
    assert told(capsys, "show", "last", "a", "1")["transcript"]["score"]["passed"] is False
    assert told(capsys, "show", "last@2", "--statistics")["n_passed"] == 6


def test_gate_diff_compare_and_baselines_take_a_scoring(folder, capsys):
    call("rescore", "last", "--env", "near.py")
    call("rescore", "last", "--env", "near.py")
    assert call("gate", "last", "--min-pass-rate", "0.9") == 1
    assert call("gate", "last@latest", "--min-pass-rate", "0.9") == 0
    assert told(capsys, "diff", "last@2", "last@3")["statistics"]["delta"] == 0
    assert call("compare", "last@2", "last@3") == 0
    assert "different: scorer" in said(capsys, "diff", "last", "last@2", code=2)
    call("baseline", "save", "last@3", "near.json")
    assert "scores of scoring 3 by CodeScorer(right) (ann, " in said(capsys, "baseline", "show", "near.json")


def test_a_scoring_that_is_not_there_is_named_with_those_that_are(folder, capsys):
    for command in ("show", "diff", "gate"):
        arguments = ("last@4", "last") if command == "diff" else ("last@4",)
        text = said(capsys, command, *arguments, code=2)
        assert "has no scoring '4'. It has 1 (its own)" in text
        assert text.count("\n") == 1


def test_a_scorer_that_only_fails_is_one_line_without_its_control_characters(folder, capsys):
    text = said(capsys, "rescore", "last", "--env", "odd.py", code=2)
    assert "the scorer gave no score for any of the " in text
    assert "\x1b" not in text
    assert text.splitlines()[-1].startswith("rollgrid: ")


def test_other_tasks_are_refused_in_one_line(folder, capsys):
    source = (folder / "near.py").read_text()
    (folder / "other.py").write_text(source.replace('("a", "b", "c")', '("a", "b", "d")'))
    assert "its tasks differ (not in the environment any more: c)" in said(
        capsys, "rescore", "last", "--env", "other.py", code=2
    )
    (folder / "values.py").write_text(source.replace('Task(word, "b"', 'Task(word, "c"'))
    assert "--new-expected" in said(capsys, "rescore", "last", "--env", "values.py", code=2)
    assert told(capsys, "rescore", "last", "--env", "values.py", "--new-expected")["after"]["n_passed"] == 4
