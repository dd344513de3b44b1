"""What lets the first screen come sooner: textual alone takes most of the half second that a person may be kept."""

import asyncio
import gc
import sqlite3
import sys
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rollgrid.errors import RollgridError
from rollgrid.store.overview import Overview
from rollgrid.store.reader import LogReader
from rollgrid_tui.attach import LARGE

SWITCH_SECONDS = 0.0005
"""How long one thread may keep another waiting meanwhile: the early look is many short steps beside long imports."""


@contextmanager
def hurry() -> Generator[Callable[[], None]]:
    """Until the end, or until what it gives is called, no garbage is collected and threads take turns more often.

    Nearly all that is made until then stays for good: looking through it again and again takes a tenth of the time. It
    is not looked through later either.
    """
    usual = sys.getswitchinterval()

    def as_usual() -> None:
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
            sys.setswitchinterval(usual)

    gc.disable()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield as_usual
    finally:
        as_usual()


class EarlyLook:
    """The sums of a large run, read in a thread of their own while textual is imported. SQLite needs no Python lock."""

    def __init__(self, path: Path, run_id: str) -> None:
        self._path = path
        self._run_id = run_id
        self.found = ThreadPoolExecutor(1, "early look").submit(self._look)
        self._is_new = True

    async def open_reader(self, path: Path) -> LogReader:
        """A reader of the log; the first one has the sums already, for the first who asks."""
        reader = await _EarlyReader.open(path)
        if path == self._path and self._is_new:
            reader.early = (self._run_id, self.found)
        self._is_new = False
        return reader

    def _look(self) -> tuple[bool, Overview] | None:
        try:
            return asyncio.run(self._read())
        except (RollgridError, sqlite3.Error, OSError):
            return None  # Whoever reads the log next meets the same, and says so.

    async def _read(self) -> tuple[bool, Overview] | None:
        reader = await LogReader.open(self._path)
        try:
            run = await reader.run(self._run_id)
            if run is None or run.n_started < LARGE:
                return None
            return run.alive, await reader.overview(self._run_id, lately=run.alive)
        finally:
            await reader.aclose()


class _EarlyReader(LogReader):
    early: tuple[str, Future[tuple[bool, Overview] | None]] | None = None

    async def overview(self, run_id: str, *, lately: bool = False) -> Overview:
        early, self.early = self.early, None
        if early is not None and early[0] == run_id:
            found = await asyncio.wrap_future(early[1])
            if found is not None and found[0] == lately:
                return found[1]
        return await super().overview(run_id, lately=lately)
