"""What signals do to a run."""

import asyncio
import signal
from collections.abc import Callable


class Signals:
    """SIGINT and SIGTERM call `on_interrupt` while this is open; SIGHUP is ignored, so a lost terminal ends nothing."""

    def __init__(self, on_interrupt: Callable[[], None]) -> None:
        self._on_interrupt = on_interrupt

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_interrupt)
        self._hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGHUP, self._hangup)
