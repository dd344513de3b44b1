"""The files of a log that is open, watched for what other people do to them.

SQLite trusts that nobody touches the three files under it. A writer that goes on after one of them was deleted, moved
or cut short writes where nobody will look, or, together with a second writer, damages the log. So every write asks
first.

Nothing here opens a file of the log: closing one would drop the locks that SQLite holds for this process.
"""

import asyncio
import os
import time
from pathlib import Path

_LOCKS = Path("/proc/locks")
_COMPANIONS = ("-wal", "-shm")

SETTLE_SECONDS = 0.5
"""The companions are missing for a moment while a log is made or closed; for longer only when somebody deleted them."""

REMOVED = "was removed"
REPLACED = "was replaced by another file"
TRUNCATED = "was cut short"
COMPANION = "lost its -wal or -shm file"

Identity = tuple[int, int] | None


def identity(path: Path | str) -> Identity:
    """Which file this is, None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class LogFiles:
    """What was on the disk when the log was opened, to compare with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log: Identity = None
        self._companions: tuple[Identity, ...] = ()
        self._size = 0
        self.take()

    def take(self) -> None:
        """Take the files as they are now for the right ones."""
        self._log = identity(self.path)
        self._companions = self._companions_now()
        self._size = 0

    def trouble(self) -> str | None:
        """What has happened to the files, None when they are the ones that were opened. Three calls of `stat`."""
        try:
            status = self.path.stat()
        except OSError:
            return REMOVED
        if (status.st_dev, status.st_ino) != self._log:
            return REPLACED
        if status.st_size < self._size:
            return TRUNCATED
        self._size = status.st_size
        return COMPANION if self._companions_now() != self._companions else None

    def accept_size(self, at_least: int) -> bool:
        """Whether the log is at least this long. Then its length is right, however it came about (a `VACUUM`)."""
        size = self.path.stat().st_size
        if size >= at_least:
            self._size = size
        return size >= at_least

    def is_mended(self) -> bool:
        """Whether another writer has put a new companion in the place of one that is gone."""
        wal, shm = (
            now is not None and now != then for now, then in zip(self._companions_now(), self._companions, strict=True)
        )
        # A reader makes an empty write-ahead file too; there is something in it once a writer has begun anew.
        return shm or (wal and self._companion_paths()[0].stat().st_size > 0)

    def drop_companions(self) -> None:
        """Delete those that belong to the log that was opened: beside another one they would be taken for its own."""
        for path, then in zip(self._companion_paths(), self._companions, strict=True):
            if then is not None and identity(path) == then:
                path.unlink(missing_ok=True)

    def _companions_now(self) -> tuple[Identity, ...]:
        return tuple(identity(path) for path in self._companion_paths())

    def _companion_paths(self) -> list[Path]:
        return [Path(f"{self.path}{suffix}") for suffix in _COMPANIONS]


def torn(path: Path) -> bool:
    """Whether the log is open somewhere while one of its companions is gone. Opening it then would make a second one.

    False where the machine does not tell who holds which locks.
    """
    if all(Path(f"{path}{suffix}").exists() for suffix in _COMPANIONS):
        return False
    held = identity(path)
    if held is None:
        return False
    try:
        table = _LOCKS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return f":{held[1]} " in table


def wait_while_torn(path: Path) -> bool:
    """`torn`, once the moments are over in which that is as it should be. Blocks."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while torn(path):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.02)
    return False


async def is_torn(path: Path) -> bool:
    """`wait_while_torn` without blocking the event loop."""
    if all(Path(f"{path}{suffix}").exists() for suffix in _COMPANIONS):  # noqa: ASYNC240 - two calls of stat
        return False
    return await asyncio.to_thread(wait_while_torn, path)
