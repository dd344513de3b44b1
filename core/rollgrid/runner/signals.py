"""What signals and lost terminals do to a run: a person may stop it, a lost connection may not."""

import asyncio
import os
import signal
from collections.abc import Callable

_OUTPUTS = (1, 2)


class Signals:
    """SIGINT and SIGTERM call `on_interrupt` while this is open. SIGHUP, a lost terminal, ends nothing."""

    def __init__(self, on_interrupt: Callable[[], None]) -> None:
        self._on_interrupt = on_interrupt

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_interrupt)
        self._terminals = [number for number in _OUTPUTS if os.isatty(number)]
        # None: a handler that was not set from Python cannot be put back.
        self._hangup = signal.getsignal(signal.SIGHUP) or signal.SIG_DFL
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        # A terminal that is gone stays gone: what follows (the last lines of output) must not be ended by it either.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if self._is_lost() else self._hangup)

    def _on_hangup(self) -> None:
        """Whatever is printed from now on, by the user's own code too, would fail on the terminal that is gone."""
        if self._is_lost():
            silence(self._terminals)

    def _is_lost(self) -> bool:
        return any(not os.isatty(number) for number in self._terminals)


def silence(numbers: "list[int] | tuple[int, ...]" = _OUTPUTS) -> None:
    """Let these file descriptors lead nowhere, so that writing to them goes well."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in numbers:
            os.dup2(nowhere, number)
    finally:
        os.close(nowhere)
