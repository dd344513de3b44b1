"""Which attempt runs next. Pure: no clock, no I/O."""

import heapq
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

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
        self._heap: list[tuple[tuple[int, int, int], Slot]] = []
        self._waiting: dict[int, dict[int, int]] = {}
        """By task and attempt, the take that waits. What was taken out again stays in the heap until it comes up."""
        self._n = 0
        self.add(slots)

    def _rank(self, slot: Slot) -> tuple[int, int, int]:
        if self._order == "task" and slot.attempt > 1:
            return (1, slot.task, slot.attempt)
        return (0, slot.attempt, slot.task)

    def __len__(self) -> int:
        return self._n

    def peek(self) -> Slot | None:
        """The next attempt, which stays, or None when nothing is left."""
        while self._heap:
            slot = self._heap[0][1]
            if self._waiting[slot.task].get(slot.attempt) == slot.take:
                return slot
            heapq.heappop(self._heap)
        return None

    def next(self) -> Slot | None:
        """Take the next attempt out, or None when nothing is left."""
        slot = self.peek()
        if slot is not None:
            heapq.heappop(self._heap)
            del self._waiting[slot.task][slot.attempt]
            self._n -= 1
        return slot

    def add(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            of_task = self._waiting.setdefault(slot.task, {})
            self._n += slot.attempt not in of_task
            of_task[slot.attempt] = slot.take
            heapq.heappush(self._heap, (self._rank(slot), slot))

    def drop(self, task: int, above: int) -> list[Slot]:
        """Take out what waits of this task with a higher attempt than `above`, and give it."""
        of_task = self._waiting.get(task, {})
        dropped = [Slot(task, attempt, take) for attempt, take in of_task.items() if attempt > above]
        for slot in dropped:
            del of_task[slot.attempt]
        self._n -= len(dropped)
        return dropped

    def __contains__(self, key: object) -> bool:
        """Whether this (task, attempt) is waiting."""
        task, attempt = cast("tuple[int, int]", key)
        return attempt in self._waiting.get(task, {})
