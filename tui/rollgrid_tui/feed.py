"""The only reader of the log in the dashboard: polls it, folds new rows into the state, says that something changed."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from textual.message import Message

from rollgrid.errors import RollgridError
from rollgrid.store.overview import Overview
from rollgrid.store.rows import AttemptRow, CommandRow, ReviewRow, RunRow, TaskRow
from rollgrid.store.scorings import OWN, RescoredRow, ScoringName
from rollgrid_tui.attach import LARGE, Attachment
from rollgrid_tui.bodies import Bodies
from rollgrid_tui.review_desk import ReviewDesk
from rollgrid_tui.scoring_desk import ScoringDesk
from rollgrid_tui.state.run_view import IN_PROGRESS, Changes, RunView
from rollgrid_tui.state.runs_view import RunsView

ALIVE_SECONDS = 2.0
"""A runner that dies writes nothing, so a run in progress is looked at this often though the log did not change."""

RUNS_SECONDS = 1.0
"""The list of runs is read at most this often."""

KEPT_BODIES = 8

Transcript = Mapping[str, Any]
T = TypeVar("T")


class Reader(Protocol):
    """What the feed needs of `rollgrid.store.reader.LogReader`."""

    async def changed(self) -> bool: ...
    async def runs(self, limit: int = 200) -> list[RunRow]: ...
    async def learning(self, run_ids: Collection[str]) -> dict[str, int]: ...
    async def run(self, run_id: str) -> RunRow | None: ...
    async def tasks(self, run_id: str) -> list[TaskRow]: ...
    async def task_text(self, run_id: str, task: int) -> tuple[str, Any]: ...
    async def attempts(self, run_id: str, after_seq: int = 0, task: int | None = None) -> list[AttemptRow]: ...
    async def overview(self, run_id: str, *, lately: bool = False) -> Overview: ...
    async def transcript(self, run_id: str, task: int, attempt: int, take: int) -> dict[str, Any] | None: ...
    async def live(self, run_id: str, task: int, attempt: int, take: int) -> dict[str, Any] | None: ...
    async def commands(self, run_id: str) -> list[CommandRow]: ...
    async def reviews(self, run_id: str, after_seq: int = 0) -> list[ReviewRow]: ...
    async def scoring_names(self, run_id: str) -> list[ScoringName]: ...
    async def rescored(self, run_id: str, scoring: str) -> list[RescoredRow]: ...
    async def aclose(self) -> None: ...


OpenReader = Callable[[Path], Awaitable[Reader]]
PostCommand = Callable[[Path, str, str, dict[str, Any], str], Awaitable[int]]


class LogChanged(Message, bubble=False):
    """Something changed. It carries nothing, so that a newer one can take its place; the state tells what."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, LogChanged)


class Feed:
    """One poller. Screens say what they need (`follow`, `watch_live`, `want_runs`); `notify` follows every change."""

    def __init__(
        self,
        path: Path,
        *,
        open_reader: OpenReader,
        post_command: PostCommand,
        author: str,
        reviews: ReviewDesk | None = None,
        fps: float = 10.0,
        clock: Callable[[], float] = time.time,
        notify: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.shown_path = _shown(path)
        """The path as a person writes it."""
        self.clock = clock
        self.notify = notify
        self.runs = RunsView(clock)
        self.run: RunView | None = None
        self.run_id: str | None = None
        self.live: Transcript | None = None
        self.scoring = ScoringDesk()
        self.commands: Sequence[CommandRow] = ()
        self.fault: str | None = None
        """One line while the log cannot be read."""
        self.missing = False
        """There is no log yet."""
        self.bodies_loaded = self.polls = 0
        """How many bodies were read, and how often the log was looked at; tests count both."""
        self._open_reader = open_reader
        self._post_command = post_command
        self.author = author
        self.reviews = reviews or ReviewDesk(path, author, written=self._poke)
        self._period = 1 / fps
        self._reader: Reader | None = None
        self._identity: tuple[int, int] | None = None
        self._want_runs = False
        self._runs_old = True
        self._runs_at = 0.0
        self._alive_at = 0.0
        self._seq = 0
        self._attachment: Attachment | None = None
        self._stale = True
        self._watched: tuple[int, int] | None = None
        self._changes = Changes()
        self._bodies = Bodies(KEPT_BODIES)
        self.looked = asyncio.Event()  # Set once the log was looked at for the first time, whatever was found.
        self._wake = asyncio.Event()
        self._going = asyncio.Event()
        self._going.set()

    # -- what the screens want

    def follow(self, run_id: str, scoring: int = OWN) -> RunView:
        """Read this run from now on, from its beginning, with the verdicts of this scoring."""
        if self.run is None or self.run_id != run_id or self.scoring.shown != scoring:
            self.scoring.show(scoring, same_run=self.run_id == run_id)
            self.run = RunView(self.clock)
            self.run_id = run_id
            self._seq = 0
            self.reviews.follow(run_id)
            self._attachment = None
            self.live, self._watched = None, None
            self.commands = ()
            self._changes = Changes()
            self._poke()
        return self.run

    def want_runs(self, wanted: bool) -> None:
        self._want_runs = wanted
        if wanted:
            self._runs_old = True
            self._poke()

    def watch_live(self, cell: tuple[int, int] | None) -> None:
        """The attempt whose snapshots `live` holds while it runs."""
        if cell != self._watched:
            self._watched, self.live = cell, None
            self._poke()

    def take_changes(self) -> Changes:
        """What changed in the followed run since the last call."""
        changes, self._changes = self._changes, Changes()
        return changes

    async def transcript(self, task: int, attempt: int, take: int) -> Transcript | None:
        """The stored body of an attempt that ended. A few are kept."""
        if self._reader is None or self.run_id is None:
            return None
        key = (self.run_id, task, attempt, take)
        if key not in self._bodies:
            self._bodies[key] = await self._reader.transcript(*key)
            self.bodies_loaded += 1
        return self.scoring.body(task, attempt, take, self._bodies[key])

    def has_transcript(self, task: int, attempt: int, take: int) -> bool:
        return (self.run_id or "", task, attempt, take) in self._bodies

    async def read(self, reading: Awaitable[T]) -> T | None:
        """Wait for a read; a log that cannot be read becomes the `fault`, and None comes back."""
        try:
            return await reading
        except (RollgridError, sqlite3.Error, OSError, ValueError) as error:
            self.fault = error.message if isinstance(error, RollgridError) else f"the log cannot be read: {error}"
            return None

    async def task_text(self, task: int) -> tuple[str, Any]:
        """A task's prompt and what is expected of the answer."""
        if self._reader is None or self.run_id is None:
            return "", None
        return await self._reader.task_text(self.run_id, task)

    async def post(self, command: str, args: dict[str, Any] | None = None) -> None:
        """Ask the followed run's runner for something. Raises `RollgridError` when the log cannot be written."""
        if self.run_id is not None:
            await self._post_command(self.path, self.run_id, command, args or {}, self.author)

    def pause(self) -> None:
        """Nothing is on the screen: stop looking."""
        self._going.clear()

    def resume(self) -> None:
        self._going.set()
        self._poke()

    def _poke(self) -> None:
        self._stale = True
        self._wake.set()

    # -- reading

    async def poll_forever(self) -> None:
        try:
            while True:
                await self._going.wait()
                if await self.poll():
                    self.notify()
                try:
                    async with asyncio.timeout(self._period if not self.fault else 1.0):
                        await self._wake.wait()
                except TimeoutError:
                    continue
                self._wake.clear()
        finally:
            await self._close()

    async def poll(self) -> bool:
        """Look once; True when there is something new to show."""
        self.polls += 1
        try:
            told = self.fault
            fresh = await self._read()
            self.fault = None
            return fresh or told is not None
        except (RollgridError, sqlite3.Error, OSError) as error:
            await self._close()
            message = error.message if isinstance(error, RollgridError) else f"the log cannot be read: {error}"
            before, self.fault = self.fault, message
            return before != message
        finally:
            self.looked.set()

    async def _read(self) -> bool:
        fresh = False
        identity = _identity(self.path)
        if identity != self._identity and self._reader is not None:
            await self._close()
        if self._reader is None:
            if identity is None:
                first, self.missing = not self.missing, True
                return first
            self._reader = await self._open_reader(self.path)
            self._identity, self.missing, fresh, self._stale, self._runs_old = identity, False, True, True, True
        reader, now = self._reader, self.clock()
        stale, self._stale = self._stale, False
        attachment = self._attachment  # One that begins now is read on with the next look: its sums are shown first.
        changed = await reader.changed() or stale
        if changed:
            self._runs_old = True
        if changed or (now - self._alive_at >= ALIVE_SECONDS and _in_progress(self.run)):
            self._alive_at = now
            fresh |= await self._read_run(reader, rows=changed)
        if attachment is not None and attachment is self._attachment:
            fresh |= await attachment.read_on(reader, self._watched)
            self._attachment = None if attachment.is_whole and attachment is self._attachment else self._attachment
        if self._attachment is not None:
            self._wake.set()
        if self._want_runs and (
            (self._runs_old and now - self._runs_at >= RUNS_SECONDS)
            or not self.runs.loaded
            or (self.runs.any_live and now - self._runs_at >= ALIVE_SECONDS)
        ):
            first = not self.runs.loaded
            self._runs_old, self._runs_at = first, now - RUNS_SECONDS if first else now
            fresh |= await _read_runs(reader, self.runs)
        return fresh

    async def _read_run(self, reader: Reader, *, rows: bool) -> bool:
        view, run_id = self.run, self.run_id
        if view is None or run_id is None:
            return False
        run = await reader.run(run_id)
        if run is None:
            raise RollgridError(f"there is no run {run_id} in this log")
        tasks = await reader.tasks(run_id) if view.wants_tasks(run) else None
        # Sums are of the run's own scores.
        if rows and not self._seq and run.n_started >= LARGE and self.scoring.shown == OWN:
            attachment = await Attachment.begin(reader, view, run, tasks)
            if view is self.run:
                self._attachment, self._seq, self._stale = attachment, attachment.seq, True
                self._changes |= attachment.changes
            return view is self.run
        attempts = await reader.attempts(run_id, self._seq) if rows else []
        if self._attachment is not None:
            await self._attachment.read_tasks(reader, {row.task for row in attempts})
        seen = await self.scoring.seen(reader, run_id, attempts, view)
        if view is not self.run:
            return False  # Another run was asked for meanwhile.
        if attempts:
            self._seq = max(self._seq, max(row.seq for row in attempts))
        changes = view.apply(run, tasks, seen)
        if rows:
            changes |= view.apply_reviews(await self.reviews.news(reader, run_id))
        self._changes |= changes
        fresh = bool(changes) or bool(attempts)
        if rows:
            fresh |= await self.scoring.look(reader, run_id)
            commands = await reader.commands(run_id)
            fresh |= commands != self.commands
            self.commands = commands
        return await self._read_live(reader, run_id, view) or fresh

    async def _read_live(self, reader: Reader, run_id: str, view: RunView) -> bool:
        watched = self._watched
        snapshot = await _snapshot(reader, run_id, view, watched) if watched is not None else None
        if watched != self._watched or snapshot == self.live:
            return False
        self.live = snapshot
        return True

    async def _close(self) -> None:
        reader, self._reader, self._identity = self._reader, None, None
        if reader is not None:
            await _finish(reader.aclose())


async def _finish(closing: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of it even when cancelled again: the end of an application cancels its workers twice."""
    task = asyncio.ensure_future(closing)
    try:
        await asyncio.shield(task)
    finally:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])


async def _read_runs(reader: Reader, view: RunsView) -> bool:
    first = not view.loaded
    rows = await reader.runs()
    # The first list does not wait for what takes long to count; the next look comes at once.
    learning = {} if first else await reader.learning(view.unmeasured(rows))
    return view.apply(rows, learning) or first


def _in_progress(view: RunView | None) -> bool:
    run = view.run if view is not None else None
    return run is not None and run.alive and run.state in IN_PROGRESS


async def _snapshot(reader: Reader, run_id: str, view: RunView, cell: tuple[int, int]) -> Transcript | None:
    """What there is so far of an attempt that is going on."""
    row = view.attempt(*cell)
    if row is None or row.phase == "ended" or not view.live:
        return None
    return await reader.live(run_id, row.task, row.attempt, row.take)


def _shown(path: Path) -> str:
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


def _identity(path: Path) -> tuple[int, int] | None:
    """Tells a log that was removed and made anew from the one that is open."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
