"""How many calls an endpoint bears at once, found out while a run goes on. Pure: the clock is the caller's."""

from collections.abc import Callable
from statistics import median

SMALLEST_ROUND = 8
"""A judgement on latency takes at least this many answers."""

_INFLATED = 2.0
_NOTICEABLE_SECONDS = 0.1
_DRIFT = 0.05


class AdaptiveLimit:
    """Additive increase, multiplicative decrease (AIMD, as TCP does it; Chiu and Jain 1989).

    `limit` starts at `start` and doubles with every round of answers (as many as the limit) until the first sign of
    congestion; from then on it grows by one a round. It only grows while it is what holds calls back. A refusal for
    overload (429, 503, no answer in time) halves it; a round whose median latency is more than twice the best one seen
    takes it to three quarters. Whatever was sent before a cut says nothing about the limit after it, so one burst of
    refusals cuts once.
    """

    def __init__(self, clock: Callable[[], float], *, start: int = 4, floor: int = 1, ceiling: int = 256) -> None:
        self.limit = max(floor, min(start, ceiling))
        self.reason = "start"
        """Why the limit is what it is, in words."""
        self._clock = clock
        self._floor, self._ceiling = floor, ceiling
        self._is_probing = True
        self._since = float("-inf")
        self._answers = 0
        self._latencies: list[float] = []
        self._best: float | None = None

    def answered(self, sent_at: float, latency: float, *, held_back: bool) -> bool:
        """A call that was sent at `sent_at` went well. `held_back`: more would have been sent if the limit allowed.

        True when the limit has changed.
        """
        if sent_at < self._since:
            return False
        self._latencies.append(latency)
        if self._is_inflated():
            return self._cut(0.75, f"answers take {self._shown()}")
        self._answers += held_back
        if self._answers < self.limit:
            return False
        self._answers = 0
        grown = min(self._ceiling, self.limit * 2 if self._is_probing else self.limit + 1)
        if grown == self.limit:
            return False
        self.limit, self.reason = grown, "no sign of congestion"
        return True

    def refused(self, sent_at: float, why: str) -> bool:
        """A call that was sent at `sent_at` met an overload. True when the limit has changed."""
        return sent_at >= self._since and self._cut(0.5, why)

    def _is_inflated(self) -> bool:
        if len(self._latencies) < max(SMALLEST_ROUND, self.limit):
            return False
        self._last = median(self._latencies)
        self._latencies.clear()
        if self._best is None or self._last < self._best:
            self._best = self._last
        if self._last > _INFLATED * self._best and self._last - self._best > _NOTICEABLE_SECONDS:
            return True
        # Tasks may get longer in the course of a run without anything being wrong.
        self._best += _DRIFT * (self._last - self._best)
        return False

    def _shown(self) -> str:
        return f"{self._last:.1f} s, at best {self._best:.1f} s"

    def _cut(self, factor: float, why: str) -> bool:
        # Equal times are told apart by what came first, so what is sent in this very moment counts as sent after.
        self._since = self._clock()
        self._is_probing = False
        self._answers = 0
        self._latencies.clear()
        cut = max(self._floor, int(self.limit * factor))
        changed = cut != self.limit
        self.limit, self.reason = cut, why
        return changed
