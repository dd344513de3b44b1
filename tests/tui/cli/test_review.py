"""`rollgrid review`, `export reviews` and `audit`: the shell's side of the review screen."""

import asyncio
import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rollgrid.store.writer import LogWriter
from rollgrid_tui.cli import root
from rollgrid_tui.cli.common import Settings
from support.log_events import RUN, created, derived_rows, ended, session, started, superseded

HOSTILE = "\x1b]0;owned\x07 [b] \u202e =1+1\nline"

ENVIRONMENT = """\
from itertools import count
from rollgrid import CodeScorer, Environment, Task

NUMBERS = count()

class Echo:
    async def arun(self, input):
        return input * 30 if input == "same" else f"{{input}} {{next(NUMBERS)}} " * 20
    def prompt_fields(self):
        return {{}}
    def policy(self):
        return {{"id": "echo"}}

def calls():
    with open("calls", "a+") as file:
        file.write("x")
        return file.tell()

def right(run, expected):
    {body}

env = Environment("words", [Task(word, "b", id=word) for word in ("same", "other")], CodeScorer(right), Echo())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, with a run that is under way: t1 passed and failed, t2 failed and has an error."""
    for name in [name for name in os.environ if name.startswith("ROLLGRID_")]:
        monkeypatch.delenv(name)
    (tmp_path / "rollgrid.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROLLGRID_AUTHOR", "ann")

    async def write() -> None:
        async with LogWriter.open_cm(tmp_path / ".rollgrid" / "log.db") as writer:
            events = (
                created(k=3),
                session(),
                ended(),
                ended(0, 2, passed=False, reason="off by one"),
                ended(1, 1, passed=False),
                superseded(1, 1),
                ended(1, 1, take=2, passed=False),
                ended(1, 2, passed=None, stop_reason="error", error="HTTP 500"),
                started(1, 3),
            )
            for event in events:
                writer.append(event)

    asyncio.run(write())
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


def test_a_review_is_written_and_read_back(folder, capsys):
    assert said(capsys, "review", RUN, "t1", "2", "--disagree", "--label", "unit") == (
        f"{RUN} t1 2: ann: disagrees: it should pass [unit]\n"
    )
    facts = told(capsys, "review", RUN, "t1", "2")
    (one,) = facts["reviews"]
    assert (one["task"], one["attempt"], one["take"], one["author"]) == ("t1", 2, 1, "ann")
    assert (one["verdict"], one["passed"], one["label"], one["stands"]) == ("disagree", True, "unit", True)
    assert (one["scorer_passed"], one["scorer_reason"]) == (False, "off by one")
    assert facts["agreement"]["rate"] == 0.0


def test_what_was_written_is_told_to_programs(folder, capsys):
    facts = told(capsys, "review", "last", "t1", "1", "--pass", "--blind", "--author", "bea", "--note", "fine")
    review = facts["review"]
    assert (review["task"], review["author"], review["verdict"], review["blind"]) == ("t1", "bea", "agree", True)
    assert [one["note"] for one in facts["reviews"]] == ["fine"]
    facts = told(capsys, "review", "last", "t1", "1", "--undo", "--author", "bea")
    assert facts["review"]["undone"] is True
    assert facts["reviews"] == []


def test_an_attempt_is_shown_with_its_reviews(folder, capsys):
    call("review", RUN, "t1", "2", "--disagree", "--label", "unit", "--note", "metres")
    call("review", RUN, "t1", "1", "--agree")
    assert "review: ann disagrees: it should pass [unit]" in said(capsys, "show", RUN, "t1", "2").replace("  ", " ")
    assert [one["note"] for one in told(capsys, "show", RUN, "t1", "2")["reviews"]] == ["metres"]


def test_the_take_that_counts_is_reviewed_unless_another_is_named(folder, capsys):
    assert told(capsys, "review", RUN, "t2", "1", "--agree")["review"]["take"] == 2
    assert told(capsys, "review", RUN, "t2", "1", "--agree", "--take", "1")["review"]["take"] == 1
    assert told(capsys, "review", RUN)["agreement"]["n_reviews"] == 1, "the superseded take is in no figure"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("t1", "1", "--agree", "--undo", "--label", "x"), ("--undo stands alone",)),
        (("t1", "1", "--agree", "--blind"), ("--blind goes with --pass or --fail",)),
        (("t1", "--agree"), ("a review is of one attempt",)),
        (("--agree",), ("a review is of one attempt",)),
        (("nope", "1", "--agree"), ("no task 'nope'", "t1, t2")),
        (("nope",), ("no task 'nope'",)),
        (("t1", "9", "--agree"), ("attempt 9 has not ended",)),
        (("t2", "3", "--agree"), ("attempt 3 has not ended",)),
        (("t2", "2", "--agree"), ("no score to agree or disagree with", "--pass or --fail")),
        (("t1", "1", "--undo"), ("ann has no review of attempt 1",)),
        (("t1", "1", "--label", "x" * 201), ("the label has 201 characters",)),
        (("t1", "1", "--queue", "all"), ("whole run",)),
        (("--queue", "all", "--filter", "is:nonsense"), ("is: takes",)),
    ],
)
def test_wrong_input_is_one_line_that_says_what_to_do(folder, capsys, args, words):
    error = said(capsys, "review", RUN, *args, code=2)
    assert error.count("\n") == 1
    for word in words:
        assert word in error


def test_a_review_of_a_later_scoring_is_refused(folder, capsys):
    assert "without @NUMBER" in said(capsys, "review", f"{RUN}@2", "t1", "1", "--agree", code=2)


def test_without_reviews_it_says_how_to_begin(folder, capsys):
    assert "Nobody has said whether a score is right yet." in said(capsys, "review", RUN)
    assert "--agree" in said(capsys, "audit", RUN)
    assert "Nobody has reviewed this attempt yet." in said(capsys, "review", RUN, "t1", "1")


def test_the_queue_is_that_of_the_dashboard(folder, capsys):
    call("review", RUN, "t1", "2", "--disagree")
    facts = told(capsys, "review", RUN, "--queue", "failed")
    assert [(one["task"], one["attempt"], one["open"]) for one in facts["attempts"]] == [
        ("t1", 2, False),
        ("t2", 1, True),
    ]
    assert len(told(capsys, "review", RUN, "--queue", "all")["attempts"]) == 4
    assert [one["outcome"] for one in told(capsys, "review", RUN, "--filter", "is:error")["attempts"]] == ["error"]
    assert "t1" in said(capsys, "review", RUN, "--queue", "disagreements")
    assert said(capsys, "review", RUN, "--filter", "zzz") == "No attempt belongs into this queue.\n"


def test_reviews_are_exported_with_what_they_are_about(folder, capsys):
    call("review", RUN, "t1", "1", "--agree", "--author", "bea")
    call("review", RUN, "t1", "1", "--disagree", "--author", "bea", "--note", "two\nlines")
    call("review", RUN, "t2", "2", "--label", "server")
    assert said(capsys, "export", "reviews", RUN, "out/r.csv") == "Wrote 2 reviews to out/r.csv\n"
    rows = list(csv.DictReader(io.StringIO(Path("out/r.csv").read_text())))
    assert [(row["task"], row["verdict"], row["scorer_passed"], row["note"]) for row in rows] == [
        ("t1", "disagree", "1", "two\nlines"),
        ("t2", "", "", ""),
    ]
    assert len(list(csv.reader(io.StringIO(said(capsys, "export", "reviews", RUN, "--history"))))) == 4
    call("export", "reviews", RUN, "r.json")
    facts = json.loads(Path("r.json").read_text())
    assert (facts["run_id"], facts["agreement"]["n_agree"], len(facts["reviews"])) == (RUN, 0, 2)
    assert told(capsys, "export", "reviews", RUN) == facts
    assert "two formats" in said(capsys, "export", "reviews", RUN, "--csv", "--json", code=2)


def test_hostile_text_is_kept_as_it_came_and_shown_as_text(folder, capsys):
    call("review", RUN, "t1", "1", "--disagree", "--label", HOSTILE, "--note", HOSTILE, "--author", HOSTILE)
    for args in (("review", RUN), ("review", RUN, "t1", "1"), ("audit", RUN), ("show", RUN, "t1", "1")):
        text = said(capsys, *args)
        assert not set("\x1b\x07\u202e") & set(text), args
        assert "\\x1b]0;owned" in text
    (row,) = told(capsys, "export", "reviews", RUN)["reviews"]
    assert (row["label"], row["note"], row["author"]) == (HOSTILE, HOSTILE, HOSTILE)
    cells = next(csv.DictReader(io.StringIO(said(capsys, "export", "reviews", RUN))))
    assert cells["note"] == HOSTILE
    call("review", RUN, "t1", "1", "--label", "=cmd()", "--agree")
    rows = list(csv.DictReader(io.StringIO(said(capsys, "export", "reviews", RUN))))
    assert "'=cmd()" in [row["label"] for row in rows], "no spreadsheet takes it for a formula"


def test_the_rows_stay_the_fold_of_the_events(folder, capsys):
    from rollgrid.store.rebuild import rebuild_blocking

    call("review", RUN, "t1", "1", "--agree")
    call("review", RUN, "t1", "2", "--disagree", "--note", HOSTILE)
    call("review", RUN, "t1", "2", "--undo")
    log = folder / ".rollgrid" / "log.db"
    before = derived_rows(log)
    assert len(before["review"]) == 2
    rebuild_blocking(log)
    assert derived_rows(log) == before


def test_the_audit_has_agreement_kappa_and_the_disagreements(folder, capsys):
    for task, attempt, verdict in (("t1", "1", "--agree"), ("t1", "2", "--agree"), ("t2", "1", "--disagree")):
        call("review", RUN, task, attempt, verdict)
    call("review", RUN, "t1", "1", "--disagree", "--author", "bea")
    facts = told(capsys, "audit", RUN)
    figures = facts["agreement"]
    assert (figures["n_reviews"], figures["n_agree"], figures["n_judged_by_two_alike"]) == (4, 2, 0)
    # Scorer passed 2 of 4, people 2 of 4: chance agrees in half, and so do they.
    assert figures["kappa"] == pytest.approx(0.0)
    assert [(one["task"], one["author"], one["human_passed"]) for one in facts["disagreements"]] == [
        ("t1", "bea", False),
        ("t2", "ann", True),
    ]
    text = said(capsys, "audit", RUN)
    for words in ("2 of 4 reviews, 50%", "Cohen's kappa 0.00", "should pass", "disagreements:", "1 of 1 cases"):
        assert words in text or words == "1 of 1 cases"
    assert "0 of 1 cases" in text


# Of the six attempts another one passes each time that all of them are scored.
@pytest.mark.parametrize("body", ["n = calls() - 1; return n % 6 == n // 6", "return True"])
def test_a_scorer_that_changes_its_mind_is_found_by_asking_it_again(tmp_path, monkeypatch, capsys, body):
    (tmp_path / "rollgrid.toml").touch()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env.py").write_text(ENVIRONMENT.format(body=body))
    (tmp_path / "other.py").write_text(ENVIRONMENT.format(body="n = calls(); return n % 5 == 0"))
    capsys.readouterr()
    assert call("run", "env.py", "-k", "3", "--headless", "--json", "-c", "1") == 0
    run = capsys.readouterr()
    assert "all 3 attempts of task same have the same output, byte for byte" in run.err
    (one,) = copied(json.loads(run.out.splitlines()[-1]))
    assert (one["task"], one["n"], one["n_tokens"]) == ("same", 3, 0)
    assert copied(told(capsys, "show", "last"))[0]["task"] == "same"
    assert "byte for byte" in said(capsys, "show", "last")
    facts = told(capsys, "audit", "last", "--rescore-twice", "-c", "1")
    assert [one["task"] for one in copied(facts)] == ["same"]
    flaky = facts["flaky"]
    assert bool(flaky) is ("calls" in body)
    for one in flaky:
        assert one["flips"]
        assert len(one["verdicts"]) == 3
    assert ("the scorer is flaky" in said(capsys, "audit", "last", "--rescore-twice", "-c", "1")) is bool(flaky)
    other = told(capsys, "audit", "last", "--rescore-twice", "--env", "other.py", "-c", "1")["flaky"]
    assert all(len(one["verdicts"]) == 2 for one in other), "another scorer's verdicts are not held against the run's"
    assert told(capsys, "show", "last")["scorings"] == [], "nothing is kept"
    assert "--rescore-twice" in said(capsys, "audit", "last", "--env", "other.py", code=2)


def copied(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return facts["identical_outputs"]
