import os
import sqlite3
import stat
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from rollgrid.errors import LogError
from rollgrid.store import connection, schema
from rollgrid.store.events import RunExtended
from rollgrid.store.lease import acquire
from rollgrid.store.opening import prepare_log
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild, refold
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, ended, query, set_back, started

NOW, NEXT = schema.VERSION, schema.VERSION + 1


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def content(folder: Path) -> dict[str, bytes]:
    """All files but the companions, which SQLite makes to look at a log at all."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.fixture
async def log(tmp_path: Path):
    """A log of the present format with one finished attempt, closed."""
    path = tmp_path / "logs" / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        writer.append(started())
        writer.append(ended(), b"\x01")
    return path


def refused(path: Path, **options) -> LogError:
    before = content(path.parent)
    with pytest.raises(LogError) as caught:
        prepare_log(path, **options)
    assert "\n" not in caught.value.message
    assert content(path.parent) == before, "a refused file must stay as it was"
    return caught.value


async def test_only_the_owner_can_read_the_log_and_its_companions(tmp_path: Path):
    old = os.umask(0)
    try:
        path = tmp_path / "deep" / ".rollgrid" / "log.db"
        async with LogWriter.open_cm(path) as writer:
            writer.append(created())
            await writer.flush()
            files = sorted(p.name for p in path.parent.iterdir())
            assert files == [".gitignore", "log.db", "log.db-shm", "log.db-wal"]
            assert {mode_of(path.parent / name) for name in files if name.startswith("log")} == {0o600}
    finally:
        os.umask(old)
    assert mode_of(path.parent) == 0o700


async def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path):
    os.chmod(tmp_path, 0o755)
    async with LogWriter.open_cm(tmp_path / "log.db"):
        assert mode_of(tmp_path) == 0o755


def test_the_log_carries_its_mark_and_format_and_is_in_wal_mode(tmp_path: Path):
    path = tmp_path / "log.db"
    prepare_log(path)
    assert query(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]
    assert query(path, "PRAGMA user_version") == [(schema.VERSION,)]
    assert query(path, "PRAGMA journal_mode") == [("wal",)]


def test_opening_a_log_again_changes_nothing(tmp_path: Path):
    path = tmp_path / "log.db"
    prepare_log(path)
    before = path.read_bytes()
    prepare_log(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_log(tmp_path: Path):
    path = tmp_path / "log.db"
    path.touch(mode=0o644)
    prepare_log(path)
    assert query(path, "SELECT count(*) FROM event") == [(0,)]
    assert mode_of(path) == 0o600


def test_a_log_that_was_left_half_made_is_made_whole(tmp_path: Path):
    path = tmp_path / "log.db"
    query(path, "PRAGMA journal_mode = WAL")
    prepare_log(path)
    assert query(path, "SELECT count(*) FROM event") == [(0,)]


def test_many_processes_may_make_one_log_at_once(tmp_path: Path):
    path = tmp_path / "log.db"
    failures = []

    def make():
        try:
            prepare_log(path)
        except LogError as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert query(path, "SELECT count(*) FROM event") == [(0,)]


def test_a_reader_makes_no_log(tmp_path: Path):
    with pytest.raises(LogError, match="no log at"):
        prepare_log(tmp_path / "log.db", create=False)
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n" * 100)
    assert "is not a rollgrid log" in refused(path).message


def test_another_programs_database_is_refused(tmp_path: Path):
    path = tmp_path / "other.db"
    query(path, "CREATE TABLE mine (x)")
    assert "is not a rollgrid log" in refused(path).message


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(LogError, match="is a folder"):
        prepare_log(tmp_path)


def test_a_damaged_log_is_refused_as_damaged(log: Path):
    data = bytearray(log.read_bytes())
    data[100:4000] = b"\xff" * 3900
    log.write_bytes(bytes(data))
    assert "malformed" in refused(log).message


@pytest.mark.parametrize("place", ["/proc/nowhere/log.db", "{tmp}/file/log.db"])
def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, place):
    (tmp_path / "file").touch()
    with pytest.raises(LogError, match="cannot be opened") as caught:
        prepare_log(Path(place.format(tmp=tmp_path)))
    assert "\n" not in caught.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_log_in_a_folder_without_write_permission_is_refused_for_writing(log: Path):
    log.parent.chmod(0o500)
    try:
        with pytest.raises(LogError, match="cannot be"):
            await LogWriter.open(log)
    finally:
        log.parent.chmod(0o700)


async def test_a_log_in_a_folder_without_write_permission_can_be_read(log: Path, monkeypatch):
    monkeypatch.setattr(connection.os, "access", lambda _path, _mode: False)
    reader = await LogReader.open(log)
    try:
        assert [row.run_id for row in await reader.runs()] == [RUN]
    finally:
        await reader.aclose()
    assert sorted(path.name for path in log.parent.iterdir()) == ["log.db"]


async def test_a_path_with_characters_that_mean_something_in_a_uri(tmp_path: Path):
    path = tmp_path / "odd ?#%41 ü" / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
    assert query(path, "SELECT count(*) FROM event") == [(1,)]


def test_a_newer_log_is_refused(log: Path):
    query(log, f"PRAGMA user_version = {schema.VERSION + 1}")
    error = refused(log)
    assert "newer rollgrid" in error.message
    assert "upgrade" in (error.hint or "")


def test_a_format_that_nothing_leads_away_from_is_refused(log: Path):
    query(log, "PRAGMA user_version = 0")
    assert "no longer reads" in refused(log).message


@pytest.fixture
def next_format(log, monkeypatch):
    """The product of tomorrow: its log has one more column, filled from the events."""

    def step(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE command ADD COLUMN urgency INTEGER")
        connection.execute("DELETE FROM attempt")
        refold(connection)

    monkeypatch.setattr(schema, "VERSION", NEXT)
    monkeypatch.setattr(schema, "STEPS", {NOW: step})


@pytest.mark.usefixtures("next_format")
async def test_an_older_log_is_backed_up_and_migrated_when_it_is_read(log: Path):
    reader = await LogReader.open(log)
    try:
        (attempt,) = await reader.attempts(RUN)
        assert attempt.passed is True
    finally:
        await reader.aclose()
    assert query(log, "PRAGMA user_version") == [(NEXT,)]
    assert query(log, "SELECT count(*) FROM pragma_table_info('command') WHERE name = 'urgency'") == [(1,)]
    backup = log.with_name(f"log.db.format{NOW}.bak")
    assert mode_of(backup) == 0o600
    assert query(backup, "PRAGMA user_version") == [(NOW,)]
    assert query(backup, "SELECT count(*) FROM event") == [(3,)]


@pytest.mark.usefixtures("next_format")
def test_a_backup_never_replaces_another(log: Path):
    older = log.with_name(f"log.db.format{NOW}.bak")
    older.write_text("precious")
    prepare_log(log)
    assert older.read_text() == "precious"
    assert query(log.with_name(f"log.db.format{NOW}.bak2"), "PRAGMA user_version") == [(NOW,)]


def test_a_migration_that_fails_leaves_the_log_as_it_was(log: Path, monkeypatch):
    def step(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE event")
        raise ValueError("it does not fit")

    monkeypatch.setattr(schema, "VERSION", NEXT)
    monkeypatch.setattr(schema, "STEPS", {NOW: step})
    with pytest.raises(LogError, match=f"could not be brought from format {NOW} to {NEXT}: it does not fit") as caught:
        prepare_log(log)
    assert ".bak" in (caught.value.hint or "")
    assert query(log, "PRAGMA user_version") == [(NOW,)]
    assert query(log, "SELECT count(*) FROM event") == [(3,)]


async def test_a_log_is_not_migrated_under_a_run_that_writes_it(log: Path, request):
    lease = await acquire(log, RUN)
    request.getfixturevalue("next_format")
    assert f"run {RUN} is being written to it by pid {os.getpid()}" in refused(log).message
    await lease.release()
    prepare_log(log)
    assert query(log, "PRAGMA user_version") == [(NEXT,)]


def test_a_reader_that_comes_while_the_log_is_being_made_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()
    maker = threading.Timer(0.2, prepare_log, [path])
    maker.start()
    prepare_log(path, create=False)
    maker.join()


async def test_a_log_from_before_tasks_had_their_own_k_says_what_they_want(tmp_path: Path):
    path = tmp_path / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(k=2))
        writer.append(RunExtended(run_id=RUN, at=5.0, k=3, author="ann"))
    set_back(path, 2)
    for _ in range(2):
        async with aclosing(await LogReader.open(path)) as reader:
            assert [task.k for task in await reader.tasks(RUN)] == [3, 3]
            run = await reader.run(RUN)
            assert run is not None
            assert (run.n_planned, run.plan_seq) == (6, 2)
        await rebuild(path)
