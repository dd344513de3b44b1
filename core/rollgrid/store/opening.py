"""Opening the log: make it, check that it is one, bring it up to date; or refuse in one line and leave it as it was."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path

from rollgrid.errors import LogError
from rollgrid.store import schema
from rollgrid.store.connection import BUSY_SECONDS, connect
from rollgrid.store.filesystems import network_file_system
from rollgrid.store.lease import live_leases
from rollgrid.store.paths import FOLDER

_OTHER = "name another one with --log or ROLLGRID_LOG"


MAKING_SECONDS = 1.0
"""How long a reader waits for the tables of an empty log."""


def prepare_log(path: Path | str, *, create: bool = True) -> Path:
    """Make sure that `path` is a log of the current format; gives it absolute. Blocks; call it off the event loop.

    A missing or empty file becomes a new log when `create` is true. An older log is backed up beside itself and
    migrated. `LogError` for anything else: no log, a newer log, a network file system, no permission, a full disk.
    """
    path = Path(path).absolute()
    try:
        _prepare(path, create)
    except sqlite3.Error as error:
        raise LogError(f"the log {path} cannot be opened: {error}", hint=_OTHER) from error
    except OSError as error:
        raise LogError(f"the log {path} cannot be opened: {error.strerror or error}", hint=_OTHER) from error
    return path


def _prepare(path: Path, create: bool) -> None:
    kind = network_file_system(path)
    if kind is not None:
        raise LogError(
            f"the log {path} would be on a network file system ({kind}), where it cannot be kept whole",
            hint="name a path on a local disk with --log or ROLLGRID_LOG",
        )
    if path.is_dir():
        raise LogError(f"the log {path} is a folder", hint="name a file")
    if not path.exists():
        if not create:
            raise LogError(f"there is no log at {path}", hint="a first `rollgrid run` makes one")
        _make_file(path)
    version = _version_of(path)
    if version is None and not create:
        version = _version_once_made(path)
    if version is None:
        if not create:
            raise LogError(f"the log {path} is empty", hint="a first `rollgrid run` fills it")
        _make_tables(path)
    elif version > schema.VERSION:
        raise LogError(
            f"the log {path} was written by a newer rollgrid (log format {version}, this one reads {schema.VERSION})",
            hint=f"upgrade rollgrid, or {_OTHER}",
        )
    elif version < schema.VERSION:
        _migrate(path, version)


def _make_file(path: Path) -> None:
    """An empty file that only its owner can read, in a folder made the same way. What exists keeps its modes."""
    make_folder(path.parent)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def make_folder(folder: Path) -> None:
    """The folder and those above it, for their owner only. What exists stays as it is."""
    if folder.exists():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.name == FOLDER:
        # The log holds prompts and answers; it should not slip into a commit of the project around it.
        ignore = os.open(folder / ".gitignore", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(ignore, "w", encoding="ascii") as file:
            file.write("*\n")


def _version_once_made(path: Path) -> int | None:
    """As `_version_of`; waits a moment, since a reader may come just when a first run is making the log's tables."""
    deadline = time.monotonic() + MAKING_SECONDS
    while (version := _version_of(path)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return version


def _version_of(path: Path) -> int | None:
    """The format of the log at `path`, None for an empty file. Changes nothing."""
    try:
        with contextlib.closing(connect(path, "ro")) as connection:
            # One snapshot for all three: another process may be making the tables at this moment.
            connection.execute("BEGIN")
            application = _pragma(connection, "application_id")
            version = _pragma(connection, "user_version")
            empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        raise LogError(f"{path} is not a rollgrid log", hint=_OTHER) from error
    if application == schema.APPLICATION_ID:
        return version
    if application == 0 and version == 0 and empty:
        return None
    raise LogError(f"{path} is not a rollgrid log", hint=_OTHER)


def _make_tables(path: Path) -> None:
    path.chmod(0o600)
    with contextlib.closing(connect(path, "rw")) as connection:
        switch_to_wal(connection)
        with _write_lock(connection):
            # Two processes may make one log at once; the second finds it made.
            if _pragma(connection, "application_id") == schema.APPLICATION_ID:
                return
            for statement in schema.statements():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Changing the journal mode does not wait for locks as other statements do, so wait here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            mode = "busy"
        if mode == "wal":
            return
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError(f"the file system does not allow write-ahead logging (got {mode})")
        time.sleep(0.02)


@contextlib.contextmanager
def _write_lock(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _migrate(path: Path, version: int) -> None:
    missing = [number for number in range(version, schema.VERSION) if number not in schema.STEPS]
    if missing:
        raise LogError(f"the log {path} has format {version}, which this rollgrid no longer reads", hint=_OTHER)
    with contextlib.closing(connect(path, "rw")) as connection, _write_lock(connection):
        # Another process may have migrated it while this one waited for the lock.
        version = _pragma(connection, "user_version")
        if version >= schema.VERSION:
            return
        holders = live_leases(connection)
        if holders:
            run = holders[0]
            raise LogError(
                f"the log {path} has an older format and run {run.run_id} is being written to it by pid {run.pid}",
                hint="open it again when that run has ended",
            )
        backup = _back_up(path, version)
        try:
            for number in range(version, schema.VERSION):
                schema.STEPS[number](connection)
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        except Exception as error:
            raise LogError(
                f"the log {path} could not be brought from format {version} to {schema.VERSION}: {error}",
                hint=f"it is unchanged, and a copy is in {backup}",
            ) from error


def _back_up(path: Path, version: int) -> Path:
    """A whole copy beside the log. The caller holds the write lock, so nothing changes meanwhile."""
    target = path.with_name(f"{path.name}.format{version}.bak")
    number = 1
    while True:
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
            break
        except FileExistsError:
            number += 1
            target = path.with_name(f"{path.name}.format{version}.bak{number}")
    try:
        with contextlib.closing(connect(path, "ro")) as source, contextlib.closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except BaseException:
        target.unlink()
        raise
    return target


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
