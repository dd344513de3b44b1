"""Making the derived tables anew from the events."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from rollgrid.errors import LogError
from rollgrid.store import tables
from rollgrid.store.codec import from_text, is_exact
from rollgrid.store.connection import connect
from rollgrid.store.entry import Entry
from rollgrid.store.opening import prepare_log
from rollgrid.store.projection import bindable, fold, touched
from rollgrid.store.review_fold import undone
from rollgrid.store.states import AttemptState, Key, ReviewState, RunState

_BATCH = 1000


async def rebuild(path: Path) -> int:
    """Throw the derived rows away and fold all events again, in one transaction. Gives the number of events.

    A runner that writes meanwhile waits, and finds the rows as it left them.
    """
    return await asyncio.to_thread(rebuild_blocking, path)


def rebuild_blocking(path: Path) -> int:
    prepare_log(path, create=False)
    try:
        with contextlib.closing(connect(path, "rw")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                count = refold(connection)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
    except sqlite3.Error as error:
        raise LogError(f"the log {path} cannot be rebuilt: {error}", hint="it is as it was") from error
    return count


def refold(connection: sqlite3.Connection) -> int:
    """Fill the derived tables and the answers of `command` from `event`, in the caller's transaction."""
    for statement in (
        "DELETE FROM run",
        "DELETE FROM task",
        "DELETE FROM attempt",
        "DELETE FROM review",
        "DELETE FROM scoring",
        "DELETE FROM rescored",
        "UPDATE command SET accepted = NULL, answer = NULL",
    ):
        connection.execute(statement)
    count = 0
    last = 0
    while True:
        rows = connection.execute(
            "SELECT seq, kind, run_id, at, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?", (last, _BATCH)
        ).fetchall()
        if not rows:
            return count
        entries = [Entry(seq, kind, run_id, at, _data(text)) for seq, kind, run_id, at, text in rows]
        changes = fold(entries, *_load(connection, entries))
        for statement, values in tables.writes(changes):
            connection.executemany(statement, values)
        last = entries[-1].seq
        count += len(entries)


def _data(text: str) -> dict[str, Any]:
    data: dict[str, Any] = from_text(text)
    return bindable(data) if is_exact(text) else data


def _load(
    connection: sqlite3.Connection, entries: list[Entry]
) -> tuple[dict[str, RunState], dict[Key, AttemptState], dict[int, ReviewState]]:
    run_ids, keys = touched(entries)
    runs = {row[0]: RunState(*row) for row in connection.execute(tables.LOAD_RUNS, (tables.keys_argument(run_ids),))}
    attempts: dict[Key, AttemptState] = {
        (row[0], row[1], row[2], row[3]): AttemptState(*row)
        for row in connection.execute(tables.LOAD_ATTEMPTS, (tables.keys_argument(keys),))
    }
    taken_back = tables.keys_argument(undone(entries))
    reviews = {row[0]: ReviewState(*row) for row in connection.execute(tables.LOAD_REVIEWS, (taken_back,))}
    return runs, attempts, reviews
