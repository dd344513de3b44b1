"""Notices that the terminal is gone: the connection dropped, tmux was killed, the window was closed.

Such a terminal gives end-of-file at once for every read, and an error for every write. Textual's input thread then
reads in circles, and its output thread is dead, so that the next write waits for ever. SIGHUP tells of it only when the
dashboard leads its session, and `nohup` ignores it. So a thread waits for the terminal itself to say that it is gone,
which takes no time, and from then on the process has a deadline.
"""

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterable

GRACE_SECONDS = 1.0
"""What the application gets to end in order. It holds nothing that could be lost: it only reads the log."""

HANGUP_EXIT = 128 + 1
"""The exit code of a process that SIGHUP ended."""


def terminal_files() -> list[int]:
    """The standard input and error of this process, as far as they are terminals: what textual reads and writes."""
    return [file.fileno() for file in (sys.__stdin__, sys.__stderr__) if file is not None and file.isatty()]


class HangupWatch:
    """Calls `leave`, from a thread of its own, when one of `files` is hung up; ends the process soon after."""

    def __init__(
        self,
        files: Iterable[int],
        leave: Callable[[], object],
        *,
        end: Callable[[int], object] = os._exit,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self._files = list(files)
        self._leave = leave
        self._end = end
        self._grace = grace
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="rollgrid-hangup", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The application has ended by itself. After a hangup this changes nothing: the deadline stands."""
        os.close(self._wake_write)

    def _watch(self) -> None:
        # No event is asked for: a hangup is told anyway, and what is typed wakes nobody.
        poll = select.poll()
        poll.register(self._wake_read, 0)
        for file in self._files:
            poll.register(file, 0)
        told = dict(poll.poll())
        os.close(self._wake_read)
        if not any(told.get(file, 0) & (select.POLLHUP | select.POLLERR) for file in self._files):
            return
        with contextlib.suppress(RuntimeError):  # Its loop has ended meanwhile.
            self._leave()
        # Textual's threads may hold up the exit for good, and so may the interpreter's own wait for them.
        threading.Event().wait(self._grace)
        self._end(HANGUP_EXIT)
