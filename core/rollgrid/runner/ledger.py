"""Which take of each attempt counts, and which attempts are still to be run."""

import sys
import time
from collections.abc import Iterable, Mapping

from rollgrid.runner.dense import Key, PerAttempt
from rollgrid.runner.schedule import Order, Schedule, Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.storm import Failure
from rollgrid.runner.targets import Targets
from rollgrid.store.events import AttemptSuperseded, TargetsChanged


class Ledger:
    """Keeps the takes of a run. Every take that no longer counts is told to the log."""

    def __init__(
        self,
        run_id: str,
        sink: EventSink,
        slots: Iterable[Slot],
        takes: Mapping[Key, int],
        order: Order,
        targets: Targets,
    ) -> None:
        self._run_id = run_id
        self._sink = sink
        slots = tuple(slots)
        self.schedule = Schedule(slots, order)
        self.targets = targets
        self._takes = PerAttempt(takes)
        for slot in slots:
            self._takes.put(*slot)
        self._current = PerAttempt()
        self._failed: dict[Key, str] = {}
        """The signatures of those that failed."""

    def ended(self, slot: Slot, failure: Failure | None) -> None:
        """This take counts from now on."""
        self._current.put(*slot)
        if failure is not None:
            # One text for all failures of a kind, not one each.
            self._failed[slot.task, slot.attempt] = sys.intern(failure.signature)
        elif self._failed:
            self._failed.pop((slot.task, slot.attempt), None)

    def want(self, wanted: Mapping[int, int], k: int | None, reason: str, author: str | None) -> bool:
        """From now on these tasks want so many attempts. Gives whether that changes anything, and tells the log if so.

        Attempts that have begun stay: a task never wants fewer than it has had.
        """
        targets, fresh = self.targets, list[Slot]()
        changed: dict[int, int] = {}
        for task, n in wanted.items():
            for attempt in range(targets[task] + 1, n + 1):
                fresh.append(self._next_take(task, attempt))
            waited = {slot.attempt: slot for slot in self.schedule.drop(task, n)}
            changed[task] = max((a for a in range(n + 1, targets[task] + 1) if a not in waited), default=n)
            for attempt, slot in waited.items():
                if attempt <= changed[task]:
                    fresh.append(slot)
                else:
                    self._takes.put(task, attempt, self._takes.get(task, attempt) - 1)
        before = targets.k
        changed = targets.change(changed, k)
        if not changed and targets.k == before:
            return False
        self.schedule.add(fresh)
        self._sink.append(
            TargetsChanged(
                run_id=self._run_id,
                at=time.time(),
                targets=tuple(sorted(changed.items())),
                k=targets.k,
                n_planned=targets.total,
                reason=reason,
                author=author,
            )
        )
        return True

    def failed_with(self, signature: str) -> list[Slot]:
        """The takes of this session that count and failed in this way."""
        return [Slot(*key, self._current.get(*key)) for key, known in self._failed.items() if known == signature]

    def take_of(self, key: Key) -> list[Slot]:
        """The take of this attempt that counts, if it was made in this session."""
        take = self._current.get(*key)
        return [Slot(*key, take)] if take else []

    def again(self, slots: Iterable[Slot], why: str, author: str) -> None:
        """Supersede these takes and schedule the next take of each. One that no longer counts is passed over."""
        fresh: list[Slot] = []
        for slot in slots:
            task, attempt, take = slot
            if self._current.get(task, attempt) != take:
                continue
            self._current.put(task, attempt, 0)
            self._failed.pop((task, attempt), None)
            self.supersede(slot, why, author)
            fresh.append(self.next_take(slot))
        self.schedule.add(fresh)

    def next_take(self, slot: Slot) -> Slot:
        """The take that comes after all those which this attempt has had."""
        return self._next_take(slot.task, slot.attempt)

    def _next_take(self, task: int, attempt: int) -> Slot:
        take = self._takes.get(task, attempt) + 1
        self._takes.put(task, attempt, take)
        return Slot(task, attempt, take)

    def supersede(self, slot: Slot, why: str, author: str | None) -> None:
        task, attempt, take = slot
        self._sink.append(
            AttemptSuperseded(
                run_id=self._run_id, at=time.time(), task=task, attempt=attempt, take=take, why=why, author=author
            )
        )
