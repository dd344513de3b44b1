"""Reviews: written by whoever reviews, beside the runner or long after it; told by the same fold as everything else."""

import asyncio
import json
from pathlib import Path

import pytest

from rollgrid.errors import LogError, RunError
from rollgrid.store.opening import prepare_log
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from rollgrid.store.reviews import post_review, undo_review
from rollgrid.store.rows import ReviewRow, standing_reviews
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, derived_rows, ended, query, session, set_back, started, superseded

FIRST = (RUN, 0, 1, 1)
UNSCORED = (RUN, 1, 2, 1)
HOSTILE = "\x1b]52;c;eHh4\x07 \u202e [b \ud800 \x00 é\n2nd line"
KEPT = HOSTILE.replace("\ud800", "\\ud800")
"""SQLite's text columns hold no lone surrogate; the event itself does."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
async def writer(path: Path):
    """A runner at work: one attempt passed, one failed, one without a score, one under way."""
    async with LogWriter.open_cm(path) as writer:
        for event in (
            created(),
            session(),
            ended(),
            ended(0, 2, passed=False),
            ended(1, 2, passed=None, stop_reason="error", error="HTTP 500"),
            started(1, 1),
        ):
            writer.append(event)
        await writer.flush()
        yield writer


async def reviews(path: Path, after: int = 0) -> list[ReviewRow]:
    reader = await LogReader.open(path)
    try:
        return await reader.reviews(RUN, after)
    finally:
        await reader.aclose()


async def told_anew(path: Path) -> bool:
    """Whether the rows are the fold of the events."""
    before = derived_rows(path)
    await rebuild(path)
    return derived_rows(path) == before


async def test_a_review_keeps_who_said_what_and_when(path, writer):
    made = await post_review(path, FIRST, "bea", verdict="disagree", label="wrong unit", note="asked for metres")
    (row,) = await reviews(path)
    assert row == made
    assert (row.task, row.attempt, row.take, row.author) == (0, 1, 1, "bea")
    assert (row.verdict, row.passed, row.label, row.note) == ("disagree", False, "wrong unit", "asked for metres")
    assert (row.blind, row.undone) == (False, None)
    assert query(path, "SELECT at FROM event WHERE kind = 'reviewed'") == [(row.at,)]
    assert await told_anew(path)


@pytest.mark.parametrize(
    ("attempt", "said", "verdict"),
    [(1, True, "agree"), (1, False, "disagree"), (2, True, "disagree"), (2, False, "agree")],
)
async def test_what_an_attempt_deserves_makes_the_verdict_on_its_score(path, writer, attempt, said, verdict):
    made = await post_review(path, (RUN, 0, attempt, 1), "bea", passed=said, blind=True)
    assert (made.verdict, made.passed, made.blind) == (verdict, said, True)


async def test_reviews_and_a_runner_write_one_run_at_the_same_time(path, writer):
    async def review(author: str) -> None:
        for n in range(6):
            await post_review(path, FIRST, author, verdict="agree", note=f"{n}")

    async def attempts() -> None:
        for n in range(3, 40):
            writer.append(started(0, n))
            writer.append(ended(0, n))
            await asyncio.sleep(0)
        await writer.flush()

    async with asyncio.TaskGroup() as group:
        for author in ("ann", "bea", "cem"):
            group.create_task(review(author))
        group.create_task(attempts())
    assert writer.fault is None
    assert len(await reviews(path)) == 18
    assert query(path, "SELECT count(*) FROM attempt WHERE ended_seq IS NOT NULL") == [(40,)]
    assert query(path, "SELECT count(*), max(seq) FROM event") == [(6 + 18 + 74, 6 + 18 + 74)]
    assert await told_anew(path)


async def test_a_run_whose_runner_is_gone_can_be_reviewed(path, writer):
    await writer.aclose()
    await post_review(path, FIRST, "bea", verdict="agree")
    assert await told_anew(path)


async def test_a_review_is_no_sign_of_life_of_a_runner(path, writer):
    """A resume asks how far the last runner got; a review made weeks later must not be taken for its work."""
    seq = await writer.last_seq(RUN)
    await post_review(path, FIRST, "bea", verdict="agree")
    reader = await LogReader.open(path)
    try:
        run = await reader.run(RUN)
        assert run is not None
        assert run.seq == seq == await writer.last_seq(RUN)
        assert await reader.last_sign(RUN) == 110.0
        assert (await reader.events(RUN))[-1].kind == "reviewed"
        assert [event.task for event in await reader.events(RUN, kinds=("reviewed", "review_undone"))] == [0]
    finally:
        await reader.aclose()


async def test_what_is_not_said_anew_stays_and_an_empty_text_takes_it_away(path, writer):
    await post_review(path, FIRST, "bea", verdict="disagree", blind=True)
    await post_review(path, FIRST, "bea", label="unit")
    await post_review(path, FIRST, "bea", note="metres")
    made = await post_review(path, FIRST, "bea", label="")
    assert (made.verdict, made.passed, made.label, made.note, made.blind) == ("disagree", False, None, "metres", True)
    other = await post_review(path, FIRST, "ann", label="mine")
    assert (other.verdict, other.note) == (None, None)


async def test_the_newest_review_of_each_author_and_take_stands(path, writer):
    writer.append(superseded())
    writer.append(ended(take=2))
    await writer.flush()
    for place, author, verdict in (
        (FIRST, "ann", "agree"),
        (FIRST, "bea", "agree"),
        (FIRST, "ann", "disagree"),
        ((RUN, 0, 1, 2), "ann", "agree"),
    ):
        await post_review(path, place, author, verdict=verdict)
    standing = standing_reviews(await reviews(path))
    assert [(row.take, row.author, row.verdict) for row in standing] == [
        (1, "bea", "agree"),
        (1, "ann", "disagree"),
        (2, "ann", "agree"),
    ]


async def test_an_undo_is_an_event_and_brings_back_what_was_said_before(path, writer):
    await post_review(path, FIRST, "bea", verdict="agree")
    await post_review(path, FIRST, "ann", verdict="agree")
    last = await post_review(path, FIRST, "bea", verdict="disagree")
    gone = await undo_review(path, FIRST, "bea")
    assert gone.seq == last.seq
    assert gone.undone is not None
    assert [row.verdict for row in standing_reviews(await reviews(path))] == ["agree", "agree"]
    assert await reviews(path, last.seq) == [gone], "who reads on hears of it"
    await undo_review(path, FIRST, "bea")
    with pytest.raises(RunError, match="bea has no review of attempt 1 to take back"):
        await undo_review(path, FIRST, "bea")
    assert [row.author for row in standing_reviews(await reviews(path))] == ["ann"]
    assert query(path, "SELECT count(*) FROM event WHERE kind LIKE 'review%'") == [(5,)]
    assert await told_anew(path)


async def test_text_is_kept_as_it_came(path, writer):
    await post_review(path, FIRST, HOSTILE, verdict="agree", label=HOSTILE, note=HOSTILE)
    (row,) = await reviews(path)
    assert (row.author, row.label, row.note) == (KEPT, KEPT, KEPT)
    ((text,),) = query(path, "SELECT data FROM event WHERE kind = 'reviewed'")
    assert json.loads(text)["note"] == HOSTILE
    assert await told_anew(path)
    await undo_review(path, FIRST, HOSTILE)
    assert standing_reviews(await reviews(path)) == []


@pytest.mark.parametrize(
    ("place", "said", "why"),
    [
        (("nobody", 0, 1, 1), {"verdict": "agree"}, "no run nobody"),
        ((RUN, 1, 1, 1), {"verdict": "agree"}, "attempt 1 has not ended"),
        ((RUN, 7, 1, 1), {"verdict": "agree"}, "attempt 1 has not ended"),
        ((RUN, 0, 1, 2), {"verdict": "agree"}, "attempt 1 has not ended"),
        (UNSCORED, {"verdict": "disagree"}, "attempt 2 has no score to agree or disagree with"),
        (FIRST, {}, "says nothing"),
        (FIRST, {"label": "x" * 201}, "the label has 201 characters"),
        (FIRST, {"note": "x" * 20_001}, "the note has 20001 characters"),
    ],
)
async def test_what_cannot_be_reviewed_is_refused_in_one_line_and_leaves_no_event(path, writer, place, said, why):
    before = query(path, "SELECT count(*) FROM event")
    with pytest.raises(RunError, match=why):
        await post_review(path, place, "bea", **said)
    assert query(path, "SELECT count(*) FROM event") == before


async def test_a_review_needs_an_author(path, writer):
    with pytest.raises(RunError, match="needs an author"):
        await post_review(path, FIRST, "  ", verdict="agree")


async def test_an_attempt_without_a_score_can_be_labelled_and_judged_but_not_agreed_with(path, writer):
    made = await post_review(path, UNSCORED, "bea", label="server down")
    assert (made.verdict, made.passed, made.label) == (None, None, "server down")
    made = await post_review(path, UNSCORED, "bea", passed=True)
    assert (made.verdict, made.passed, made.label) == (None, True, "server down")


async def test_a_log_from_before_reviews_gets_their_table_and_a_backup(path, writer):
    await writer.aclose()
    set_back(path, 1)
    prepare_log(path)
    assert path.with_name("log.db.format1.bak").exists()
    await post_review(path, FIRST, "bea", verdict="agree")
    columns = "SELECT name, type, \"notnull\", pk FROM pragma_table_info('review')"
    migrated = query(path, columns)
    fresh = path.with_name("fresh.db")
    prepare_log(fresh)
    assert migrated == query(fresh, columns)
    indexes = "SELECT name, sql FROM sqlite_master WHERE tbl_name = 'review' AND type = 'index'"
    assert query(path, indexes) == query(fresh, indexes)


async def test_there_is_no_review_without_a_log(tmp_path):
    with pytest.raises(LogError, match="there is no log"):
        await post_review(tmp_path / "none.db", FIRST, "bea", verdict="agree")
