"""A large run shows by the sums of its tasks, which say what the fold of its attempts says."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgrid.store.commands import post_command
from rollgrid.store.reader import LogReader
from rollgrid.store.writer import LogWriter
from rollgrid_tui.feed import Feed
from rollgrid_tui.state.run_view import RunView
from support.log_events import RUN, created, ended, phase, retrying, session, started, superseded

N, K = 3, 4

OUTCOMES = {
    "passed": {},
    "failed": {"passed": False, "value": 0.0},
    "partial": {"passed": False, "value": 0.4},
    "error": {"passed": None, "stop_reason": "error", "error": "oops", "cost": None},
    "timeout": {"passed": None, "stop_reason": "timeout"},
    "cancelled": {"passed": None, "stop_reason": "cancelled"},
    "paused": {"passed": None, "stop_reason": "paused", "duration_seconds": 0.0},
    "unscored": {"passed": None},
}
histories = st.lists(st.sampled_from([*OUTCOMES, "running", "retrying", "tool"]), max_size=3)
cells = st.dictionaries(st.tuples(st.integers(0, N - 1), st.integers(1, K + 1)), histories, max_size=N * K)


def events_of(task, attempt, history):
    for take, what in enumerate(history, start=1):
        if take > 1:
            yield superseded(task, attempt, take - 1)
        yield started(task, attempt, take)
        if what == "retrying":
            yield retrying(task, attempt, take)
        elif what == "tool":
            yield phase("tool", task, attempt, take)
        elif what != "running":
            yield ended(task, attempt, take, **OUTCOMES[what])


async def write(path, runs):
    async with LogWriter.open_cm(path) as writer:
        for run_id, contents in runs:
            writer.append(created(run_id, n_tasks=N, k=K))
            writer.append(session(run_id))
            for (task, attempt), history in contents.items():
                for event in events_of(task, attempt, history):
                    writer.append(event.model_copy(update={"run_id": run_id}))


@pytest.mark.parametrize("live", [True, False])
@given(cells, st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_sums_of_a_run_show_as_its_rows_do(tmp_path_factory, live, contents, one_take):
    if one_take:
        contents = {place: history[:1] for place, history in contents.items()}
    path = tmp_path_factory.mktemp("log") / "log.db"
    asyncio.run(compare(path, contents, live))


async def compare(path, contents, live):
    await write(path, [(RUN, contents), ("zzz999", {(0, 1): ["passed"]})])
    reader = await LogReader.open(path)
    try:
        run = (await reader.run(RUN))._replace(alive=live, state="running")
        tasks, rows = await reader.tasks(RUN), await reader.attempts(RUN)
        overview = await reader.overview(RUN, lately=True)
        by_rows, by_sums = RunView(lambda: 130.0), RunView(lambda: 130.0)
        by_rows.apply(run, tasks, rows)
        by_sums.apply(run, tasks)
        by_sums.apply_overview(overview)
        assert overview.seq == max((row.seq for row in rows), default=0)
        for task in range(N):
            assert by_sums.cells(task) == by_rows.cells(task)
            assert by_sums.figures(task) == pytest.approx(by_rows.figures(task))
        assert by_sums.columns == by_rows.columns
        assert by_sums.totals == pytest.approx(by_rows.totals)
        for task in range(N):
            by_sums.fill(task, await reader.attempts(RUN, 0, task), since=overview.seq)
            assert by_sums.is_filled(task)
        assert not by_sums.apply(attempts=rows).structure
        assert list(by_sums.all_takes()) == list(by_rows.all_takes())
        assert by_sums.cells(0) == by_rows.cells(0)
    finally:
        await reader.aclose()


# -- by the feed


@pytest.fixture
def small(monkeypatch):
    """Every run counts as large, and two tasks are read at once."""
    monkeypatch.setattr("rollgrid_tui.feed.LARGE", 1)
    monkeypatch.setattr("rollgrid_tui.attach.ROWS_AT_ONCE", 2 * K)


class Counting:
    """A reader that counts what is asked of it."""

    def __init__(self, reader):
        self.reader = reader
        self.tasks_read = []
        self.whole_runs_read = 0

    def __getattr__(self, name):
        return getattr(self.reader, name)

    async def attempts(self, run_id, after_seq=0, task=None):
        if task is not None:
            self.tasks_read.append(task)
        elif after_seq == 0:
            self.whole_runs_read += 1
        return await self.reader.attempts(run_id, after_seq, task)


async def attached(path, n_tasks):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(n_tasks=n_tasks, k=K))
        for task in range(n_tasks):
            for event in (*events_of(task, 1, ["passed"]), *events_of(task, 2, ["running"])):
                writer.append(event)
    readers = []

    async def open_reader(where):
        readers.append(Counting(await LogReader.open(where)))
        return readers[-1]

    feed = Feed(path, open_reader=open_reader, post_command=post_command, author="ann")
    view = feed.follow(RUN)
    await feed.poll()
    return feed, view, readers[0]


async def test_a_large_run_shows_before_its_attempts_are_read(tmp_path, small):
    feed, view, reader = await attached(tmp_path / "log.db", 9)
    assert view.totals.n_passed == 9
    assert view.columns == K
    assert reader.tasks_read == []
    assert reader.whole_runs_read == 0
    while not all(view.is_filled(task) for task in range(9)):
        await feed.poll()
    assert sorted(reader.tasks_read) == list(range(9))
    assert len(list(view.all_takes())) == 18
    assert view.attempt(8, 2).phase == "model"
    await feed.poll()
    assert len(reader.tasks_read) == 9
    await reader.aclose()


async def test_the_task_that_is_looked_at_is_read_first(tmp_path, small):
    feed, view, reader = await attached(tmp_path / "log.db", 9)
    feed.watch_live((7, 1))
    assert await feed.poll()
    assert reader.tasks_read[0] == 7
    assert view.attempt(7, 1).passed is True
    await reader.aclose()


async def test_what_changes_meanwhile_is_told_with_all_that_its_task_has(tmp_path, small):
    feed, view, reader = await attached(tmp_path / "log.db", 9)
    async with LogWriter.open_cm(tmp_path / "log.db") as writer:
        writer.append(ended(8, 2, passed=False, value=0.0))
    feed.take_changes()
    await feed.poll()
    assert reader.tasks_read[0] == 8
    assert feed.take_changes().rows == {8}
    assert [cell.value for cell in view.cells(8)] == ["pass", "fail", "pending", "pending"]
    assert view.totals.n_passed == 9
    while not all(view.is_filled(task) for task in range(9)):
        await feed.poll()
    assert view.totals.n_scored == 10
    await reader.aclose()
