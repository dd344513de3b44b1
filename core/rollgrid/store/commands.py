"""Wishes to a runner, carried by the log: who wants what of which run, and what the runner answered."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiosqlite

from rollgrid.errors import RunError
from rollgrid.store.codec import from_text, storable, to_text
from rollgrid.store.connection import BOOLEAN, short_read, short_write
from rollgrid.store.rows import CommandRow

SELECT = (
    f'SELECT command_id, run_id, at, author, command, args, accepted AS "accepted [{BOOLEAN}]", answer FROM command'
)

_LOOK_SECONDS = 0.05


def command_row(row: Any) -> CommandRow:
    return CommandRow._make([*row[:5], from_text(row[5]), *row[6:]])


async def post_command(path: Path, run_id: str, command: str, args: Mapping[str, Any], author: str) -> int:
    """Leave a command for the runner of `run_id` and give its id. `RunError` when the log has no such run."""
    async with short_write(path) as connection:
        if not await connection.execute_fetchall("SELECT 1 FROM run WHERE run_id = ?", (run_id,)):
            raise RunError(f"there is no run {run_id}", hint="`rollgrid runs` lists them")
        cursor = await connection.execute(
            "INSERT INTO command (run_id, at, author, command, args) VALUES (?, ?, ?, ?, ?)",
            (run_id, time.time(), storable(author), command, to_text(dict(args))),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid


async def last_command(path: Path, run_id: str) -> int:
    """The id of the newest command to the run, 0 where there is none."""
    async with short_read(path) as connection:
        statement = "SELECT coalesce(max(command_id), 0) FROM command WHERE run_id = ?"
        return next(iter(await connection.execute_fetchall(statement, (run_id,))))[0]


async def pending_commands(source: aiosqlite.Connection | Path, run_id: str, after_id: int = 0) -> list[CommandRow]:
    """Commands with a higher id than `after_id` that were not answered yet, oldest first.

    Given a path it opens a connection for the one question; a runner that asks often has `LogWriter.pending_commands`.
    """
    if isinstance(source, aiosqlite.Connection):
        return await _pending(source, run_id, after_id)
    async with short_read(source) as connection:
        return await _pending(connection, run_id, after_id)


async def _pending(connection: aiosqlite.Connection, run_id: str, after_id: int) -> list[CommandRow]:
    where = "WHERE run_id = ? AND command_id > ? AND accepted IS NULL ORDER BY command_id"
    return [command_row(row) for row in await connection.execute_fetchall(f"{SELECT} {where}", (run_id, after_id))]


async def wait_for_answer(path: Path, command_id: int, timeout: float) -> CommandRow | None:
    """The command with its answer, None when there is none after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    async with short_read(path) as connection:
        while True:
            rows = await connection.execute_fetchall(f"{SELECT} WHERE command_id = ?", (command_id,))
            for row in rows:
                found = command_row(row)
                if found.accepted is not None:
                    return found
            if time.monotonic() >= deadline:
                return None
            await asyncio.sleep(_LOOK_SECONDS)
