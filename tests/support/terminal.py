"""A program in a terminal of its own: what it writes, and keys for it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from codecs import getincrementaldecoder
from pathlib import Path

from support.emulator import Emulator

ROOT = Path(__file__).parents[2]


class Terminal:
    """A child on a pseudo terminal: Python with these arguments, or another program. `output` is all it has written."""

    def __init__(
        self, *arguments: str, columns: int = 100, rows: int = 30, program: str = sys.executable, **environ: str
    ) -> None:
        self.output = b""
        self._emulator = Emulator(columns, rows, lenient=True)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL") if name in os.environ}
        self.process = subprocess.Popen(
            [program, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            close_fds=True,
            env={
                **kept,
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("core", "tui", "tests")),
                **environ,
            },
        )
        self._slave = slave

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    def read(self, seconds: float) -> bytes:
        """What arrives within this time."""
        got = b""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            chunk = self._chunk(left)
            if not chunk:
                break
            got += chunk
        return self._take_in(got)

    def read_some(self, seconds: float) -> bytes:
        """What arrives next, as soon as something does, and at most after this time."""
        return self._take_in(self._chunk(seconds))

    def _chunk(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._master], [], [], seconds)
        try:
            return os.read(self._master, 65536) if ready else b""
        except OSError:
            return b""

    def _take_in(self, got: bytes) -> bytes:
        self.output += got
        self._emulator.feed(self._decoder.decode(got))
        return got

    def screen(self) -> str:
        """What it shows, as far as it was drawn with what `Emulator` knows."""
        return "\n".join(self._emulator.text())

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """Until `text` is on the screen, or has been written in one piece at some time."""
        end = time.monotonic() + seconds
        while text.encode() not in self.output and text not in self.screen():
            assert time.monotonic() < end, f"{text!r} was not written; last: {self.output[-400:]!r}\n{self.screen()}"
            assert self.process.poll() is None or self.read(0.2), f"ended early: {self.output[-400:]!r}"
            self.read(0.1)

    def settle(self, quiet: float = 1.2) -> None:
        """Until nothing has been written for this long."""
        while self.read(quiet):
            pass

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def wait(self, seconds: float = 20) -> int:
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, "it did not end"
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode

    def attributes(self) -> list[object]:
        """The terminal's modes now, to compare with `before`."""
        return list(termios.tcgetattr(self._slave))

    def resize(self, columns: int, rows: int) -> None:
        """The window has another size from now on; the child hears of it."""
        self._emulator = Emulator(columns, rows, lenient=True)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGWINCH)

    def hang_up(self) -> None:
        """The connection is lost: the far end of the terminal is closed."""
        for end in (self._slave, self._master):
            if end >= 0:
                os.close(end)
        self._slave = self._master = -1
