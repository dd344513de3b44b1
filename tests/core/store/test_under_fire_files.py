"""Files of the log that are deleted, moved, cut short or overwritten, before and while it is open."""

import asyncio
import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from rollgrid.errors import LogError
from rollgrid.store import files as files_module
from rollgrid.store import writer as writer_module
from rollgrid.store.codec import encode
from rollgrid.store.commands import post_command
from rollgrid.store.events import Notice
from rollgrid.store.lease import acquire
from rollgrid.store.opening import prepare_log
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from rollgrid.store.writer import LogWriter
from support.fire import Child, eventually
from support.log_events import RUN, created, derived_rows, ended, query, started

needs_locks = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the machine does not tell who holds a file")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "log.db"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(files_module, "SETTLE_SECONDS", 0.05)


def notice(number: int, run_id: str = RUN, size: int = 0) -> Notice:
    return Notice(run_id=run_id, at=float(number), level="info", text="x" * size)


def numbers(path: Path, run_id: str = RUN) -> list[int]:
    rows = query(path, "SELECT at FROM event WHERE run_id = ? AND kind = 'notice' ORDER BY seq", run_id)
    return [int(at) for (at,) in rows]


async def write(writer: LogWriter, *many: int, size: int = 0) -> None:
    for number in many:
        writer.append(notice(number, size=size))
    await writer.flush()


async def assert_whole(path: Path) -> None:
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    before = derived_rows(path)
    await rebuild(path)
    assert derived_rows(path) == before


def overwrite(path: Path) -> None:
    path.write_bytes(b"\xa5\x5a" * (path.stat().st_size // 2))


def remove(path: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        Path(f"{path}{suffix}").unlink()


# -- deleted


@pytest.mark.parametrize("suffixes", [("",), ("", "-wal", "-shm"), ("-wal",), ("-shm",), ("-wal", "-shm")])
async def test_whatever_is_deleted_under_a_writer_it_loses_nothing(path, suffixes):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, *range(300), size=1000)
        remove(path, *suffixes)
        await write(writer, 300, 301)
        assert writer.fault is None
        (said,) = writer.mended
        assert str(path) in said
        assert numbers(path) == list(range(302))
        await write(writer, 302)
        assert len(writer.mended) == 1
    assert numbers(path) == list(range(303))
    await assert_whole(path)


async def test_a_deleted_folder_is_made_anew_for_the_owner_only(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        shutil.rmtree(path.parent)
        await write(writer, 2)
        assert writer.fault is None
    assert numbers(path) == [1, 2]
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_a_writer_with_nothing_to_write_sees_to_its_files_too(path, monkeypatch):
    monkeypatch.setattr(writer_module, "LOOK_SECONDS", 0.0)
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await writer.flush()
        remove(path, "")
        await writer.pending_commands(RUN)
        await eventually(path.exists)
    assert query(path, "SELECT run_id FROM run") == [(RUN,)]


@pytest.mark.parametrize("suffixes", [("",), ("-wal",), ("-shm",), ("-wal", "-shm")])
async def test_of_two_writers_neither_loses_anything(path, suffixes):
    async with LogWriter.open_cm(path) as one, LogWriter.open_cm(path) as two:
        one.append(created("one"))
        two.append(created("two"))
        await one.flush()
        await two.flush()
        remove(path, *suffixes)
        for number in range(40):
            writer, run_id = ((one, "one"), (two, "two"))[number % 2]
            writer.append(notice(number, run_id, size=3000))
            await writer.flush()
            assert writer.fault is None
    assert numbers(path, "one") == list(range(0, 40, 2))
    assert numbers(path, "two") == list(range(1, 40, 2))
    await assert_whole(path)


async def test_a_log_that_cannot_be_put_back_is_a_fault_until_it_can(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        away = path.parent.rename(path.parent.with_name("away"))
        path.parent.write_text("a file in its place")
        await write(writer, 2)
        assert "was removed while it was being written" in (writer.fault or "")
        assert [one.event.at for one in writer.unsaved] == [2.0]
        path.parent.unlink()
        away.rename(path.parent)
        await eventually(lambda: writer.fault is None)
    assert numbers(path) == [1, 2]


@needs_locks
@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
async def test_nobody_else_opens_a_torn_log_until_its_writer_has_mended_it(path, suffix):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        lease = await acquire(path, RUN)
        remove(path, suffix)
        with pytest.raises(LogError, match="was deleted while a run was writing it"):
            await LogReader.open(path)
        with pytest.raises(LogError, match="was deleted while a run was writing it"):
            await post_command(path, RUN, "pause", {}, "ann")
        assert await lease.heartbeat()
        assert lease.fault is not None
        await write(writer, 2)
        reader = await LogReader.open(path)
        assert len(await reader.events(RUN)) == 3
        await reader.aclose()
        assert await lease.heartbeat()
        assert lease.fault is None


READER = """
import asyncio, json, sys
from pathlib import Path
from rollgrid.errors import LogError
from rollgrid.store import reader as module
from support.log_events import RUN

module.LOOK_SECONDS = 0.0

async def main():
    reader = None
    for line in sys.stdin:
        try:
            if line.strip() == "open":
                if reader is not None:
                    await reader.aclose()
                reader = await module.LogReader.open(Path(sys.argv[1]))
            await reader.changed()
            print(json.dumps(len(await reader.events(RUN))), flush=True)
        except LogError as error:
            print(json.dumps(error.message), flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("suffixes", [("",), ("-wal",), ("-shm",), ("-wal", "-shm")])
async def test_a_reader_whose_files_are_gone_says_so_and_does_not_show_old_things_for_ever(path, suffixes):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        with Child(READER, str(path)) as reader:
            assert await asyncio.to_thread(reader.ask, "open") == 2
            remove(path, *suffixes)
            await write(writer, 2)
            said = await asyncio.to_thread(reader.ask, "look")
            assert "while it was being read" in said or "cannot be read" in said
            assert await asyncio.to_thread(reader.ask, "open") == 3
            await write(writer, 3)
            assert await asyncio.to_thread(reader.ask, "look") == 4
    assert numbers(path) == [1, 2, 3]


async def test_a_write_ahead_file_deleted_between_runs_costs_what_was_in_it_and_no_more(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, *range(50), size=200)
        await writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await write(writer, *range(50, 60))
        # What a killed runner leaves behind, without its write-ahead file.
        left = path.with_name("left.db")
        shutil.copy(path, left)
        shutil.copy(f"{path}-shm", f"{left}-shm")
    async with LogWriter.open_cm(left) as writer:
        await write(writer, 100)
        assert writer.fault is None
    assert numbers(left) == [*range(50), 100]
    await assert_whole(left)


# -- moved and replaced


async def test_a_log_that_is_moved_away_and_back_is_written_on(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        other = path.with_name("other.db")
        prepare_log(other)
        kept = path.rename(path.with_name("kept.db"))
        other.rename(path)
        await write(writer, 2)
        assert "was replaced by another file while it was being written" in (writer.fault or "")
        kept.rename(path)
        await eventually(lambda: writer.fault is None)
    assert numbers(path) == [1, 2]
    await assert_whole(path)


async def test_a_strange_file_in_the_place_of_the_log_stays_as_it_is(path):
    writer = await LogWriter.open(path)
    writer.append(created())
    await write(writer, 1)
    path.unlink()
    path.write_text("dear diary\n" * 1000)
    await write(writer, 2)
    assert "was replaced" in (writer.fault or "")
    await writer.aclose()
    assert path.read_text() == "dear diary\n" * 1000
    assert (writer.fault or "").startswith("1 events were not written")


@pytest.mark.parametrize("companions", [(), ("-wal", "-shm")])
async def test_a_copy_that_holds_everything_is_written_on(path, companions):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1, 2)
        copy = path.with_name("copy.db")
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        remove(path, "", *companions)
        copy.rename(path)
        await write(writer, 3)
        assert writer.fault is None
        assert "a copy has taken its place" in writer.mended[0]
    assert numbers(path) == [1, 2, 3]
    await assert_whole(path)


async def test_an_older_copy_is_not_written_on(path):
    """What was committed after it was made would be missing from it."""
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        copy = path.with_name("copy.db")
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        await write(writer, 2)
        away = path.rename(path.with_name("away.db"))
        copy.rename(path)
        await write(writer, 3)
        assert "was replaced" in (writer.fault or "")
        away.rename(path)
        await eventually(lambda: writer.fault is None)
    assert numbers(path) == [1, 2, 3]


# -- cut short and overwritten


async def test_a_log_that_is_cut_short_under_its_writer_is_a_fault_and_not_written_any_more(path):
    writer = await LogWriter.open(path)
    writer.append(created())
    await write(writer, *range(200), size=1000)
    await writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await write(writer, 200)
    os.truncate(path, 8192)
    writer.append(ended(), encode({}))
    await writer.flush()
    assert "was cut short while it was being written" in (writer.fault or "")
    assert [type(one.event).__name__ for one in writer.unsaved] == ["AttemptEnded"]
    await writer.aclose()


async def test_a_log_that_sqlite_itself_makes_shorter_is_no_fault(path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, *range(200), size=1000)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            await write(writer, 200)
            other.execute("DELETE FROM event WHERE kind = 'notice' AND at < 190")
            other.execute("VACUUM")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await write(writer, 201)
        assert writer.fault is None
    assert numbers(path) == list(range(190, 202))


async def test_noise_in_the_log_under_its_writer_is_a_fault_in_one_line(path):
    writer = await LogWriter.open(path)
    writer.append(created())
    for number in range(300):
        writer.append(started(task=number))
        writer.append(ended(task=number), encode({"text": "x" * 500}))
    await writer.flush()
    await writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b", buffering=0) as file:
        file.write(os.urandom(size))
    # Another process's write makes SQLite read the file again.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
    writer.append(ended(task=301))
    with contextlib.suppress(sqlite3.Error):
        await writer._connection.execute("PRAGMA shrink_memory")
    await writer.flush()
    assert "cannot be written" in (writer.fault or "")
    assert "\n" not in (writer.fault or "")
    assert len(writer.unsaved) == 1
    with contextlib.suppress(sqlite3.Error):
        await writer.aclose()


@pytest.mark.parametrize("keep", [0.02, 0.3, 0.7, 0.99])
async def test_a_log_that_was_cut_short_before_is_refused_or_read_for_what_it_has(path, keep):
    """Never a traceback, never a wrong line: what is read was written."""
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, *range(200), size=1000)
    os.truncate(path, int(path.stat().st_size * keep))
    said, found = "", []
    try:
        reader = await LogReader.open(path)
        try:
            found = await reader.events(RUN)
        finally:
            await reader.aclose()
    except LogError as error:
        said = error.message
    assert "\n" not in said
    assert said or found
    assert {event.at for event in found} <= {100.0, *map(float, range(200))}


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_noise_from_before_is_refused_in_one_line_or_passed_over(path, suffix):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        await write(writer, 1)
        await writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await write(writer, 2)
        left = path.with_name("left.db")
        for part in ("", "-wal"):
            shutil.copy(f"{path}{part}", f"{left}{part}")
    overwrite(Path(f"{left}{suffix}"))
    if suffix:
        # SQLite knows what it wrote by checksums: noise in the write-ahead file is nothing at all.
        async with LogWriter.open_cm(left) as writer:
            await write(writer, 3)
        assert numbers(left) == [1, 3]
        return
    before = left.read_bytes()
    with pytest.raises(LogError, match="is not a rollgrid log"):
        await LogWriter.open(left)
    assert left.read_bytes() == before
