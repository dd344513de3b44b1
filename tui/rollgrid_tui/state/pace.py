"""How fast a run goes, from the times at which attempts ended."""

from collections import deque

WINDOW = 60.0
"""Seconds that the throughput looks back."""


class Pace:
    """Completions of the last minute. Times are seconds since the epoch and may arrive a little out of order."""

    def __init__(self) -> None:
        self._ended: deque[float] = deque()
        self._latest = 0.0

    def add(self, ended_at: float) -> None:
        if ended_at < self._latest - WINDOW:
            return
        self._latest = max(self._latest, ended_at)
        self._ended.append(ended_at)
        while self._ended and self._ended[0] < self._latest - WINDOW:
            self._ended.popleft()

    def per_second(self, now: float, started_at: float | None) -> float | None:
        """Attempts a second over the last minute, or since the start when that is shorter; None when none ended."""
        while self._ended and self._ended[0] <= now - WINDOW:
            self._ended.popleft()
        count = len(self._ended)
        if not count:
            return None
        span = WINDOW if started_at is None else min(WINDOW, now - started_at)
        return count / max(span, 1.0)

    @staticmethod
    def seconds_left(remaining: int, per_second: float | None) -> float | None:
        return remaining / per_second if per_second else None
