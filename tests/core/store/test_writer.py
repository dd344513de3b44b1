import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from rollgrid.store import writer as writer_module
from rollgrid.store.codec import encode
from rollgrid.store.events import Notice
from rollgrid.store.reader import LogReader
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, derived_rows, ended, query, started, superseded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def notice(number: int, run_id: str = RUN, size: int = 0) -> Notice:
    return Notice(run_id=run_id, at=float(number), level="info", text=f"{number} " + "x" * size)


def numbers(path: Path, run_id: str = RUN) -> list[int]:
    rows = query(path, "SELECT at FROM event WHERE run_id = ? AND kind = 'notice' ORDER BY seq", run_id)
    return [int(at) for (at,) in rows]


async def eventually(condition) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in the log, where no event is set
            await asyncio.sleep(0.005)


async def test_what_was_flushed_is_in_the_log_for_others_to_see(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        writer.append(notice(1))
        await writer.flush()
        assert numbers(path) == [1]


async def test_the_writer_flushes_by_itself(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(notice(1))
        await eventually(lambda: numbers(path) == [1])


async def test_closing_writes_what_is_left(path):
    writer = await LogWriter.open(path)
    for number in range(1200):
        writer.append(notice(number))
    await writer.aclose()
    assert numbers(path) == list(range(1200))
    assert writer.fault is None


async def test_events_appended_while_a_flush_is_going_on_keep_their_order(path):
    async with LogWriter.open_cm(path) as writer:
        for number in range(50):
            writer.append(notice(number))
            if number % 7 == 0:
                await asyncio.sleep(0)
            if number % 10 == 0:
                await writer.flush()
    assert numbers(path) == list(range(50))


async def test_a_closed_writer_takes_nothing_more(path):
    writer = await LogWriter.open(path)
    await writer.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        writer.append(notice(1))


async def test_one_flush_is_one_transaction(path):
    """A reader never sees an event without its rows."""
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await writer.flush()
        statements: list[str] = []
        await writer._connection.set_trace_callback(statements.append)
        writer.append(started())
        writer.append(ended(), encode({"messages": []}))
        writer.append(notice(1))
        await writer.flush()
        await writer._connection.set_trace_callback(None)
    boundaries = [text for text in statements if text.startswith(("BEGIN", "COMMIT", "ROLLBACK"))]
    assert boundaries == ["BEGIN IMMEDIATE", "COMMIT"]
    assert sum(text.startswith("REPLACE INTO run") for text in statements) == 1, "a run is written once a batch"


async def test_the_texts_of_the_tasks_are_not_in_the_event(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
    ((data,),) = query(path, "SELECT data FROM event")
    assert "question" not in data
    assert '"t1"' in data
    assert '"split"' in data


async def test_a_full_disk_is_a_fault_that_loses_nothing_and_goes_away(path, monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", (0.01, 0.02))
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await writer.flush()
        ((pages,),) = query(path, "PRAGMA page_count")
        await writer._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        for number in range(100):
            writer.append(notice(number, size=2000))
        await writer.flush()
        assert "full" in (writer.fault or "")
        assert "\n" not in (writer.fault or "")
        assert numbers(path) == []
        writer.append(notice(100))
        await writer._connection.execute("PRAGMA max_page_count = 1000000")
        await eventually(lambda: writer.fault is None)
        await writer.flush()
        assert numbers(path) == list(range(101))


async def test_a_writer_closed_on_a_full_disk_says_how_much_is_lost(path):
    writer = await LogWriter.open(path)
    ((pages,),) = query(path, "PRAGMA page_count")
    await writer._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    for number in range(30):
        writer.append(notice(number, size=4000))
    await writer.aclose()
    assert (writer.fault or "").startswith("30 events were not written: ")


async def test_a_lock_held_too_long_is_a_fault_that_goes_away(path, monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", (0.01, 0.02))
    async with LogWriter.open_cm(path) as writer:
        await writer._connection.execute("PRAGMA busy_timeout = 0")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.append(notice(1))
            await writer.flush()
            assert "locked" in (writer.fault or "")
            other.execute("ROLLBACK")
        await eventually(lambda: writer.fault is None)
    assert numbers(path) == [1]


async def test_a_failed_write_gives_the_lock_back(path, monkeypatch):
    async with LogWriter.open_cm(path) as writer:

        async def fail(*_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(writer._connection, "executemany", fail)
            writer.append(notice(1))
            await writer.flush()
            assert "disk I/O error" in (writer.fault or "")
            with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
        await writer.flush()
        assert writer.fault is None
    assert numbers(path) == [1]


async def test_a_snapshot_that_could_not_be_written_is_written_later_unless_a_newer_one_came(path, monkeypatch):
    async with LogWriter.open_cm(path) as writer, contextlib.aclosing(await LogReader.open(path)) as reader:
        for event in (created(), started(), started(attempt=2)):
            writer.append(event)
        await writer.flush()

        async def fail(*_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(writer._connection, "executemany", fail)
            writer.put_live(RUN, 0, 1, 1, encode({"partial_text": "old"}))
            writer.put_live(RUN, 0, 2, 1, encode({"partial_text": "only"}))
            await writer.flush()
            assert writer.fault is not None
            writer.put_live(RUN, 0, 1, 1, encode({"partial_text": "new"}))
        await writer.flush()
        assert await reader.live(RUN, 0, 1, 1) == {"partial_text": "new"}
        assert await reader.live(RUN, 0, 2, 1) == {"partial_text": "only"}


@pytest.mark.parametrize("committed", [True, False])
async def test_a_flush_that_is_cancelled_writes_each_event_once(path, committed, monkeypatch):
    """Wherever the cancellation hits: with the commit done but not yet known of, and before it."""
    async with LogWriter.open_cm(path) as writer:
        commit = writer._connection.commit
        reached = asyncio.Event()

        async def stuck_commit() -> None:
            if committed:
                await commit()
            reached.set()
            await asyncio.Event().wait()

        with monkeypatch.context() as patch:
            patch.setattr(writer._connection, "commit", stuck_commit)
            writer.append(created())
            writer.append(notice(1))
            async with asyncio.TaskGroup() as group:
                flush = group.create_task(writer.flush())
                await reached.wait()
                flush.cancel()
            assert flush.cancelled()
        writer.append(notice(2))
    assert numbers(path) == [1, 2]
    assert query(path, "SELECT count(*) FROM event WHERE kind = 'run_created'") == [(1,)]


async def test_two_runs_write_one_log_at_once(path):
    async def work(run_id: str) -> None:
        async with LogWriter.open_cm(path) as writer:
            writer.append(created(run_id))
            for number in range(60):
                writer.append(started(task=number, run_id=run_id))
                writer.append(ended(task=number, run_id=run_id))
                writer.append(notice(number, run_id))
                if number % 5 == 0:
                    await writer.flush()
            await writer.flush()
            assert writer.fault is None

    async with asyncio.TaskGroup() as group:
        for run_id in ("one", "two", "three"):
            group.create_task(work(run_id))
    for run_id in ("one", "two", "three"):
        assert numbers(path, run_id) == list(range(60))
        assert query(path, "SELECT n_ended, n_passed FROM run WHERE run_id = ?", run_id) == [(60, 60)]
    assert query(path, "SELECT count(*), max(seq) FROM event") == [(3 * 181, 3 * 181)]


async def test_a_reader_that_holds_a_transaction_for_long_stops_nobody(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(notice(1))
        await writer.flush()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as slow:
            slow.execute("BEGIN")
            assert slow.execute("SELECT count(*) FROM event").fetchone() == (1,)
            for number in range(2, 400):
                writer.append(notice(number, size=500))
                if number % 20 == 0:
                    await writer.flush()
            await writer.flush()
            assert writer.fault is None
            assert slow.execute("SELECT count(*) FROM event").fetchone() == (1,)
            slow.execute("COMMIT")
            assert slow.execute("SELECT count(*) FROM event").fetchone() == (399,)


async def test_a_snapshot_lives_as_long_as_its_attempt_runs(path):
    async with LogWriter.open_cm(path) as writer, contextlib.aclosing(await LogReader.open(path)) as reader:
        writer.append(created())
        writer.append(started())
        writer.put_live(RUN, 0, 1, 1, encode({"partial_text": "4"}))
        writer.put_live(RUN, 0, 1, 1, encode({"partial_text": "42"}))
        await writer.flush()
        assert await reader.live(RUN, 0, 1, 1) == {"partial_text": "42"}
        assert await reader.live(RUN, 0, 2, 1) is None
        writer.append(ended())
        await writer.flush()
        assert await reader.live(RUN, 0, 1, 1) is None
        writer.put_live(RUN, 0, 1, 1, encode({"partial_text": "too late"}))
        await writer.flush()
        assert await reader.live(RUN, 0, 1, 1) is None
    assert query(path, "SELECT count(*) FROM live") == [(0,)]


async def test_a_snapshot_of_a_superseded_attempt_goes_too(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        writer.append(started())
        writer.put_live(RUN, 0, 1, 1, encode({}))
        await writer.flush()
        assert query(path, "SELECT count(*) FROM live") == [(1,)]
        writer.append(superseded())
        await writer.flush()
        assert query(path, "SELECT count(*) FROM live") == [(0,)]


async def test_a_snapshot_alone_is_written_too(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        writer.append(started())
        await writer.flush()
        writer.put_live(RUN, 0, 1, 1, encode({}))
        await eventually(lambda: query(path, "SELECT count(*) FROM live") == [(1,)])


async def test_strange_strings_survive_in_events_and_are_written_out_in_columns(path):
    odd = "lone \ud800, nul \x00, escape \x1b[31m"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(env_name=odd))
        writer.append(started())
        writer.append(ended(reason=odd, detail={odd: [odd, 2**90]}), encode({"content": odd}))
    reader = await LogReader.open(path)
    try:
        event = (await reader.events(RUN, kinds=["attempt_ended"]))[0]
        assert event.data["reason"] == odd
        assert event.data["detail"] == {odd: [odd, 2**90]}
        transcript = await reader.transcript(RUN, 0, 1, 1)
        assert transcript is not None
        assert transcript["content"] == odd
        assert transcript["score"]["detail"] == {odd: [odd, 2**90]}
        (attempt,) = await reader.attempts(RUN)
        assert attempt.reason == odd.replace("\ud800", "\\ud800")
    finally:
        await reader.aclose()


async def test_a_run_id_that_the_log_holds_is_not_given_again(path, monkeypatch):
    drawn = iter(["one", "one", "two"])
    monkeypatch.setattr(writer_module.ids, "new_run_id", lambda: next(drawn))
    async with LogWriter.open_cm(path) as writer:
        writer.append(created("one"))
        await writer.flush()
        assert await writer.new_run_id() == "two"


async def test_a_resumed_run_goes_on_counting_where_it_was(path):
    async with LogWriter.open_cm(path) as writer:
        for event in (created(), started(), ended(), started(attempt=2)):
            writer.append(event)
    async with LogWriter.open_cm(path) as writer:
        for event in (superseded(attempt=2, why="resume"), started(attempt=2, take=2), ended(attempt=2, take=2)):
            writer.append(event)
    assert query(path, "SELECT n_started, n_ended, n_passed, n_superseded FROM run") == [(2, 2, 2, 1)]
    assert len(derived_rows(path)["attempt"]) == 3
