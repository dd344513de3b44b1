"""The lease on a run: at most one live runner works on a run, and anybody can see when a runner has died."""

import asyncio
import os
import sqlite3
import time
import uuid
from pathlib import Path
from typing import NamedTuple, Self

from rollgrid.errors import LogError, RunError
from rollgrid.store import process
from rollgrid.store.connection import short_write

STALE_SECONDS = 15.0
"""A lease without a heartbeat for this long is dead."""

HEARTBEAT_SECONDS = 4.0

COLUMNS = "run_id, token, pid, host, boot_id, pid_space, start_time, acquired_at, heartbeat_at"


_let_go: set[str] = set()
"""Tokens of leases that this process has given back, whether or not the log could be told."""


class LeaseRow(NamedTuple):
    """Who holds a run. `start_time` and `boot_id` tell a process from a later one with the same pid."""

    run_id: str
    token: str
    pid: int
    host: str
    boot_id: str
    pid_space: str
    start_time: str
    acquired_at: float
    heartbeat_at: float

    @classmethod
    def of_this_process(cls, run_id: str) -> Self:
        now = time.time()
        pid = os.getpid()
        return cls(
            run_id,
            uuid.uuid4().hex,
            pid,
            process.host(),
            process.boot_id(),
            process.pid_space(),
            process.start_time(pid),
            now,
            now,
        )


def is_alive(row: LeaseRow | None, now: float | None = None) -> bool:
    """Whether the holder of the lease still runs.

    On this host it is dead at once when the machine has booted since or the process is gone, a zombie, or another one
    under the same pid. A process that is known to be the same one is alive, with or without heartbeats: a full disk, a
    stopped process or a clock that was set stops these, and a second runner would pay for everything twice. Where
    pids cannot be compared (another host, another container), and where the machine does not tell when a process was
    started, it is dead when its last heartbeat is more than `STALE_SECONDS` away.
    """
    if row is None:
        return False
    # A heartbeat from the future is as little a sign of life as an old one: the clock was set back.
    beats = abs((time.time() if now is None else now) - row.heartbeat_at) <= STALE_SECONDS
    if row.host != process.host():
        return beats
    if row.boot_id != process.boot_id():
        return False
    if row.pid_space != process.pid_space():
        return beats
    if not process.is_running(row.pid):
        return False
    started = process.start_time(row.pid)
    if not started or not row.start_time:
        return beats
    return started == row.start_time


def live_leases(connection: sqlite3.Connection) -> list[LeaseRow]:
    """The leases that are held now. Formats without a lease table hold none."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'lease'").fetchone() is None:
        return []
    rows = [LeaseRow._make(row) for row in connection.execute(f"SELECT {COLUMNS} FROM lease")]
    return [row for row in rows if is_alive(row)]


class Lease:
    """A run held by this process. `fault` says why the last heartbeat could not be written, None when it was."""

    def __init__(self, path: Path, row: LeaseRow) -> None:
        self.path = path
        self.row = row
        self.fault: str | None = None

    async def heartbeat(self) -> bool:
        """Say that this runner lives. False when another runner has taken the run over: stop working on it.

        A log that cannot be written now is no reason to stop: it sets `fault` and gives True.
        """
        try:
            async with short_write(self.path) as connection:
                cursor = await connection.execute(
                    "UPDATE lease SET heartbeat_at = ? WHERE run_id = ? AND token = ?",
                    (time.time(), self.row.run_id, self.row.token),
                )
        except LogError as error:
            self.fault = error.message
            return True
        self.fault = None
        return cursor.rowcount == 1

    async def keep(self, every: float = HEARTBEAT_SECONDS) -> None:
        """Heartbeat until cancelled; returns when the lease was lost to another runner."""
        held = True
        while held:
            await asyncio.sleep(every)
            held = await self.heartbeat()

    async def release(self) -> None:
        """Give the run back. Nothing happens to a lease that another runner has taken over.

        A log that cannot be written keeps the lease. This process then knows that it has let go of it, others see that
        when the process ends.
        """
        _let_go.add(self.row.token)
        async with short_write(self.path) as connection:
            await connection.execute(
                "DELETE FROM lease WHERE run_id = ? AND token = ?", (self.row.run_id, self.row.token)
            )


async def acquire(path: Path, run_id: str) -> Lease:
    """Take the run on. `RunError` when a live runner holds it; a dead one's lease is taken over."""
    row = LeaseRow.of_this_process(run_id)
    async with short_write(path) as connection:
        found = await connection.execute_fetchall(f"SELECT {COLUMNS} FROM lease WHERE run_id = ?", (run_id,))
        for held in found:
            holder = LeaseRow._make(held)
            if holder.token not in _let_go and is_alive(holder):
                raise RunError(
                    f"run {run_id} is being run by pid {holder.pid} on {holder.host}",
                    hint=f"`rollgrid watch {run_id}` shows it",
                )
        marks = ", ".join("?" * len(row))
        await connection.execute(f"INSERT OR REPLACE INTO lease ({COLUMNS}) VALUES ({marks})", row)
    return Lease(path, row)
