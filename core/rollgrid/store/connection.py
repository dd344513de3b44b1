"""Connections to the log."""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import quote

import aiosqlite

from rollgrid.errors import LogError
from rollgrid.store import files

BUSY_SECONDS = 5.0
"""How long a statement waits for another process's lock."""

BOOLEAN = "rollgrid_boolean"
"""Name of the column converter that makes Python booleans of 0 and 1: `SELECT x AS "x [rollgrid_boolean]"`."""

sqlite3.register_converter(BOOLEAN, b"1".__eq__)


def connect_uri(path: Path, mode: str) -> str:
    """The URI for `sqlite3.connect(..., uri=True)`. `mode`: `rw` or `ro`.

    A log in a folder where nothing can be written (an archive, say) has no room for WAL's shared memory. When no
    writer can be at it either, it is read as the unchanging file that it is.
    """
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    if mode == "ro" and not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists():
        uri += "&immutable=1"
    return uri


class TornLogError(sqlite3.OperationalError):
    """The log is open somewhere and its companions are gone; whoever opened it now would make a second log of it."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY

    def __init__(self) -> None:
        super().__init__("its -wal or -shm file was deleted while a run was writing it, which will put that right")


def connect(path: Path, mode: str, *, any_thread: bool = False) -> sqlite3.Connection:
    """A plain connection in autocommit mode, for work off the event loop.

    `any_thread`: more than one thread uses it, and whoever does sees to it that they do so one at a time.
    """
    if files.wait_while_torn(path):
        raise TornLogError
    return sqlite3.connect(
        connect_uri(path, mode),
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
        detect_types=sqlite3.PARSE_COLNAMES,
        check_same_thread=not any_thread,
    )


async def connect_async(path: Path, mode: str, *, torn_too: bool = False) -> aiosqlite.Connection:
    """A connection in autocommit mode that the caller closes. `mode`: `rw` or `ro`.

    A log that somebody has open and whose companions are gone is refused, unless `torn_too`.
    """
    if not torn_too and await files.is_torn(path):
        raise TornLogError
    opening = asyncio.ensure_future(_open(path, mode))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        # aiosqlite drops a connection that is still being made; nothing would close it.
        await (await opening).close()
        raise


async def _open(path: Path, mode: str) -> aiosqlite.Connection:
    connection = await aiosqlite.connect(
        connect_uri(path, mode),
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
        detect_types=sqlite3.PARSE_COLNAMES,
    )
    if mode == "rw":
        try:
            await connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            await connection.close()
            raise
    return connection


@contextlib.asynccontextmanager
async def short_write(path: Path) -> AsyncGenerator[aiosqlite.Connection]:
    """One write transaction on a connection of its own. `LogError` when the log cannot be written."""
    try:
        connection = await connect_async(path, "rw")
        try:
            await connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                await connection.rollback()
                raise
            await connection.commit()
        finally:
            await connection.close()
    except sqlite3.Error as error:
        raise LogError(f"the log {path} cannot be written: {error}") from error


@contextlib.asynccontextmanager
async def short_read(path: Path) -> AsyncGenerator[aiosqlite.Connection]:
    """A connection of its own for a few reads. `LogError` when the log cannot be read."""
    try:
        connection = await connect_async(path, "ro")
        try:
            yield connection
        finally:
            await connection.close()
    except sqlite3.Error as error:
        raise LogError(f"the log {path} cannot be read: {error}") from error
