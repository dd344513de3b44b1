"""Scorings: verdicts of a later scorer beside those of the run, told by the same fold as everything else."""

from pathlib import Path
from typing import Any

import pytest

from rollgrid.errors import RunError
from rollgrid.store.events import AttemptRescored, Event, ScoringEnded, ScoringStarted
from rollgrid.store.opening import prepare_log
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from rollgrid.store.scorings import as_scored, choose, flips
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, derived_rows, ended, query, session, set_back, superseded


def began(scoring: str = "a", **fields: Any) -> ScoringStarted:
    given = {"run_id": RUN, "at": 200.0, "scoring": scoring, "scorer": "CodeScorer(right)", "digest": "dd"}
    parts = {"env_fingerprint": "env-2", "fingerprint_parts": {"scorer": "dd"}, "author": "bea", "host": "box"}
    return ScoringStarted(**{**given, **parts, **fields})


def verdict(task: int = 0, attempt: int = 1, *, passed: bool | None = True, **fields: Any) -> AttemptRescored:
    value = None if passed is None else float(passed)
    place = {"run_id": RUN, "at": 201.0, "task": task, "attempt": attempt, "take": 1, "scoring": "a"}
    return AttemptRescored(**{**place, "passed": passed, "value": value, "duration_seconds": 0.1, **fields})


def over(scoring: str = "a") -> ScoringEnded:
    return ScoringEnded(run_id=RUN, at=202.0, scoring=scoring)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A run of four attempts: passed, failed, failed to be scored, and an agent that failed."""
    path = tmp_path / "log.db"
    await write(
        path,
        created(),
        session(),
        ended(),
        ended(0, 2, passed=False),
        ended(1, 1, passed=None, error="scorer: KeyError: 'x'"),
        ended(1, 2, passed=None, stop_reason="error", error="HTTP 500"),
    )
    return path


async def write(path: Path, *events: Event) -> None:
    async with LogWriter.open_cm(path) as writer:
        for event in events:
            writer.append(event)
        await writer.flush()
        assert not writer.unsaved


async def read(path: Path, scoring: str = "a"):
    reader = await LogReader.open(path)
    try:
        return await reader.scorings(RUN), await reader.rescored(RUN, scoring), await reader.attempts(RUN)
    finally:
        await reader.aclose()


async def test_a_scoring_has_a_number_once_it_has_ended(path):
    await write(path, began(), verdict(passed=False))
    (half,), _, _ = await read(path)
    assert (half.number, half.ended_at) == (None, None)
    await write(path, over(), began("b"), over("b"))
    first, second = (await read(path))[0]
    assert (first.number, second.number) == (2, 3)
    assert (first.scorer, first.digest, first.author, first.env_fingerprint) == (
        *("CodeScorer(right)", "dd", "bea"),
        "env-2",
    )


async def test_the_scores_of_the_run_stay_what_they_were(path):
    before = derived_rows(path)
    await write(path, began(), verdict(passed=False), verdict(1, 1), over())
    after = derived_rows(path)
    assert [after[name] for name in ("run", "task", "attempt")] == [before[name] for name in ("run", "task", "attempt")]


async def test_counts_are_of_the_takes_that_count_and_what_a_judge_took_is_summed(path):
    await write(
        path,
        began(),
        verdict(passed=False, scorer_input_tokens=10, scorer_output_tokens=2, scorer_cost=0.25),
        verdict(0, 2, scorer_cost=0.5),
        verdict(1, 1, passed=None, error="scorer: ValueError: no"),
        over(),
    )
    (row,), _, _ = await read(path)
    assert (row.n_scored, row.n_passed, row.n_unscored) == (2, 1, 1)
    assert (row.input_tokens, row.output_tokens, row.cost) == (10, 2, 0.75)
    await write(path, superseded(0, 2))
    (row,), _, _ = await read(path)
    assert (row.n_scored, row.n_passed, row.n_unscored) == (1, 0, 1)


async def test_of_two_verdicts_the_first_holds_unless_it_was_none(path):
    await write(path, began(), verdict(passed=False), verdict(), verdict(1, 1, passed=None), verdict(1, 1))
    _, verdicts, _ = await read(path)
    assert {(one.task, one.attempt): one.passed for one in verdicts} == {(0, 1): False, (1, 1): True}


@pytest.mark.parametrize("batches", [1, 2])
async def test_nothing_is_added_to_a_scoring_that_has_ended(path, batches):
    first, late = [began(), verdict(), over()], [verdict(0, 2), over()]
    if batches == 1:
        await write(path, *first, *late)
    else:
        await write(path, *first)
        await write(path, *late)
    (row,), verdicts, _ = await read(path)
    assert row.number == 2
    assert [(one.task, one.attempt) for one in verdicts] == [(0, 1)]


async def test_a_verdict_of_no_scoring_and_a_scoring_of_no_run_change_nothing(path):
    await write(path, verdict(scoring="unknown"), began(run_id="nowhere"))
    assert (query(path, "SELECT * FROM scoring"), query(path, "SELECT * FROM rescored")) == ([], [])


async def test_the_rows_are_the_fold_of_the_events(path):
    hostile = "\x1b[2J \ud800 \x00"
    await write(path, began(expected={"t1": [1, {"a": hostile}]}), verdict(reason=hostile, detail={"why": hostile}))
    await write(path, verdict(0, 2, passed=None, error=hostile), over(), began("b"))
    before = derived_rows(path)
    assert len(before["scoring"]) == len(before["rescored"]) == 2
    await rebuild(path)
    assert derived_rows(path) == before
    _, verdicts, _ = await read(path)
    assert verdicts[0].detail == {"why": hostile}


async def test_attempts_are_seen_with_the_verdicts_of_a_scoring(path):
    await write(path, began(), verdict(passed=False, reason="too long"), verdict(1, 1), over())
    _, verdicts, attempts = await read(path)
    seen = as_scored(attempts, verdicts)
    assert [(row.passed, row.reason or row.error) for row in seen] == [
        (False, "too long"),
        (None, "not in this scoring, which is older than the attempt"),
        (True, None),
        (None, "HTTP 500"),
    ]
    assert [flip.kind for flip in flips(attempts, seen)] == ["pass->fail", "fail->unscored", "unscored->pass"]


async def test_what_was_superseded_flips_nothing(path):
    await write(path, began(), verdict(passed=False), over(), superseded())
    _, verdicts, attempts = await read(path)
    assert "pass->fail" not in [flip.kind for flip in flips(attempts, as_scored(attempts, verdicts))]


async def test_a_scoring_is_named_by_its_number_or_as_the_latest(path):
    await write(path, began(), over(), began("b"), over("b"), began("c"))
    scorings, _, _ = await read(path)
    assert [choose(scorings, text, RUN).scoring for text in ("2", "3", "latest", " LATEST ")] == ["a", "b", "b", "b"]
    assert choose(scorings, "original", RUN) is None
    assert choose(scorings, "1", RUN) is None
    assert choose([], "latest", RUN) is None
    for text in ("4", "0", "", "c", "-2", "\u0662"):
        with pytest.raises(RunError, match="has no scoring") as caught:
            choose(scorings, text, RUN)
        assert "1 (its own), 2, 3" in (caught.value.hint or "")


async def test_a_log_from_before_scorings_gets_their_tables(path):
    set_back(path, 1)
    await write(path, began(), verdict(), over())
    assert query(path, "SELECT number FROM scoring") == [(2,)]
    fresh = path.with_name("fresh.db")
    prepare_log(fresh)
    for table in ("scoring", "rescored"):
        columns = f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')"
        assert query(path, columns) == query(fresh, columns)
