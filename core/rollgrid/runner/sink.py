"""Where a run's events go."""

from collections.abc import Callable
from typing import Protocol

from rollgrid.store.events import Event


class EventSink(Protocol):
    """Takes events without blocking and without raising: what cannot be written now is kept and written later."""

    def append(self, event: Event, body: bytes | None = None) -> None: ...

    def put_live(self, run_id: str, task: int, attempt: int, take: int, data: bytes) -> None: ...

    def when_saved(self, callback: Callable[[], None]) -> None:
        """Call back, once, when all that was appended so far is safe, and see to it that this is soon."""
        ...


class NoLog:
    """For a run whose log is off."""

    def append(self, event: Event, body: bytes | None = None) -> None: ...

    def put_live(self, run_id: str, task: int, attempt: int, take: int, data: bytes) -> None: ...

    def when_saved(self, callback: Callable[[], None]) -> None:
        callback()
