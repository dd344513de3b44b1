"""The derived rows say what the events say, whatever the events and however they were batched."""

import asyncio
import contextlib
import itertools
import shutil
import sqlite3
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgrid.store import writer as writer_module
from rollgrid.store.events import (
    AttemptPhase,
    AttemptRetrying,
    CommandAnswered,
    ConcurrencyChanged,
    Event,
    Notice,
    RunExtended,
    RunStateChanged,
    SessionEnded,
    SessionStarted,
    StormCalled,
    StormCleared,
    TargetsChanged,
    TaskSettled,
)
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from rollgrid.store.rows import AttemptRow, RunRow
from rollgrid.store.writer import LogWriter
from support.log_events import (
    RUN,
    created,
    derived_rows,
    ended,
    phase,
    query,
    retrying,
    review_undone,
    reviewed,
    session,
    started,
    superseded,
)

RUNS = st.sampled_from(["one", "one", "one", "two"])
TEXT = st.text(st.sampled_from("ab \x00\x1b\ud800\udfffü漢"), max_size=8)
SECONDS = st.floats(0, 1e6)
COUNT = st.integers(0, 1000) | st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70])
"""Also what SQLite or orjson cannot hold, and what one of them can."""

SLOT = {
    "run_id": RUNS,
    "at": SECONDS,
    "task": st.just(0),
    "attempt": st.integers(1, 2),
    "take": st.integers(1, 2),
}
"""Few slots, so that many events meet in one."""
OF_RUN = {"run_id": RUNS, "at": SECONDS}


@st.composite
def outcomes(draw: Any) -> Event:
    stop = draw(st.sampled_from(["completed", "completed", "error", "timeout", "cancelled", "paused"]))
    passed = draw(st.none() | st.booleans()) if stop == "completed" else None
    return ended(
        **{name: draw(strategy) for name, strategy in SLOT.items()},
        passed=passed,
        stop_reason=stop,
        error=draw(st.none() | TEXT),
        reason=draw(st.none() | TEXT),
        detail=draw(st.none() | st.dictionaries(TEXT, st.floats() | TEXT, max_size=2)),
        input_tokens=draw(COUNT),
        output_tokens=draw(COUNT),
        cost=draw(st.none() | st.floats(0, 10)),
        duration_seconds=draw(SECONDS),
        retries=draw(st.integers(0, 3)),
    )


EVENTS = st.one_of(
    st.builds(created, RUNS, at=SECONDS, n_tasks=st.integers(0, 2), env_name=TEXT),
    st.builds(started, **{name: SLOT[name] for name in ("task", "attempt", "take", "run_id", "at")}),
    outcomes(),
    outcomes(),
    outcomes(),
    outcomes(),
    st.builds(superseded, **{name: SLOT[name] for name in ("task", "attempt", "take", "run_id")}, why=TEXT),
    st.builds(superseded, **{name: SLOT[name] for name in ("task", "attempt", "take", "run_id")}, why=TEXT),
    st.builds(
        reviewed,
        **SLOT,
        author=st.sampled_from(["ann", "bea"]) | TEXT,
        verdict=st.sampled_from([None, "agree", "disagree"]),
        passed=st.none() | st.booleans(),
        label=st.none() | TEXT,
        note=st.none() | TEXT,
        blind=st.booleans(),
    ),
    st.builds(review_undone, st.integers(1, 12) | COUNT, **SLOT, author=st.sampled_from(["ann", "bea"])),
    st.builds(AttemptPhase, **SLOT, phase=st.sampled_from(["model", "tool", "scoring"]), detail=st.none() | TEXT),
    st.builds(
        AttemptRetrying, **SLOT, n=COUNT, limit=COUNT, wait_seconds=SECONDS, reason=TEXT, status=st.none() | COUNT
    ),
    st.builds(session, RUNS, at=SECONDS, number=st.integers(1, 3)),
    st.builds(SessionEnded, **OF_RUN, session=st.integers(1, 3), active_seconds=SECONDS),
    st.builds(
        RunStateChanged,
        **OF_RUN,
        state=st.sampled_from(["running", "paused", "stopping", "interrupted", "stopped", "finished"]),
        stopped_early=st.none() | TEXT,
        reason=st.none() | TEXT,
    ),
    st.builds(ConcurrencyChanged, **OF_RUN, limit=st.integers(0, 64), reason=TEXT),
    st.builds(RunExtended, **OF_RUN, k=st.integers(1, 9), author=TEXT),
    st.builds(
        TargetsChanged,
        **OF_RUN,
        targets=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=3).map(tuple),
        k=st.integers(1, 9),
        n_planned=st.integers(1, 40),
        reason=TEXT,
    ),
    st.builds(
        TaskSettled,
        **OF_RUN,
        position=st.integers(0, 2),
        claim=TEXT,
        says=TEXT,
        evidence=st.floats(0, 1e300),
        n_passed=COUNT,
        n_scored=COUNT,
    ),
    st.builds(StormCalled, **OF_RUN, signature=TEXT, sample=TEXT, count=COUNT, window=COUNT),
    st.builds(StormCleared, **OF_RUN),
    st.builds(
        CommandAnswered,
        **OF_RUN,
        command_id=st.integers(1, 3),
        command=st.just("pause"),
        author=TEXT,
        accepted=st.booleans(),
        answer=TEXT,
    ),
    st.builds(Notice, **OF_RUN, level=st.just("info"), text=TEXT),
)


async def write(path: Path, events: list[Event], flush_after: set[int] = frozenset()) -> None:
    async with LogWriter.open_cm(path) as writer:
        for number, event in enumerate(events):
            writer.append(event)
            if number in flush_after:
                await writer.flush()
    assert writer.fault is None


async def rows_of(path: Path, run_id: str = RUN) -> tuple[RunRow, list[AttemptRow]]:
    reader = await LogReader.open(path)
    try:
        run = await reader.run(run_id)
        assert run is not None
        return run, await reader.attempts(run_id)
    finally:
        await reader.aclose()


@pytest.fixture(scope="module")
def commanded(tmp_path_factory) -> Path:
    """A log with three commands and no event."""
    path = tmp_path_factory.mktemp("commanded") / "log.db"
    asyncio.run(write(path, []))
    for run_id in ("one", "two", "one"):
        change(
            path, "INSERT INTO command (run_id, at, author, command, args) VALUES (?, 1, 'a', 'pause', '{}')", run_id
        )
    return path


def change(path: Path, statement: str, *arguments: Any) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, arguments)


@given(events=st.lists(EVENTS, min_size=10, max_size=40), flush_after=st.sets(st.integers(0, 40)))
@settings(deadline=None, max_examples=40)
def test_what_the_writer_keeps_is_the_fold_of_the_events(commanded, events, flush_after):
    """In any batches, and with texts and numbers that neither SQLite nor orjson holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(commanded, folder))
        asyncio.run(write(path, [created("one"), *events], flush_after))
        kept = derived_rows(path)
        assert query(path, "SELECT count(*) FROM event") == [(1 + len(events),)]
        check_counts(path)
        asyncio.run(rebuild(path))
        assert derived_rows(path) == kept


def check_counts(path: Path) -> None:
    """The counters of a run are the counts of its attempt rows, by another way of counting."""
    for run_id, *counters in query(
        path, "SELECT run_id, n_started, n_ended, n_scored, n_passed, n_errors, n_superseded, n_retries FROM run"
    ):
        expected = query(
            path,
            """
            SELECT count(*) FILTER (WHERE superseded IS NULL),
                   count(*) FILTER (WHERE superseded IS NULL AND ended_at IS NOT NULL),
                   count(*) FILTER (WHERE superseded IS NULL AND passed IS NOT NULL),
                   count(*) FILTER (WHERE superseded IS NULL AND passed = 1),
                   count(*) FILTER (WHERE superseded IS NULL AND passed IS NULL
                                      AND stop_reason IN ('error', 'completed')),
                   count(*) FILTER (WHERE superseded IS NOT NULL),
                   coalesce(sum(retries), 0)
            FROM attempt WHERE run_id = ?
            """,
            run_id,
        )
        assert [tuple(counters)] == expected


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


async def test_a_superseded_take_counts_no_more_but_what_it_cost_was_paid(path):
    await write(
        path, [created(), started(), ended(passed=True), superseded(), started(take=2), ended(take=2, passed=False)]
    )
    run, attempts = await rows_of(path)
    assert (run.n_started, run.n_ended, run.n_scored, run.n_passed, run.n_superseded) == (1, 1, 1, 0, 1)
    assert (run.input_tokens, run.output_tokens, run.cost) == (20, 10, 1.0)
    assert [(row.take, row.superseded, row.passed) for row in attempts] == [(1, "retry", True), (2, None, False)]


async def test_a_superseded_error_is_no_error_any_more(path):
    failed = ended(passed=None, stop_reason="error", error="boom", error_type="E")
    await write(path, [created(), started(), failed, superseded(why="storm")])
    run, _ = await rows_of(path)
    assert (run.n_errors, run.n_ended, run.n_superseded) == (0, 0, 1)


async def test_a_take_that_ends_after_it_was_superseded_is_shown_and_paid_and_not_counted(path):
    await write(path, [created(), started(), superseded(why="resume"), ended(passed=True)])
    run, (attempt,) = await rows_of(path)
    assert (run.n_started, run.n_ended, run.n_passed, run.n_superseded) == (0, 0, 0, 1)
    assert (run.input_tokens, run.cost) == (10, 0.5)
    assert (attempt.phase, attempt.passed, attempt.superseded) == ("ended", True, "resume")


async def test_a_second_end_of_a_take_stays_an_event_and_changes_no_row(path):
    timeout = ended(passed=None, stop_reason="timeout", error="timeout after 30 s", input_tokens=3)
    await write(path, [created(), started(), timeout])
    before = derived_rows(path)["attempt"]
    await write(path, [ended(passed=True, at=150.0)])
    run, (attempt,) = await rows_of(path)
    assert (run.n_ended, run.n_scored, run.n_passed, run.input_tokens) == (1, 0, 0, 3)
    assert attempt.stop_reason == "timeout"
    assert derived_rows(path)["attempt"] == before
    assert query(path, "SELECT count(*) FROM event WHERE kind = 'attempt_ended'") == [(2,)]


async def test_a_take_is_superseded_once(path):
    await write(path, [created(), started(), ended(), superseded(why="retry"), superseded(why="late")])
    run, (attempt,) = await rows_of(path)
    assert (run.n_superseded, run.n_ended) == (1, 0)
    assert attempt.superseded == "retry"


async def test_a_running_take_tells_what_it_is_doing(path):
    steps = [
        (started(), ("model", None, None, 0)),
        (phase("tool", detail="search"), ("tool", "search", None, 0)),
        (retrying(), ("retrying", "1/3, rate limited", 114.5, 1)),
        (retrying(n=2, at=115.0), ("retrying", "2/3, rate limited", 117.5, 2)),
        (phase("model"), ("model", None, None, 2)),
        (phase("scoring"), ("scoring", None, None, 2)),
        (ended(retries=2), ("ended", None, None, 2)),
    ]
    await write(path, [created()])
    for event, expected in steps:
        await write(path, [event])
        run, (row,) = await rows_of(path)
        assert (row.phase, row.detail, row.retry_at, row.retries) == expected
        assert run.n_retries == row.retries


async def test_retries_that_nobody_told_of_are_counted_at_the_end(path):
    await write(
        path, [created(), started(), retrying(), ended(retries=3), started(attempt=2), ended(attempt=2, retries=1)]
    )
    run, attempts = await rows_of(path)
    assert [row.retries for row in attempts] == [3, 1]
    assert run.n_retries == 4


async def test_words_from_a_take_that_has_ended_change_nothing(path):
    await write(path, [created(), started(), ended()])
    before = derived_rows(path)["attempt"]
    await write(path, [phase("tool"), retrying(), started()])
    assert derived_rows(path)["attempt"] == before


async def test_errors_are_takes_without_a_verdict_and_timeouts_are_told_apart(path):
    stops = ["completed", "error", "timeout", "cancelled", "paused"]
    events = [
        event
        for number, stop in enumerate(stops, 1)
        for event in (started(attempt=number), ended(attempt=number, passed=None, stop_reason=stop))
    ]
    await write(path, [created(k=5), *events])
    run, _ = await rows_of(path)
    assert (run.n_ended, run.n_scored, run.n_errors) == (5, 0, 2)


async def test_a_cost_is_unknown_until_one_is_known(path):
    await write(path, [created(), started(), ended(cost=None)])
    run, _ = await rows_of(path)
    assert run.cost is None
    await write(path, [started(attempt=2), ended(attempt=2, cost=0.25)])
    run, _ = await rows_of(path)
    assert run.cost == 0.25


async def test_the_states_of_a_run_and_its_sessions(path):
    def state(name, at, **fields):
        return RunStateChanged(run_id=RUN, at=at, state=name, **fields)

    await write(
        path,
        [
            created(),
            session(at=101.0),
            StormCalled(run_id=RUN, at=102.0, signature="E 500", sample="x", count=4, window=4),
            state("stopped", 105.0, stopped_early="error-storm", reason="E 500"),
            SessionEnded(run_id=RUN, at=105.0, session=1, active_seconds=4.0),
        ],
    )
    run, _ = await rows_of(path)
    assert (run.state, run.stopped_early, run.reason, run.ended_at, run.storm) == (
        "stopped",
        "error-storm",
        "E 500",
        105.0,
        "E 500",
    )
    await write(path, [SessionStarted(**{**session(number=2, at=200.0).model_dump(), "pid": 77, "concurrency": 9})])
    run, _ = await rows_of(path)
    assert (run.state, run.stopped_early, run.reason, run.ended_at, run.storm) == ("running", None, None, None, None)
    assert (run.session, run.pid, run.concurrency, run.started_at) == (2, 77, 9, 101.0)
    await write(
        path,
        [
            ConcurrencyChanged(run_id=RUN, at=201.0, limit=2, reason="asked"),
            RunExtended(run_id=RUN, at=202.0, k=5, author="ann"),
            SessionEnded(run_id=RUN, at=210.0, session=2, active_seconds=2.5),
            state("finished", 210.0),
        ],
    )
    run, _ = await rows_of(path)
    assert (run.concurrency, run.k, run.n_planned, run.active_seconds) == (2, 5, 10, 6.5)
    assert (run.state, run.ended_at) == ("finished", 210.0)


async def test_each_task_may_want_its_own_number_of_attempts(path):
    grown = {"run_id": RUN, "at": 201.0, "reason": "asked for", "author": "ann"}
    await write(path, [created(k=2), TargetsChanged(**grown, targets=((1, 5),), k=2, n_planned=7)])
    run, _ = await rows_of(path)
    assert (run.k, run.n_planned, run.k_text) == (2, 7, "2+")
    assert query(path, "SELECT k FROM task ORDER BY task") == [(2,), (5,)]
    await write(
        path,
        [
            TargetsChanged(**grown, targets=((0, 1),), k=2, n_planned=3),
            RunExtended(run_id=RUN, at=202.0, k=3, author="ann"),
        ],
    )
    run, _ = await rows_of(path)
    assert (run.k, run.n_planned, run.k_text) == (3, 6, "3")
    assert query(path, "SELECT k FROM task ORDER BY task") == [(3,), (5,)]


async def test_what_is_settled_of_a_task_stands_in_its_row(path):
    counts = {"n_passed": 15, "n_scored": 15}
    settled = TaskSettled(run_id=RUN, at=201.0, position=1, claim="saturated", says="passes", evidence=20.8, **counts)
    await write(path, [created(k=4), settled])
    async with aclosing(await LogReader.open(path)) as reader:
        first, second = await reader.tasks(RUN)
        run = await reader.run(RUN)
    assert first.settled is None
    assert second.settled == ("saturated", "passes", 20.8, 15, 15)
    assert run is not None
    assert run.plan_seq == 2


async def test_a_run_is_created_once_and_events_of_an_unknown_run_change_nothing(path):
    await write(path, [created(k=2), created(k=7, env_name="impostor"), started(run_id="nobody"), session("nobody")])
    run, attempts = await rows_of(path)
    assert (run.k, run.env_name, attempts) == (2, "arithmetic", [])
    assert query(path, "SELECT count(*) FROM run") == [(1,)]
    assert query(path, "SELECT count(*) FROM event") == [(4,)]


async def test_every_row_says_which_event_touched_it_last(path):
    await write(path, [created(), started(), started(attempt=2), ended(), session()])
    run, attempts = await rows_of(path)
    assert run.seq == 5
    assert [(row.attempt, row.seq) for row in attempts] == [(2, 3), (1, 4)]


async def test_a_rebuild_mends_what_was_changed_by_hand(path):
    await write(path, [created(), started(), ended(), session()])
    before = derived_rows(path)
    change(path, "UPDATE run SET n_passed = 99, state = 'odd'")
    change(path, "DELETE FROM attempt")
    change(path, "DELETE FROM task")
    assert await rebuild(path) == 4
    assert derived_rows(path) == before


async def test_a_large_run_is_written_in_several_transactions_and_counted_right(path, monkeypatch):
    monkeypatch.setattr(writer_module, "BATCH_EVENTS", 7)
    slots = list(itertools.product(range(5), range(1, 5)))
    events = [started(*slot) for slot in slots] + [ended(*slot, passed=slot[0] % 2 == 0) for slot in slots]
    await write(path, [created(n_tasks=5, k=4), *events])
    run, attempts = await rows_of(path)
    assert (run.n_started, run.n_ended, run.n_passed, len(attempts)) == (20, 20, 12, 20)
