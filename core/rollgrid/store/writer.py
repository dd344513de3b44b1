"""The one writer of a runner: events go into a buffer, and every 50 ms what is there becomes one transaction."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import aiosqlite

from rollgrid.errors import LogError
from rollgrid.store import ids, tables
from rollgrid.store.awaited import Awaited
from rollgrid.store.codec import encode, from_text, is_exact, masked_text
from rollgrid.store.commands import pending_commands
from rollgrid.store.entry import Entry
from rollgrid.store.events import Event, RunCreated, TaskInfo
from rollgrid.store.link import FilesChanged, Link
from rollgrid.store.loading import load
from rollgrid.store.opening import prepare_log
from rollgrid.store.projection import bindable, fold
from rollgrid.store.rows import CommandRow
from rollgrid.store.states import Key

FLUSH_SECONDS = 0.05
FLUSH_EVENTS = 200
BATCH_EVENTS = 500
"""No transaction holds more than this, so that other writers of the log get their turn."""

LIVE_SECONDS = 0.2
"""Snapshots alone are written at this pace; they also go along with any flush of events."""

RETRY_SECONDS = (0.25, 4.0)
"""Pause after the first failed write, doubled up to the second value."""

LOOK_SECONDS = 2.0
"""How often a writer that has nothing to write looks after its files."""


class Unsaved(NamedTuple):
    """An event with its JSON as the log stores it, the body that belongs to it, and what its rows are made of."""

    event: Any
    text: str
    body: bytes | None
    data: dict[str, Any]


class LogWriter:
    """Appends events to the log and keeps the derived rows in step, in the same transaction.

    Call it from one event loop. `append` and `put_live` only fill a buffer; a task of the writer's own flushes it.
    While the log cannot be written (a full disk, a lock held too long) `fault` says why in one line, everything is kept
    in the buffer and tried again; an event is written exactly once, in the order of `append`. `mended` tells, a line
    each, what was done about files that somebody took away.
    """

    def __init__(self, path: Path, link: Link) -> None:
        self.path = path
        self.fault: str | None = None
        self.mended: list[str] = []
        self._link = link
        self._looked_at = time.monotonic()
        self._buffer: list[Unsaved] = []
        self._live: dict[Key, bytes] = {}
        self._appended = 0
        self._written = 0
        self._lock = asyncio.Lock()
        self._unsettled = False
        self._committing: tuple[int, int] | None = None
        self._wake = asyncio.Event()
        self._some = asyncio.Event()
        self._many = asyncio.Event()
        self._awaited = Awaited(self._many)
        self._stop = asyncio.Event()
        self._closing = False
        self._flusher: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: Path | str) -> Self:
        """Open the log for writing, making or migrating it where needed. `LogError` when that cannot be."""
        path = await asyncio.to_thread(prepare_log, path)
        try:
            writer = cls(path, await Link.open(path))
        except sqlite3.Error as error:
            raise LogError(
                f"the log {path} cannot be written: {error}", hint="name another one with --log or ROLLGRID_LOG"
            ) from error
        writer._flusher = asyncio.create_task(writer._flush_now_and_then(), name="log writer")
        return writer

    @classmethod
    @contextlib.asynccontextmanager
    async def open_cm(cls, path: Path | str) -> AsyncGenerator[Self]:
        """`open` and `aclose` as a context manager."""
        writer = await cls.open(path)
        try:
            yield writer
        finally:
            await writer.aclose()

    def append(self, event: Event, body: bytes | None = None) -> None:
        """Take an event, and the body that belongs to it as `codec.encode` made it. Never blocks."""
        if self._closing:
            raise RuntimeError("the log writer is closed")
        data = vars(event)
        if isinstance(event, RunCreated):
            # The texts of the tasks are long and seldom read; they are stored apart, compressed.
            data = {**data, "tasks": [{"id": task.id, "metadata": task.metadata} for task in event.tasks]}
        # Events refuse NaN in fields of their own; only what users put into them can hold one.
        free = type(event) is RunCreated or data.get("detail") is not None
        text, masked = masked_text(data, finite=not free)
        if masked or is_exact(text):
            # The rows must hold what the text does, also when that was read back.
            data = bindable(from_text(text))
        self._buffer.append(Unsaved(event, text, body, data))
        self._appended += 1
        self._wake.set()
        self._some.set()
        if len(self._buffer) >= FLUSH_EVENTS:
            self._many.set()

    def when_saved(self, callback: Callable[[], None]) -> None:
        """Call back, once, when all that was appended so far is committed, and see to it that this is soon."""
        self._awaited.add(self._appended, callback)
        self._awaited.tell(self._written)

    def put_live(self, run_id: str, task: int, attempt: int, take: int, data: bytes) -> None:
        """Keep `data` (encoded) as the newest state of a running attempt, until that attempt ends."""
        self._live[run_id, task, attempt, take] = data
        self._wake.set()

    async def flush(self) -> None:
        """Commit all that was appended before this call; on failure `fault` is set and all stays in the buffer."""
        goal = self._appended
        async with self._lock:
            # Without anything to write there is still to see whether the log is where it was, or can be written again.
            more = bool(self._live) or self.fault is not None or time.monotonic() - self._looked_at > LOOK_SECONDS
            while self._written < goal or more:
                more = False
                if not await self._write_batch():
                    return

    async def aclose(self) -> None:
        """Flush, stop and close. What could not be written is lost; then `fault` says how many events and why."""
        self._closing = True
        for event in (self._wake, self._some, self._many, self._stop):
            event.set()
        self._awaited.close()
        try:
            if self._flusher is not None:
                await asyncio.wait({self._flusher})
            await self.flush()
            if self._buffer:
                self.fault = f"{len(self._buffer)} events were not written: {self.fault}"
        finally:
            await self._link.close()

    @property
    def unsaved(self) -> Sequence[Unsaved]:
        """What was appended and is not committed yet, oldest first."""
        return tuple(self._buffer)

    async def pending_commands(self, run_id: str, after_id: int = 0) -> list[CommandRow]:
        """Commands of this run that no runner has answered yet, oldest first."""
        async with self._lock:
            found = await pending_commands(self._connection, run_id, after_id)
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            self._wake.set()
        return found

    @property
    def _connection(self) -> aiosqlite.Connection:
        return self._link.connection

    async def last_seq(self, run_id: str) -> int | None:
        """The last event of the run, None for one that the log does not hold."""
        async with self._lock:
            for row in await self._connection.execute_fetchall("SELECT seq FROM run WHERE run_id = ?", (run_id,)):
                return int(row[0])
        return None

    async def new_run_id(self) -> str:
        """A run id that this log does not hold."""
        async with self._lock:
            while True:
                run_id = ids.new_run_id()
                taken = "SELECT 1 FROM run WHERE run_id = ? UNION ALL SELECT 1 FROM lease WHERE run_id = ?"
                if not await self._connection.execute_fetchall(taken, (run_id, run_id)):
                    return run_id

    async def _flush_now_and_then(self) -> None:
        pause = RETRY_SECONDS[0]
        while not self._closing:
            await self._wake.wait()
            if self.fault is not None:
                await _at_most(self._stop, pause)
                pause = min(pause * 2, RETRY_SECONDS[1])
            else:
                pause = RETRY_SECONDS[0]
                await _at_most(self._some, LIVE_SECONDS)
                if self._buffer:
                    await _at_most(self._many, FLUSH_SECONDS)
            if self._closing:
                return
            for event in (self._wake, self._some, self._many):
                event.clear()
            await self.flush()
            if self._buffer or self._live or self.fault is not None:
                self._wake.set()
            if self._buffer:
                self._some.set()

    async def _write_batch(self) -> bool:
        """One transaction. False, with `fault` set, when it did not come about; nothing is lost then."""
        live, self._live = self._live, {}
        try:
            await self._link.ensure()
            await self._settle()
            self._unsettled = True
            await self._transaction(self._buffer[:BATCH_EVENTS], live)
            self._unsettled = False
        except BaseException as error:
            self._live = live | self._live
            # The lock on the log must not stay with a transaction that failed: other runs write there too.
            with contextlib.suppress(sqlite3.Error, ValueError):
                await self._connection.rollback()
            if not isinstance(error, Exception):
                raise
            if isinstance(error, FilesChanged):
                return await self._mend(error)
            self.fault = f"the log {self.path} cannot be written: {error}"
            return False
        self.fault = None
        return True

    async def _mend(self, found: FilesChanged) -> bool:
        done, why = await self._link.mend(found.what)
        if done is None:
            self.fault = f"the log {self.path} cannot be written: {found}{why}"
        else:
            self.mended.append(f"the log {self.path}: {done}")
        return done is not None

    async def _settle(self) -> None:
        """After a write that failed or was cancelled half way: undo it, or find that it was committed after all."""
        if not self._unsettled:
            return
        await self._connection.rollback()
        if self._committing is not None:
            seq, count = self._committing
            last = self._buffer[count - 1]
            rows = await self._connection.execute_fetchall("SELECT run_id, data FROM event WHERE seq = ?", (seq,))
            if list(rows) == [(last.event.run_id, last.text)]:
                self._drop(count)
            self._committing = None
        self._unsettled = False

    async def _transaction(self, batch: list[Unsaved], live: dict[Key, bytes]) -> None:
        connection = self._connection
        await connection.execute("BEGIN IMMEDIATE")
        await self._link.check()
        self._looked_at = time.monotonic()
        if batch:
            first = await self._one(tables.LAST_SEQ) + 1
            entries = [
                Entry(seq, pending.event.kind, pending.event.run_id, pending.event.at, pending.data)
                for seq, pending in enumerate(batch, first)
            ]
            changes = fold(entries, *await load(connection, entries))
            await connection.executemany(tables.INSERT_EVENT, _event_rows(entries, batch))
            bodies = [(seq, pending.body) for seq, pending in enumerate(batch, first) if pending.body is not None]
            if bodies:
                await connection.executemany(tables.INSERT_BODY, bodies)
            for seq, pending in enumerate(batch, first):
                if isinstance(pending.event, RunCreated):
                    rows = await asyncio.to_thread(_task_bodies, seq, pending.event.tasks)
                    await connection.executemany(tables.INSERT_TASK_BODY, rows)
            for statement, rows in tables.writes(changes):
                await connection.executemany(statement, rows)
            self._committing = (first + len(batch) - 1, len(batch))
        if live:
            await connection.executemany(tables.PUT_LIVE, [(data, *key) for key, data in live.items()])
        await connection.commit()
        self._committing = None
        self._drop(len(batch))

    async def _one(self, statement: str) -> int:
        for row in await self._connection.execute_fetchall(statement):
            return int(row[0])
        raise LogError(f"the log {self.path} is damaged")

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._written += count
        self._awaited.tell(self._written)


async def _at_most(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, but no longer than this."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _event_rows(entries: list[Entry], batch: list[Unsaved]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for entry, pending in zip(entries, batch, strict=True):
        get = entry.data.get
        rows.append(
            (
                entry.seq,
                entry.run_id,
                entry.at,
                entry.kind,
                get("task"),
                get("attempt"),
                get("take"),
                pending.text,
            )
        )
    return rows


def _task_bodies(seq: int, tasks: tuple[TaskInfo, ...]) -> list[tuple[int, int, bytes]]:
    return [(seq, index, encode({"input": task.input, "expected": task.expected})) for index, task in enumerate(tasks)]
