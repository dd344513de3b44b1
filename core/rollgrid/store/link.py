"""The writer's connection to the log, and what is done when somebody takes the files away from under it."""

import asyncio
import contextlib
import os
import secrets
import sqlite3
from pathlib import Path
from typing import Any, Self

import aiosqlite

from rollgrid.store import schema
from rollgrid.store.connection import connect, connect_async, connect_uri
from rollgrid.store.files import COMPANION, REMOVED, REPLACED, TRUNCATED, LogFiles
from rollgrid.store.opening import make_folder, switch_to_wal

WAL_BYTES = 64 * 1024 * 1024
_LAST_EVENT = "SELECT seq, run_id, data FROM event ORDER BY seq DESC LIMIT 1"


class FilesChanged(sqlite3.OperationalError):
    """The files of the log are not the ones that were opened. `what` is one of the words of `files`."""

    def __init__(self, what: str) -> None:
        super().__init__(f"it {what} while it was being written")
        self.what = what


class Link:
    """An open connection for writing. `connection` may be another one after `mend`."""

    def __init__(self, path: Path, connection: aiosqlite.Connection) -> None:
        self.path = path
        self.connection = connection
        self._is_open = True
        self._files = LogFiles(path)

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Raises `sqlite3.Error` when the log cannot be written."""
        return cls(path, await _connect(path))

    async def ensure(self) -> None:
        """Connect again when that did not go well the last time."""
        if not self._is_open:
            self.connection = await _connect(self.path)
            self._is_open = True
            await asyncio.to_thread(self._files.take)

    async def check(self) -> None:
        """Raise `FilesChanged` when what is written now would go astray. Call it inside a write transaction."""
        what = await asyncio.to_thread(self._files.trouble)
        if what == TRUNCATED and await self._was_shortened_by_sqlite():
            what = None
        if what is not None:
            raise FilesChanged(what)

    async def mend(self, what: str) -> tuple[str | None, str]:
        """Put right what `check` found; says in a few words what was done, or None and why it cannot be done now.

        All that was committed is still there for this connection, in files that have no name any more.
        """
        try:
            return await self._mend(what), ""
        except (sqlite3.Error, OSError) as error:
            return None, f" ({error})"

    async def _mend(self, what: str) -> str | None:
        if what == REMOVED:
            return await self._write_anew()
        if what == REPLACED:
            return await self._follow()
        if what == COMPANION:
            return await self._gather()
        return None

    async def close(self) -> None:
        await self.connection.close()

    async def _was_shortened_by_sqlite(self) -> bool:
        pages = await self._value("PRAGMA page_count") * await self._value("PRAGMA page_size")
        return await asyncio.to_thread(self._files.accept_size, pages)

    async def _write_anew(self) -> str | None:
        """A copy of the log goes where it was."""
        beside = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.tmp")
        await asyncio.to_thread(_empty_file, beside)
        try:
            await self.connection.execute("VACUUM INTO ?", (str(beside),))
            # Under the lock of the removed log, which keeps others who wrote it from doing the same at the same time.
            await self.connection.execute("BEGIN IMMEDIATE")
            try:
                last = await self._last_event()
                placed = await asyncio.to_thread(_put_in_place, beside, self.path, last)
            finally:
                await self.connection.rollback()
        finally:
            with contextlib.suppress(FileNotFoundError):
                await asyncio.to_thread(os.unlink, beside)
        if not placed:
            return None
        await self._reopen()
        return "it was removed while it was being written, and has been written anew"

    async def _follow(self) -> str | None:
        """Go over to the other file when that is a copy of the log with everything in it that was written here."""
        if not await asyncio.to_thread(_holds, self.path, await self._last_event()):
            return None
        await self._empty_wal()
        await asyncio.to_thread(self._files.drop_companions)
        await self._reopen()
        return "a copy has taken its place while it was being written, and is written from now on"

    async def _gather(self) -> str:
        """Everything goes into the log itself, so that the write-ahead file can begin anew.

        Where another writer has done so already, only its file is right, and this one must not touch the log.
        """
        if not await asyncio.to_thread(self._files.is_mended):
            await self._empty_wal()
        await self._reopen()
        return f"it {COMPANION} while it was being written; nothing is missing"

    async def _reopen(self) -> None:
        self._is_open = False
        await self.connection.close()
        await self.ensure()

    async def _empty_wal(self) -> None:
        rows = list(await self.connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)"))
        if rows[0][0]:
            raise sqlite3.OperationalError("it is being read")

    async def _last_event(self) -> tuple[Any, ...] | None:
        for row in await self.connection.execute_fetchall(_LAST_EVENT):
            return tuple(row)
        return None

    async def _value(self, statement: str) -> int:
        for row in await self.connection.execute_fetchall(statement):
            return int(row[0])
        raise sqlite3.DatabaseError("it is damaged")


async def _connect(path: Path) -> aiosqlite.Connection:
    # Not through the door that refuses a log whose companions are gone: to mend that is what the writer is here for.
    connection = await connect_async(path, "rw", torn_too=True)
    try:
        # A slow reader can make the WAL file long; once it is done, the file shrinks back to this.
        await connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        # A lock taken once shows now, rather than in the middle of a run, whether the log can be written. A file that
        # may only be read gives the lock all the same; it is the first write that it refuses.
        await connection.execute("BEGIN IMMEDIATE")
        await connection.execute("DELETE FROM live WHERE run_id IS NULL")
        await connection.rollback()
    except BaseException:
        await connection.close()
        raise
    return connection


def _empty_file(path: Path) -> None:
    make_folder(path.parent)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _put_in_place(copy: Path, path: Path, last: tuple[Any, ...] | None) -> bool:
    """Make a copy of the log the log. False when it is not the newest, or there is a log already."""
    if path.exists() or not _holds(copy, last):
        return False
    with contextlib.closing(connect(copy, "rw")) as connection:
        switch_to_wal(connection)
    descriptor = os.open(copy, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # What is left of the removed log would be taken for the newest part of this one. The copy has all of it.
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    try:
        os.link(copy, path)
    except FileExistsError:
        return False
    return True


def _holds(path: Path, event: tuple[Any, ...] | None) -> bool:
    """Whether the file is a log of this format that has the event. No event proves nothing."""
    if event is None:
        return False
    try:
        # The file alone: the companions that lie beside it may be those of the log that was there before.
        uri = connect_uri(path, "ro").partition("?")[0] + "?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            (mark,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            rows = connection.execute("SELECT seq, run_id, data FROM event WHERE seq = ?", (event[0],)).fetchall()
    except sqlite3.DatabaseError:
        return False
    return (mark, version) == (schema.APPLICATION_ID, schema.VERSION) and rows == [event]
