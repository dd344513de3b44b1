"""Loading the derived rows that some events touch, for whoever is about to write these events."""

import aiosqlite

from rollgrid.store import tables
from rollgrid.store.entry import Entry
from rollgrid.store.projection import touched
from rollgrid.store.review_fold import undone
from rollgrid.store.states import AttemptState, Key, ReviewState, RunState


async def load(
    connection: aiosqlite.Connection, entries: list[Entry]
) -> tuple[dict[str, RunState], dict[Key, AttemptState], dict[int, ReviewState]]:
    """The rows as they are now, inside the caller's transaction; what `projection.fold` takes."""
    run_ids, keys = touched(entries)
    runs: dict[str, RunState] = {}
    attempts: dict[Key, AttemptState] = {}
    reviews: dict[int, ReviewState] = {}
    for row in await connection.execute_fetchall(tables.LOAD_RUNS, (tables.keys_argument(run_ids),)):
        runs[row[0]] = RunState(*row)
    if keys:
        for row in await connection.execute_fetchall(tables.LOAD_ATTEMPTS, (tables.keys_argument(keys),)):
            attempts[row[0], row[1], row[2], row[3]] = AttemptState(*row)
    if taken_back := undone(entries):
        for row in await connection.execute_fetchall(tables.LOAD_REVIEWS, (tables.keys_argument(taken_back),)):
            reviews[row[0]] = ReviewState(*row)
    return runs, attempts, reviews
