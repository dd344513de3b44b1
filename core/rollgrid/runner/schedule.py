"""Which attempt runs next. Pure: no clock, no I/O."""

import heapq
import math
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, cast

from rollgrid.runner.dense import PerAttempt

Order = Literal["breadth", "task"]


class Slot(NamedTuple):
    """One take of one attempt: `task` counts from 0, `attempt` and `take` from 1."""

    task: int
    attempt: int
    take: int


_Rank = tuple[int, float, int, int]


class Schedule:
    """The attempts that are still to be run, in order.

    `breadth`: attempt 1 of every task, then attempt 2 of every task, and so on, so that the first wave samples every
    task and a fault shows before it was paid for k times. `task`: the first wave is the same, then the rest task by
    task, for a model that answers faster while one task's prompt is in its cache. Tasks that are preferred (`prefer`)
    come after the first wave, by urgency.
    """

    def __init__(self, slots: Iterable[Slot], order: Order = "breadth") -> None:
        self._order = order
        self._urgency: dict[int, float] = {}
        self._wave = 1
        self._planned = sorted(slots, key=self._rank, reverse=True)
        """What was there from the start, the next one last. Sorted once, these need no place in the heap."""
        self._heap: list[tuple[_Rank, Slot]] = []
        self._waiting = PerAttempt()
        """The take of each attempt that waits. What was taken out again stays where it is until it comes up."""
        for slot in self._planned:
            self._waiting.put(*slot)
        self._n = len(self._planned)

    def _rank(self, slot: Slot) -> _Rank:
        by_task = self._order == "task"
        if slot.attempt > (1 if by_task else self._wave) and (by_task or slot.task in self._urgency):
            return (1, self._urgency.get(slot.task, math.inf), slot.task, slot.attempt)
        return (0, float(slot.attempt), slot.task, slot.attempt)

    def __len__(self) -> int:
        return self._n

    def peek(self) -> Slot | None:
        """The next attempt, which stays, or None when nothing is left."""
        while self._planned or self._heap:
            rank, slot = self._heap[0] if self._is_heap_next() else (None, self._planned[-1])
            if self._waiting.get(slot.task, slot.attempt) == slot.take and rank in (None, self._rank(slot)):
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

    def prefer(self, urgency: Mapping[int, float], wave: int) -> None:
        """Attempts of these tasks after the first `wave` come in the order of their task's urgency, the least first."""
        self._wave = wave
        planned, self._planned = self._planned, []
        self._push(planned)
        for task, value in urgency.items():
            if self._urgency.get(task) != value:
                self._urgency[task] = value
                # Their old places in the heap no longer fit their rank, and are passed over.
                self._push(Slot(task, attempt, take) for attempt, take in self._waiting.of_task(task))

    def _push(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
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
