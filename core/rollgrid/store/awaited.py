"""Those who wait for what they gave to the writer to be committed."""

import asyncio
from collections import deque
from collections.abc import Callable

PROMPT_SECONDS = 0.005
"""A flush that somebody waits for comes this soon; what is appended meanwhile goes along."""


class Awaited:
    """Callbacks, each due when so many events are written. `hurry` is set soon after one was added."""

    def __init__(self, hurry: asyncio.Event) -> None:
        self._hurry = hurry
        self._due: deque[tuple[int, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, goal: int, callback: Callable[[], None]) -> None:
        self._due.append((goal, callback))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PROMPT_SECONDS, self._go)

    def _go(self) -> None:
        self._timer = None
        if self._due:
            self._hurry.set()

    def tell(self, written: int) -> None:
        while self._due and self._due[0][0] <= written:
            self._due.popleft()[1]()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
