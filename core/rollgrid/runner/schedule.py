"""Which attempt runs next. Pure: no clock, no I/O."""

import heapq
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

from rollgrid.runner.dense import PerAttempt

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
        self._planned = sorted(slots, key=self._rank, reverse=True)
        """What was there from the start, the next one last. Sorted once, these need no place in the heap."""
        self._heap: list[tuple[tuple[int, int, int], Slot]] = []
        self._waiting = PerAttempt()
        """The take of each attempt that waits. What was taken out again stays where it is until it comes up."""
        for slot in self._planned:
            self._waiting.put(*slot)
        self._n = len(self._planned)

    def _rank(self, slot: Slot) -> tuple[int, int, int]:
        if self._order == "task" and slot.attempt > 1:
            return (1, slot.task, slot.attempt)
        return (0, slot.attempt, slot.task)

    def __len__(self) -> int:
        return self._n

    def peek(self) -> Slot | None:
        """The next attempt, which stays, or None when nothing is left."""
        while self._planned or self._heap:
            slot = self._heap[0][1] if self._is_heap_next() else self._planned[-1]
            if self._waiting.get(slot.task, slot.attempt) == slot.take:
                return slot
            self._pop()
        return None

    def _is_heap_next(self) -> bool:
        if not self._planned or not self._heap:
            return not self._planned
        return self._heap[0][0] < self._rank(self._planned[-1])

    def _pop(self) -> None:
        if self._is_heap_next():
            heapq.heappop(self._heap)
        else:
            self._planned.pop()

    def next(self) -> Slot | None:
        """Take the next attempt out, or None when nothing is left."""
        slot = self.peek()
        if slot is not None:
            self._pop()
            self._waiting.put(slot.task, slot.attempt, 0)
            self._n -= 1
        return slot

    def add(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            self._n += not self._waiting.get(slot.task, slot.attempt)
            self._waiting.put(*slot)
            heapq.heappush(self._heap, (self._rank(slot), slot))

    def drop(self, task: int, above: int) -> list[Slot]:
        """Take out what waits of this task with a higher attempt than `above`, and give it."""
        dropped = [Slot(task, attempt, take) for attempt, take in self._waiting.of_task(task) if attempt > above]
        for slot in dropped:
            self._waiting.put(slot.task, slot.attempt, 0)
        self._n -= len(dropped)
        return dropped

    def __contains__(self, key: object) -> bool:
        """Whether this (task, attempt) is waiting."""
        return bool(self._waiting.get(*cast("tuple[int, int]", key)))
