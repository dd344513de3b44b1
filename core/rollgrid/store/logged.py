"""One run of the log as results need it: counts at once, attempts a task at a time, transcripts one by one."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from rollgrid.errors import LogError
from rollgrid.store.codec import decode, from_text
from rollgrid.store.connection import connect
from rollgrid.store.files import Identity, identity

# An attempt counts by its newest take that was not superseded and has ended. SQLite gives the columns of the row that
# has the maximum, and the primary key has the rows in this very order.
_CURRENT = "FROM attempt WHERE run_id = ? AND superseded IS NULL AND ended_seq <= ?"
_SCORED = "passed IS NOT NULL AND value IS NOT NULL"

_COUNTS = f"""
SELECT task, count(*), sum({_SCORED}), sum({_SCORED} AND passed)
FROM (SELECT task, passed, value, max(take) {_CURRENT} GROUP BY task, attempt) GROUP BY task
"""
# Where no take was superseded, each attempt has one; then there is nothing to group them by.
_COUNTS_OF_SINGLE_TAKES = f"SELECT task, count(*), sum({_SCORED}), sum({_SCORED} AND passed) {_CURRENT} GROUP BY task"
_VALUES = f"SELECT task, passed, value, max(take) {_CURRENT} GROUP BY task, attempt"
_ENDED = f"""
SELECT attempt, max(take), stop_reason, passed, value, reason, error, error_type, status, duration_seconds,
input_tokens, output_tokens, cost {_CURRENT} AND task = ? GROUP BY attempt
"""
# The newest take of each attempt that was not superseded, or the newest of all.
_OVERVIEW = f"""
SELECT task, sum(counts AND scored), sum(counts AND scored AND passed), sum(counts AND NOT scored), sum(tokens),
group_concat(attempt || CASE
  WHEN is_superseded THEN 's' WHEN phase <> 'ended' THEN '>'
  WHEN NOT scored THEN CASE stop_reason WHEN 'timeout' THEN 'T' WHEN 'cancelled' THEN 'C' ELSE 'E' END
  WHEN passed THEN 'P' WHEN value > 0 THEN '~' ELSE 'F' END, ' ')
FROM (
  SELECT task, attempt, phase, stop_reason, passed, value, value IS NOT NULL AS scored,
  superseded IS NOT NULL AS is_superseded, superseded IS NULL AND phase = 'ended' AS counts,
  input_tokens + output_tokens AS tokens, max((superseded IS NULL) * {1 << 32} + take)
  FROM attempt WHERE run_id = ? GROUP BY task, attempt
) GROUP BY task
"""
_TASKS = """
SELECT task.id, task.metadata, task_body.data FROM task JOIN run ON run.run_id = task.run_id
JOIN task_body ON task_body.seq = run.created_seq AND task_body.task = task.task
WHERE task.run_id = ? ORDER BY task.task
"""
TRANSCRIPT = """
SELECT body.data, event.data FROM attempt
JOIN event ON event.seq = attempt.ended_seq LEFT JOIN body ON body.seq = attempt.ended_seq
WHERE attempt.run_id = ? AND attempt.task = ? AND attempt.attempt = ? AND attempt.take = ?
"""


_ALL = 2**63 - 1


class Counts(NamedTuple):
    """Attempts of a task that have ended, those with a score among them, and those that passed."""

    n_attempts: int = 0
    n_scored: int = 0
    n_passed: int = 0


class EndedRow(NamedTuple):
    """The take of an attempt that counts."""

    attempt: int
    take: int
    stop_reason: str
    passed: int | None
    value: float | None
    reason: str | None
    error: str | None
    error_type: str | None
    status: int | None
    duration_seconds: float | None
    input_tokens: int
    output_tokens: int
    cost: float | None


class Overview(NamedTuple):
    """A task at a glance. `marks` has one character for each attempt that was started: P passed, F failed, ~ partly,
    E error, T timeout, C cancelled, > running, s superseded.
    """

    n_scored: int = 0
    n_passed: int = 0
    n_unscored: int = 0
    tokens: int = 0
    marks: Mapping[int, str] = MappingProxyType({})


class StoredTask(NamedTuple):
    id: str
    metadata: dict[str, Any]
    input: str
    expected: Any


class LoggedRun:
    """Reads one run of the log, for code without an event loop and from any thread; every call may block.

    The connection is opened when it is needed and kept, and closed when nobody holds this object any more. No
    transaction stays open between two calls. Of a run that goes on, takes are left out that ended after the event
    `until`. `LogError` when the log is no longer where it was.
    """

    def __init__(self, path: Path, run_id: str, until: int = _ALL) -> None:
        self.path = path
        self.run_id = run_id
        self._until = until
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._close: weakref.finalize[[], Self] | None = None
        self._opened: tuple[int, Identity] | None = None
        self._values: dict[int, list[float]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return LoggedRun, (self.path, self.run_id, self._until)

    def tasks(self) -> list[StoredTask]:
        """The tasks in their order, with their texts."""
        return list(map(_task, self._all(_TASKS)))

    def counts(self, *, single_takes: bool = False) -> dict[int, Counts]:
        """By position of the task; tasks without an attempt that has ended are absent.

        `single_takes`: no take of the run was superseded, which makes this four times as quick.
        """
        statement = _COUNTS_OF_SINGLE_TAKES if single_takes else _COUNTS
        return {task: Counts(*counts) for task, *counts in self._all(statement, self._until)}

    def overview(self) -> dict[int, Overview]:
        """By position of the task; tasks without an attempt are absent. Takes that are under way are in it."""
        return {
            task: Overview(scored, passed, unscored, tokens, {int(one[:-1]): one[-1] for one in marks.split()})
            for task, scored, passed, unscored, tokens, marks in self._all(_OVERVIEW)
        }

    def values(self, task: int) -> list[float]:
        """The score values of a task in attempt order. The first call reads those of all tasks."""
        if self._values is None:
            found: dict[int, list[float]] = {}
            for index, passed, value, _ in self._all(_VALUES, self._until):
                if passed is not None and value is not None:
                    found.setdefault(index, []).append(value)
            self._values = found
        return self._values.get(task, [])

    def ended(self, task: int) -> list[EndedRow]:
        """The attempts of a task that count, in their order, without transcripts."""
        return list(map(EndedRow._make, self._all(_ENDED, self._until, task)))

    def transcript(self, task: int, attempt: int, take: int) -> dict[str, Any] | None:
        """What a take left behind: the stored run output plus `score` (value, passed, reason, detail; None: unscored).

        None while the take has not ended, or when the log does not hold it.
        """
        rows = self._all(TRANSCRIPT, task, attempt, take)
        return transcript_of(*rows[0]) if rows else None

    def close(self) -> None:
        """Close the connection now. A later call opens one again."""
        with self._lock:
            self._drop()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _all(self, statement: str, *arguments: Any) -> list[Any]:
        with self._lock:
            try:
                return self._connected().execute(statement, (self.run_id, *arguments)).fetchall()
            except sqlite3.Error as error:
                self._drop()
                raise LogError(f"the log {self.path} cannot be read: {error}", self._hint()) from error

    def _connected(self) -> sqlite3.Connection:
        # A connection must not be used on the other side of a fork, nor when another file has taken the log's place.
        now = (os.getpid(), identity(self.path))
        if self._connection is not None and self._opened == now:
            return self._connection
        self._drop()
        if now[1] is None:
            raise LogError(f"the log {self.path} cannot be read: it is not there any more", self._hint())
        self._connection = connect(self.path, "ro", any_thread=True)
        self._opened = now
        self._close = weakref.finalize(self, self._connection.close)
        return self._connection

    def _drop(self) -> None:
        close, self._close, self._connection = self._close, None, None
        if close is not None and self._opened is not None and self._opened[0] == os.getpid():
            close()
        elif close is not None:
            close.detach()

    def _hint(self) -> str:
        return f"put it back, or read the run where it is now: EnvironmentRunResult.from_log(PATH, {self.run_id!r})"


def transcript_of(body: bytes | None, event: str) -> dict[str, Any]:
    """The transcript out of a body and the `attempt_ended` event that it belongs to."""
    ended = from_text(event)
    result: dict[str, Any] = decode(body) if body is not None else {}
    scored = ended["passed"] is not None
    result["score"] = {name: ended[name] for name in ("value", "passed", "reason", "detail")} if scored else None
    return result


def _task(row: Any) -> StoredTask:
    task_id, metadata, body = row
    text = decode(body)
    return StoredTask(task_id, from_text(metadata), text["input"], text["expected"])
