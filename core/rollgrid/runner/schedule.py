"""Which attempt runs next. Pure: no clock, no I/O."""

import heapq
from collections.abc import Iterable
from typing import Literal, NamedTuple

Order = Literal["breadth", "task"]


class Slot(NamedTuple):
    """One take of one attempt: `task` counts from 0, `attempt` and `take` from 1."""

    task: int
    attempt: int
    take: int


class Schedule:
    """The attempts that are still to be run, in order.

    `breadth`: attempt 1 of every task, then attempt 2 of every task, and so on, so that the first wave samples every
    task and a fault shows before it was paid for k times. `task`: the first wave is the same, then the rest task by
    task, for a model that answers faster while one task's prompt is in its cache.
    """

    def __init__(self, slots: Iterable[Slot], order: Order = "breadth") -> None:
        self._order = order
        self._heap = [(self._rank(slot), slot) for slot in slots]
        heapq.heapify(self._heap)

    def _rank(self, slot: Slot) -> tuple[int, int, int]:
        if self._order == "task" and slot.attempt > 1:
            return (1, slot.task, slot.attempt)
        return (0, slot.attempt, slot.task)

    def __len__(self) -> int:
        return len(self._heap)

    def peek(self) -> Slot | None:
        """The next attempt, which stays, or None when nothing is left."""
        return self._heap[0][1] if self._heap else None

    def next(self) -> Slot | None:
        """Take the next attempt out, or None when nothing is left."""
        return heapq.heappop(self._heap)[1] if self._heap else None

    def add(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            heapq.heappush(self._heap, (self._rank(slot), slot))

    def __contains__(self, key: object) -> bool:
        """Whether this (task, attempt) is waiting."""
        return any((slot.task, slot.attempt) == key for _, slot in self._heap)
