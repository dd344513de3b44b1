"""Writing a review into the log, from wherever the person is; a runner may be writing the same run meanwhile.

A review is an event like any other, so it goes through the same fold, in one short transaction of its own.
"""

import asyncio
import time
from pathlib import Path
from typing import Literal

import aiosqlite

from rollgrid.errors import RunError
from rollgrid.store import tables
from rollgrid.store.codec import from_text, is_exact, masked_text, storable
from rollgrid.store.connection import BOOLEAN, short_write
from rollgrid.store.entry import Entry
from rollgrid.store.events import AttemptEvent, Reviewed, ReviewUndone
from rollgrid.store.loading import load
from rollgrid.store.opening import prepare_log
from rollgrid.store.projection import bindable, fold
from rollgrid.store.rows import ReviewRow

LABEL_CHARACTERS = 200
NOTE_CHARACTERS = 20_000

Verdict = Literal["agree", "disagree"]

_TAKE = (
    f'SELECT passed AS "passed [{BOOLEAN}]" FROM attempt'
    " WHERE run_id = ? AND task = ? AND attempt = ? AND take = ? AND ended_seq IS NOT NULL"
)
_OWN = (
    f'SELECT seq, verdict, passed AS "passed [{BOOLEAN}]", label, note, blind AS "blind [{BOOLEAN}]" FROM review'
    " WHERE run_id = ? AND task = ? AND attempt = ? AND take = ? AND author = ? AND undone IS NULL"
    " ORDER BY seq DESC LIMIT 1"
)

Place = tuple[str, int, int, int]
"""Run, task, attempt and take."""


async def post_review(
    path: Path,
    place: Place,
    author: str,
    *,
    verdict: Verdict | None = None,
    passed: bool | None = None,
    label: str | None = None,
    note: str | None = None,
    blind: bool = False,
) -> ReviewRow:
    """Keep what a person says of a take, and give the review as the log has it.

    Give `verdict` (on the score that the take has) or `passed` (what it deserves), and the other follows. What is None
    stays as in the author's review before; an empty label or note takes it away. `RunError` for a take that has not
    ended, for a verdict on one without a score, for text that is too long, and when nothing is said.
    """
    _refuse_long("label", label, LABEL_CHARACTERS)
    _refuse_long("note", note, NOTE_CHARACTERS)
    if verdict is None and passed is None and label is None and note is None:
        raise RunError("the review says nothing", hint="agree or disagree, or give a label or a note")
    if not author.strip():
        raise RunError("a review needs an author", hint="give a name, or set ROLLGRID_AUTHOR")
    run_id, task, attempt, take = place
    author = storable(author)
    await asyncio.to_thread(prepare_log, path, create=False)
    async with short_write(path) as connection:
        scored = await _score(connection, place)
        if verdict is not None:
            if scored is None:
                raise RunError(
                    f"attempt {attempt} has no score to agree or disagree with",
                    hint="say what it deserves (--pass or --fail), or give a label or a note",
                )
            passed = scored if verdict == "agree" else not scored
        elif passed is not None and scored is not None:
            verdict = "agree" if passed == scored else "disagree"
        own = await _own(connection, place, author)
        if passed is None and own is not None:
            _, verdict, passed, _, _, blind = own
        event = Reviewed(
            run_id=run_id,
            at=time.time(),
            task=task,
            attempt=attempt,
            take=take,
            verdict=verdict,
            passed=passed,
            label=_kept(label, own[3] if own else None),
            note=_kept(note, own[4] if own else None),
            blind=blind,
            author=author,
        )
        return await _append(connection, event)


async def undo_review(path: Path, place: Place, author: str) -> ReviewRow:
    """Take back the author's newest review of a take, and give it. `RunError` when there is none."""
    run_id, task, attempt, take = place
    author = storable(author)
    await asyncio.to_thread(prepare_log, path, create=False)
    async with short_write(path) as connection:
        await _score(connection, place)
        own = await _own(connection, place, author)
        if own is None:
            raise RunError(
                f"{author} has no review of attempt {attempt} to take back",
                hint="`rollgrid export reviews RUN` lists who reviewed what",
            )
        event = ReviewUndone(
            run_id=run_id,
            at=time.time(),
            task=task,
            attempt=attempt,
            take=take,
            review=own[0],
            author=author,
        )
        return await _append(connection, event)


def _refuse_long(what: str, text: str | None, most: int) -> None:
    if text is not None and len(text) > most:
        raise RunError(f"the {what} has {len(text)} characters, more than {most}", hint="shorten it")


def _kept(given: str | None, before: str | None) -> str | None:
    return before if given is None else given or None


async def _score(connection: aiosqlite.Connection, place: Place) -> bool | None:
    """Whether the take passed, None without a score. `RunError` for a run or a take that has nothing to review."""
    for row in await connection.execute_fetchall(_TAKE, place):
        return row[0]
    if not await connection.execute_fetchall("SELECT 1 FROM run WHERE run_id = ?", place[:1]):
        raise RunError(f"there is no run {place[0]}", hint="`rollgrid runs` lists them")
    raise RunError(f"attempt {place[2]} has not ended, so there is nothing to review", hint="wait until it has")


async def _own(
    connection: aiosqlite.Connection, place: Place, author: str
) -> tuple[int, Verdict | None, bool | None, str | None, str | None, bool] | None:
    for row in await connection.execute_fetchall(_OWN, (*place, author)):
        return row[0], row[1], row[2], row[3], row[4], row[5]
    return None


async def _append(connection: aiosqlite.Connection, event: AttemptEvent) -> ReviewRow:
    """Event and row, as the writer of a runner would put them there."""
    data = vars(event)
    text, masked = masked_text(data, finite=True)
    if masked or is_exact(text):
        data = bindable(from_text(text))
    seq = 1
    for (last,) in await connection.execute_fetchall(tables.LAST_SEQ):
        seq = last + 1
    entry = Entry(seq, data["kind"], event.run_id, event.at, data)
    changes = fold([entry], *await load(connection, [entry]))
    row = (seq, event.run_id, event.at, entry.kind, event.task, event.attempt, event.take, text)
    await connection.execute(tables.INSERT_EVENT, row)
    for statement, rows in tables.writes(changes):
        await connection.executemany(statement, rows)
    (made,) = changes.reviews
    fields = {name: getattr(made, name) for name in ReviewRow._fields}
    fields["passed"] = None if made.passed is None else bool(made.passed)
    fields["blind"] = bool(made.blind)
    return ReviewRow(**fields)
