"""Reading the log, while others write it. Lists come from the derived rows; a body is loaded only when asked for."""

import asyncio
import sqlite3
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self

import aiosqlite

from rollgrid.errors import LogError, RunError
from rollgrid.store import lease
from rollgrid.store.codec import decode, from_text, to_text
from rollgrid.store.commands import SELECT as SELECT_COMMANDS
from rollgrid.store.commands import command_row
from rollgrid.store.connection import BOOLEAN, connect_async
from rollgrid.store.files import LogFiles
from rollgrid.store.lease import LeaseRow
from rollgrid.store.logged import TRANSCRIPT, transcript_of
from rollgrid.store.opening import prepare_log
from rollgrid.store.overview import Overview, read_overview
from rollgrid.store.rows import AttemptRow, CommandRow, EventRow, ReviewRow, RunRow, Settled, TaskRow
from rollgrid.store.scorings import (
    SELECT_NAMES,
    SELECT_RESCORED,
    SELECT_SCORINGS,
    RescoredRow,
    ScoringName,
    ScoringRow,
    rescored_row,
    scoring_row,
)

LAST = "last"
"""What `resolve` takes for the newest run."""

_RUN = tuple(name for name in RunRow._fields if name != "alive")
_ALIVE = RunRow._fields.index("alive")
_PARTS = RunRow._fields.index("fingerprint_parts")
_SOURCE = RunRow._fields.index("source")
_LEASE = lease.COLUMNS.split(", ")
_SELECT_RUNS = (
    f"SELECT {', '.join('run.' + name for name in _RUN)}, {', '.join('lease.' + name for name in _LEASE)} "
    "FROM run LEFT JOIN lease ON lease.run_id = run.run_id"
)

_ATTEMPT = ", ".join(f'passed AS "passed [{BOOLEAN}]"' if name == "passed" else name for name in AttemptRow._fields)

# For all rows of a run a scan of the table and a sort are faster than a walk along the index of changes; the plus keeps
# the planner from that index.
_ALL_ATTEMPTS = f"SELECT {_ATTEMPT} FROM attempt WHERE run_id = ? ORDER BY +seq"
_NEW_ATTEMPTS = f"SELECT {_ATTEMPT} FROM attempt WHERE run_id = ? AND seq > ? ORDER BY seq"
_TASK_ATTEMPTS = f"SELECT {_ATTEMPT} FROM attempt WHERE run_id = ? AND task = ? AND +seq > ? ORDER BY +seq"

_REVIEW = ", ".join(
    f'{name} AS "{name} [{BOOLEAN}]"' if name in ("passed", "blind") else name for name in ReviewRow._fields
)
_REVIEWS = f"SELECT {_REVIEW} FROM review WHERE run_id = ? AND touched > ? ORDER BY touched"

_SCORED = "run_id = ? AND passed IS NOT NULL AND superseded IS NULL"
_EQUALLY_LONG = f"""
SELECT task, attempt, take, output_tokens FROM attempt WHERE {_SCORED} AND task IN (
  SELECT task FROM attempt WHERE {_SCORED} GROUP BY task
  HAVING count(*) >= ? AND min(output_tokens) = max(output_tokens)
    AND (min(output_tokens) = 0 OR min(output_tokens) >= ?)
) ORDER BY task, attempt
"""

_OF_ATTEMPTS = ("attempt_", "review")
"""How the names of those kinds of event begin that are about one attempt."""
_LEARNING = """
SELECT run_id, count(*) FROM (
  SELECT run_id, task FROM attempt
  WHERE run_id IN (SELECT value FROM json_each(?)) AND superseded IS NULL AND passed IS NOT NULL
  GROUP BY run_id, task HAVING min(passed) < max(passed)
) GROUP BY run_id
"""

LOOK_SECONDS = 1.0
"""How often a reader sees whether its files are still those of the log."""

_MANY = 4000
"""More rows than this are turned into tuples off the event loop."""


class LogReader:
    """A read-only view of the log, on a connection of its own that never holds a transaction open.

    Each call sees what was committed when it was made. Use from one event loop; close with `aclose`.
    """

    def __init__(self, path: Path, connection: aiosqlite.Connection) -> None:
        self.path = path
        self._connection = connection
        self._version: int | None = None
        self._files: LogFiles | None = None
        self._looked_at = 0.0

    @classmethod
    async def open(cls, path: Path | str) -> Self:
        """`LogError` when there is no log at `path` or it cannot be read. An older log is migrated first."""
        path = await asyncio.to_thread(prepare_log, path, create=False)
        try:
            return cls(path, await connect_async(path, "ro"))
        except sqlite3.Error as error:
            raise LogError(f"the log {path} cannot be read: {error}") from error

    async def aclose(self) -> None:
        await self._connection.close()

    async def changed(self) -> bool:
        """Whether anything was committed since the last call; the first call says True.

        A runner that dies commits nothing: `RunRow.alive` can change without a change of the log. `LogError` when the
        log's files are not the ones that were opened: then open it anew.
        """
        rows = await self._all("PRAGMA data_version")
        if time.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = time.monotonic()
            await self._look_at_the_files()
        version = int(rows[0][0])
        changed = version != self._version
        self._version = version
        return changed

    async def runs(self, limit: int = 200) -> list[RunRow]:
        """The newest runs, newest first."""
        now = time.time()
        rows = await self._all(f"{_SELECT_RUNS} ORDER BY run.created_seq DESC LIMIT ?", limit)
        return [_run_row(row, now) for row in rows]

    async def learning(self, run_ids: Collection[str]) -> dict[str, int]:
        """How many tasks of each run have passed attempts and failed ones. Goes through all attempts of these runs."""
        rows = await self._all(_LEARNING, to_text(list(run_ids))) if run_ids else []
        return dict.fromkeys(run_ids, 0) | {str(run_id): int(n) for run_id, n in rows}

    async def run(self, run_id: str) -> RunRow | None:
        rows = await self._all(f"{_SELECT_RUNS} WHERE run.run_id = ?", run_id)
        return _run_row(rows[0], time.time()) if rows else None

    async def resolve(self, text: str) -> str:
        """The run that a person means: an id, the beginning of one run's id, or `last`. `RunError` otherwise."""
        text = text.strip()
        if text == LAST:
            rows = await self._all("SELECT run_id FROM run ORDER BY created_seq DESC LIMIT 1")
            if not rows:
                raise RunError(f"the log {self.path} has no run yet", hint="`rollgrid run ENV` makes one")
            return str(rows[0][0])
        rows = await self._all(
            "SELECT run_id FROM run WHERE substr(run_id, 1, length(?)) = ? "
            "ORDER BY run_id = ? DESC, created_seq DESC LIMIT 4",
            *(text, text, text),
        )
        found = [str(row[0]) for row in rows]
        if not text or not found:
            raise RunError(f"there is no run {text!r} in {self.path}", hint="`rollgrid runs` lists them")
        if len(found) > 1 and found[0] != text:
            shown = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
            raise RunError(f"{text!r} may be any of the runs {shown}", hint="type more of its id")
        return found[0]

    async def tasks(self, run_id: str) -> list[TaskRow]:
        """The tasks in their order, without their texts."""
        rows = await self._all("SELECT task, id, metadata, k, settled FROM task WHERE run_id = ? ORDER BY task", run_id)
        return [
            TaskRow(index, task_id, from_text(metadata), k, None if settled is None else Settled(**from_text(settled)))
            for index, task_id, metadata, k, settled in rows
        ]

    async def task_text(self, run_id: str, task: int) -> tuple[str, Any]:
        """Input and expected value of a task. `RunError` when there is no such task."""
        rows = await self._all(
            "SELECT task_body.data FROM run JOIN task_body ON task_body.seq = run.created_seq"
            " WHERE run.run_id = ? AND task_body.task = ?",
            run_id,
            task,
        )
        if not rows:
            raise RunError(f"run {run_id} has no task at position {task}")
        text: dict[str, Any] = decode(rows[0][0])
        return text["input"], text["expected"]

    async def attempts(self, run_id: str, after_seq: int = 0, task: int | None = None) -> list[AttemptRow]:
        """Every take, of this task where given, that an event after `after_seq` touched, by the last event that did."""
        if task is not None:
            rows = await self._all(_TASK_ATTEMPTS, run_id, task, after_seq)
        elif after_seq <= 0:
            rows = await self._all(_ALL_ATTEMPTS, run_id)
        else:
            rows = await self._all(_NEW_ATTEMPTS, run_id, after_seq)
        if len(rows) > _MANY:
            return await asyncio.to_thread(_attempt_rows, rows)
        return _attempt_rows(rows)

    async def equally_long(self, run_id: str, fewest: int, tokens: int) -> list[tuple[int, int, int, int]]:
        """Task, attempt, take and output tokens of the scored takes that count, of tasks where all have as many tokens.

        Only tasks with `fewest` of them or more, and only `tokens` or more of these; or none told at all.
        """
        rows = await self._all(_EQUALLY_LONG, run_id, run_id, fewest, tokens)
        return [(task, attempt, take, n) for task, attempt, take, n in rows]

    async def reviews(self, run_id: str, after_seq: int = 0) -> list[ReviewRow]:
        """Every review of the run that an event after `after_seq` made or took back, in the order of these events."""
        return [ReviewRow._make(row) for row in await self._all(_REVIEWS, run_id, after_seq)]

    async def overview(self, run_id: str, *, lately: bool = False) -> Overview:
        """The run's attempts as sums, one row a task; with `lately` also when those of the last minute ended."""
        return await read_overview(self._all, run_id, lately=lately)

    async def events(
        self,
        run_id: str,
        after_seq: int = 0,
        kinds: Collection[str] | None = None,
        task: int | None = None,
        attempt: int | None = None,
        limit: int = 1000,
    ) -> list[EventRow]:
        """Events of a run in order, of these kinds and of this task (and attempt) where given."""
        where = ["seq > ?"]
        arguments: list[Any] = [after_seq]
        if task is None and kinds is not None and not any(kind.startswith(_OF_ATTEMPTS) for kind in kinds):
            # Events of the run itself are few among those of its attempts, and together in the index.
            where += ["run_id = ?", "task IS NULL", "attempt IS NULL"]
            arguments.append(run_id)
        elif task is None:
            # All events of a run lie between its first and its last, which are known; no index on them is needed.
            # Those of a run's reviews may come later.
            where += ["+run_id = ?", "seq >= (SELECT created_seq FROM run WHERE run_id = ?)"]
            where += [
                "seq <= max((SELECT seq FROM run WHERE run_id = ?),"
                " (SELECT coalesce(max(touched), 0) FROM review WHERE run_id = ?))"
            ]
            arguments += [run_id, run_id, run_id, run_id]
        else:
            where += ["run_id = ?", "task = ?"]
            arguments += [run_id, task]
        if attempt is not None:
            where.append("attempt = ?")
            arguments.append(attempt)
        if kinds is not None:
            where.append(f"kind IN ({', '.join('?' * len(kinds))})")
            arguments += kinds
        rows = await self._all(
            "SELECT seq, run_id, at, kind, task, attempt, take, data FROM event"
            f" WHERE {' AND '.join(where)} ORDER BY seq LIMIT ?",
            *arguments,
            limit,
        )
        return [EventRow._make([*row[:7], from_text(row[7])]) for row in rows]

    async def last_sign(self, run_id: str) -> float:
        """When a runner of this run last gave a sign of life: an event, or a heartbeat of a lease that still stands."""
        rows = await self._all(
            "SELECT max(coalesce((SELECT event.at FROM event WHERE event.seq = run.seq), 0),"
            " coalesce(lease.heartbeat_at, 0))"
            " FROM run LEFT JOIN lease ON lease.run_id = run.run_id WHERE run.run_id = ?",
            run_id,
        )
        return float(rows[0][0]) if rows else 0.0

    async def transcript(self, run_id: str, task: int, attempt: int, take: int) -> dict[str, Any] | None:
        """What a take left behind: the stored run output plus `score` (value, passed, reason, detail; None: unscored).

        None while the take has not ended.
        """
        rows = await self._all(TRANSCRIPT, run_id, task, attempt, take)
        return transcript_of(*rows[0]) if rows else None

    async def live(self, run_id: str, task: int, attempt: int, take: int) -> dict[str, Any] | None:
        """The newest snapshot of a take that runs (or ran when its runner died), None without one."""
        rows = await self._all(
            "SELECT data FROM live WHERE run_id = ? AND task = ? AND attempt = ? AND take = ?",
            run_id,
            task,
            attempt,
            take,
        )
        return decode(rows[0][0]) if rows else None

    async def scorings(self, run_id: str) -> list[ScoringRow]:
        """What scorers said of the run afterwards, oldest first, those that have not ended included."""
        return [scoring_row(row) for row in await self._all(SELECT_SCORINGS, run_id)]

    async def scoring_names(self, run_id: str) -> list[ScoringName]:
        """The scorings that count, by number."""
        return [ScoringName._make(row) for row in await self._all(SELECT_NAMES, run_id)]

    async def rescored(self, run_id: str, scoring: str) -> list[RescoredRow]:
        """The verdicts of one scoring."""
        return [rescored_row(row) for row in await self._all(SELECT_RESCORED, run_id, scoring)]

    async def commands(self, run_id: str) -> list[CommandRow]:
        """All commands that were given to a run, oldest first."""
        rows = await self._all(f"{SELECT_COMMANDS} WHERE run_id = ? ORDER BY command_id", run_id)
        return [command_row(row) for row in rows]

    async def _look_at_the_files(self) -> None:
        if self._files is None:
            # Only after a first query: that holds the files, and makes those that are missing.
            self._files = await asyncio.to_thread(LogFiles, self.path)
        what = await asyncio.to_thread(self._files.trouble)
        if what is not None:
            raise LogError(f"the log {self.path} {what} while it was being read")

    async def _all(self, statement: str, *arguments: Any) -> list[Any]:
        try:
            return list(await self._connection.execute_fetchall(statement, arguments))
        except sqlite3.Error as error:
            raise LogError(f"the log {self.path} cannot be read: {error}") from error


def _attempt_rows(rows: list[Any]) -> list[AttemptRow]:
    return list(map(AttemptRow._make, rows))


def _run_row(row: Any, now: float) -> RunRow:
    values = list(row[: len(_RUN)])
    holder = LeaseRow._make(row[len(_RUN) :])
    values.insert(_ALIVE, holder.run_id is not None and lease.is_alive(holder, now))  # pyright: ignore[reportUnnecessaryComparison]
    values[_PARTS] = from_text(values[_PARTS])
    values[_SOURCE] = from_text(values[_SOURCE])
    return RunRow._make(values)
