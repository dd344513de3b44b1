"""Hard times for the log: small disks, limits, permissions that root does not have either, files that vanish."""

import asyncio
import contextlib
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
MS_NOATIME = 1024
TESTS = Path(__file__).parents[1]

_libc = ctypes.CDLL(None, use_errno=True)


def can_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and Path("/proc/self/mounts").exists()


@contextmanager
def small_disk(folder: Path, size: int) -> Generator[None]:
    """A file system of `size` bytes at `folder`, gone with the block. `PermissionError` where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    if _libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", MS_NOATIME, f"size={size},mode=700".encode()) != 0:
        number = ctypes.get_errno()
        raise PermissionError(number, os.strerror(number), str(folder))
    try:
        yield
    finally:
        # MNT_DETACH: what a test that failed still has open does not keep the disk.
        _libc.umount2(os.fsencode(folder), 2)


def fill(folder: Path) -> Path:
    """A file that takes all the room that is left; delete it to make room."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (65536, 4096, 512, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return filler


def mortal() -> None:
    """For `preexec_fn`: the child obeys the modes of files, also when it is root's."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


class Child:
    """A program of a test's own in another process. It is told things by lines on stdin and tells by JSON lines."""

    def __init__(self, code: str, *arguments: str, prepare: Callable[[], None] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            preexec_fn=prepare,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        """Its next word; an error when it died instead."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the child has nothing more to say")
        return json.loads(line)

    def ask(self, text: str) -> Any:
        self.tell(text)
        return self.hear()


async def eventually(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait for what happens in files and other processes, where no event is set."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
