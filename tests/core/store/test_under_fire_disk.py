"""A log on a disk that is full, limited, read-only or no longer ours; and many who want it at once."""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollgrid.errors import LogError
from rollgrid.store import connection as connection_module
from rollgrid.store import link as link_module
from rollgrid.store import writer as writer_module
from rollgrid.store.codec import encode
from rollgrid.store.events import Notice
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from rollgrid.store.writer import LogWriter
from support.fire import Child, can_mount, eventually, fill, mortal, small_disk
from support.log_events import RUN, created, derived_rows, ended, query, started


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", (0.01, 0.02))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    if not can_mount():
        pytest.skip("only root may mount a small disk")
    folder = tmp_path / "disk"
    try:
        with small_disk(folder, 2 * 1024 * 1024):
            yield folder
    except PermissionError:
        pytest.skip("mounting is not allowed here")


def notice(number: int, run_id: str = RUN, size: int = 0) -> Notice:
    return Notice(run_id=run_id, at=float(number), level="info", text="x" * size)


def numbers(path: Path) -> list[int]:
    return [int(at) for (at,) in query(path, "SELECT at FROM event WHERE kind = 'notice' ORDER BY seq")]


async def assert_whole(path: Path) -> None:
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    before = derived_rows(path)
    await rebuild(path)
    assert derived_rows(path) == before


# -- no room


async def test_a_full_disk_keeps_what_is_committed_and_takes_the_rest_when_there_is_room(disk):
    path = disk / "logs" / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        for number in range(20):
            writer.append(notice(number))
        await writer.flush()
        filler = fill(disk)
        for number in range(20, 220):
            writer.append(notice(number, size=1000))
        await writer.flush()
        assert "full" in (writer.fault or "")
        assert len(writer.unsaved) == 200
        reader = await LogReader.open(path)
        assert len(await reader.events(RUN)) == 21, "others can still read"
        await reader.aclose()
        filler.unlink()
        await eventually(lambda: writer.fault is None and not writer.unsaved)
        writer.append(notice(220))
    assert numbers(path) == list(range(221))
    await assert_whole(path)


async def test_a_disk_that_fills_up_with_the_log_itself_keeps_every_committed_event(disk):
    """The room runs out at any point of a transaction or of a checkpoint; nothing half-done stays."""
    path = disk / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        number = 0
        while writer.fault is None:
            for _ in range(10):
                writer.append(notice(number, size=3000))
                number += 1
            await writer.flush()
        saved = number - len(writer.unsaved)
        assert numbers(path) == list(range(saved))
    assert (writer.fault or "").startswith(f"{number - saved} events were not written")
    await assert_whole(path)


def test_a_log_is_not_made_on_a_full_disk_and_can_be_made_later(disk):
    filler = fill(disk)
    path = disk / "log.db"

    async def write() -> None:
        async with LogWriter.open_cm(path) as writer:
            writer.append(created())

    with pytest.raises(LogError) as caught:
        asyncio.run(write())
    assert "\n" not in caught.value.message
    filler.unlink()
    asyncio.run(write())
    assert query(path, "SELECT run_id FROM run") == [(RUN,)]


LIMITED = """
import asyncio, json, resource, signal, sys
from pathlib import Path
from rollgrid.store import writer as module
from rollgrid.store.events import Notice
from support.log_events import RUN, created

module.RETRY_SECONDS = (0.01, 0.02)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

async def main():
    async with module.LogWriter.open_cm(Path(sys.argv[1])) as writer:
        writer.append(created())
        await writer.flush()
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))
        for number in range(100):
            writer.append(Notice(run_id=RUN, at=float(number), level="info", text="x" * 3000))
        await writer.flush()
        print(json.dumps([writer.fault, len(writer.unsaved)]), flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        while writer.unsaved:
            await asyncio.sleep(0.01)
        print(json.dumps([writer.fault, len(writer.unsaved)]), flush=True)

asyncio.run(main())
"""


async def test_a_limit_on_the_size_of_files_is_a_fault_that_goes_away(tmp_path):
    path = tmp_path / "log.db"
    with Child(LIMITED, str(path)) as child:
        fault, unsaved = await asyncio.to_thread(child.hear)
        assert "cannot be written" in fault
        assert unsaved > 0
        assert await asyncio.to_thread(child.hear) == [None, 0]
        child.process.wait()
    assert numbers(path) == list(range(100))
    await assert_whole(path)


# -- no permission

MORTAL = """
import asyncio, json, os, sys
from pathlib import Path
from rollgrid.errors import LogError
from rollgrid.store import writer as module
from rollgrid.store.events import Notice
from rollgrid.store.lease import acquire
from rollgrid.store.reader import LogReader
from support.log_events import RUN, created

module.RETRY_SECONDS = (0.01, 0.02)
path = Path(sys.argv[1])

async def main():
    writer = lease = None
    number = 0
    for line in sys.stdin:
        try:
            match line.strip():
                case "open":
                    writer = await module.LogWriter.open(path)
                    writer.append(created())
                    await writer.flush()
                    lease = await acquire(path, RUN)
                    answer = writer.fault
                case "write":
                    number += 1
                    writer.append(Notice(run_id=RUN, at=float(number), level="info", text=""))
                    await writer.flush()
                    answer = writer.fault
                case "beat":
                    held = await lease.heartbeat()
                    answer = [held, lease.fault]
                case "read":
                    reader = await LogReader.open(path)
                    answer = [row.run_id for row in await reader.runs()]
                    await reader.aclose()
                case "close":
                    await writer.aclose()
                    answer = writer.fault
        except LogError as error:
            answer = error.message
        print(json.dumps(answer), flush=True)

asyncio.run(main())
"""


async def test_a_folder_that_becomes_read_only_does_not_disturb_a_run_that_has_its_log_open(tmp_path):
    path = tmp_path / "logs" / "log.db"
    with Child(MORTAL, str(path), prepare=mortal) as child:
        assert child.ask("open") is None
        path.parent.chmod(0o500)
        try:
            assert child.ask("write") is None
            assert child.ask("beat") == [True, None]
            assert child.ask("close") is None
        finally:
            path.parent.chmod(0o700)
    assert numbers(path) == [1]
    await assert_whole(path)


async def test_a_log_whose_permission_is_lost_midway_is_written_by_who_has_it_open_and_by_nobody_else(tmp_path):
    path = tmp_path / "logs" / "log.db"
    with Child(MORTAL, str(path), prepare=mortal) as child, Child(MORTAL, str(path), prepare=mortal) as other:
        assert child.ask("open") is None
        path.chmod(0o400)
        assert child.ask("write") is None
        assert child.ask("beat")[0] is True
        assert other.ask("read") == [RUN]
        assert "cannot be" in other.ask("open")
        path.chmod(0o600)
        assert child.ask("beat") == [True, None]
        assert child.ask("close") is None
    assert numbers(path) == [1]
    await assert_whole(path)


def test_a_read_only_folder_is_refused_in_one_line_and_left_alone(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir(mode=0o500)
    try:
        with Child(MORTAL, str(folder / "log.db"), prepare=mortal) as child:
            said = child.ask("open")
        assert "cannot be opened" in said
        assert "\n" not in said
        assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o700)


def test_a_log_in_a_read_only_folder_can_be_read(tmp_path):
    path = tmp_path / "logs" / "log.db"

    async def write() -> None:
        async with LogWriter.open_cm(path) as writer:
            writer.append(created())

    asyncio.run(write())
    path.parent.chmod(0o500)
    try:
        with Child(MORTAL, str(path), prepare=mortal) as child:
            assert child.ask("read") == [RUN]
            assert "cannot be" in child.ask("open")
    finally:
        path.parent.chmod(0o700)


# -- many at once


async def test_fifty_readers_see_every_event_once_and_in_order_and_hold_nobody_up(tmp_path):
    path = tmp_path / "log.db"
    total = 300
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(n_tasks=1, k=total))
        await writer.flush()

        async def follow() -> list[int]:
            reader = await LogReader.open(path)
            seen: list[int] = []
            last = 0
            try:
                while len(seen) < total:
                    if not await reader.changed():
                        await asyncio.sleep(0.02)
                        continue
                    for row in await reader.attempts(RUN, after_seq=last):
                        last = row.seq
                        seen.append(row.attempt)
                        assert row.passed is True, "rows and events are never seen apart"
            finally:
                await reader.aclose()
            return seen

        async def work() -> None:
            for attempt in range(1, total + 1):
                writer.append(started(attempt=attempt))
                writer.append(ended(attempt=attempt), encode({"text": "x" * 200}))
                if attempt % 10 == 0:
                    await writer.flush()
                    assert writer.fault is None

        async with asyncio.timeout(100), asyncio.TaskGroup() as group:
            readers = [group.create_task(follow()) for _ in range(50)]
            group.create_task(work())
        assert all(reader.result() == list(range(1, total + 1)) for reader in readers)
    await assert_whole(path)


async def test_what_a_slow_reader_makes_the_log_grow_by_is_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr(link_module, "WAL_BYTES", 100_000)
    path, wal = tmp_path / "log.db", tmp_path / "log.db-wal"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await writer.flush()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as slow:
            slow.execute("BEGIN")
            slow.execute("SELECT count(*) FROM event").fetchone()
            for number in range(1500):
                writer.append(notice(number, size=4000))
                if number % 100 == 99:
                    await writer.flush()
            assert writer.fault is None
            longest = wal.stat().st_size
            assert longest > 4_000_000
            slow.execute("COMMIT")
        for number in range(1500, 1510):
            writer.append(notice(number, size=4000))
            await writer.flush()
        assert wal.stat().st_size < longest / 4
    assert numbers(path) == list(range(1510))


async def test_a_lock_that_outlasts_the_wait_is_a_fault_and_stops_no_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(connection_module, "BUSY_SECONDS", 0.05)
    path = tmp_path / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await writer.flush()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.append(notice(1))
            await eventually(lambda: writer.fault is not None)
            assert "locked" in (writer.fault or "")
            reader = await LogReader.open(path)
            assert len(await reader.runs()) == 1
            await reader.aclose()
            other.execute("ROLLBACK")
        await eventually(lambda: writer.fault is None)
    assert numbers(path) == [1]


async def test_a_clock_that_steps_back_changes_no_order_and_no_count(tmp_path, monkeypatch):
    path = tmp_path / "log.db"
    clock = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(at=time.time(), n_tasks=1, k=4))
        for attempt in range(1, 5):
            writer.append(started(attempt=attempt, at=time.time()))
            clock[0] -= 3600
            writer.append(ended(attempt=attempt, at=time.time()))
            await writer.flush()
        reader = await LogReader.open(path)
        try:
            assert [row.attempt for row in await reader.attempts(RUN)] == [1, 2, 3, 4]
            kinds = [event.kind for event in await reader.events(RUN)]
            assert kinds == ["run_created", *["attempt_started", "attempt_ended"] * 4]
            run = await reader.run(RUN)
            assert run is not None
            assert (run.n_ended, run.n_passed, run.n_started) == (4, 4, 4)
            assert await reader.resolve("last") == RUN
        finally:
            await reader.aclose()
    await assert_whole(path)


def test_the_limits_of_this_file_are_real(tmp_path):
    """The helpers do what the tests above rely on."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    script = (
        "import json, sys; from pathlib import Path\ntry: Path(sys.argv[1]).touch(); print(1)\nexcept OSError: print(0)"
    )
    with Child(script, os.fspath(folder / "file"), prepare=mortal) as child:
        assert child.hear() == 0
