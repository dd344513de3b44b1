"""Which take of each attempt counts, and which attempts are still to be run."""

import time
from collections.abc import Iterable, Mapping

from rollgrid.runner.schedule import Order, Schedule, Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.storm import Failure
from rollgrid.runner.targets import Targets
from rollgrid.store.events import AttemptSuperseded, TargetsChanged

Key = tuple[int, int]


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
        self._takes = dict(takes)
        for slot in slots:
            self._takes[slot.task, slot.attempt] = slot.take
        self._current: dict[Key, tuple[Slot, Failure | None]] = {}

    def ended(self, slot: Slot, failure: Failure | None) -> None:
        """This take counts from now on."""
        self._current[slot.task, slot.attempt] = (slot, failure)

    def want(self, wanted: Mapping[int, int], k: int | None, reason: str, author: str | None) -> bool:
        """From now on these tasks want so many attempts. Gives whether that changes anything, and tells the log if so.

        Attempts that have begun stay: a task never wants fewer than it has had.
        """
        targets, fresh = self.targets, list[Slot]()
        changed: dict[int, int] = {}
        for task, n in wanted.items():
            for attempt in range(targets[task] + 1, n + 1):
                key = (task, attempt)
                self._takes[key] = self._takes.get(key, 0) + 1
                fresh.append(Slot(*key, self._takes[key]))
            waited = {slot.attempt: slot for slot in self.schedule.drop(task, n)}
            changed[task] = max((a for a in range(n + 1, targets[task] + 1) if a not in waited), default=n)
            for attempt, slot in waited.items():
                if attempt <= changed[task]:
                    fresh.append(slot)
                else:
                    self._takes[task, attempt] -= 1
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
        return [slot for slot, failure in self._current.values() if failure and failure.signature == signature]

    def take_of(self, key: Key) -> list[Slot]:
        """The take of this attempt that counts, if it was made in this session."""
        found = self._current.get(key)
        return [] if found is None else [found[0]]

    def again(self, slots: Iterable[Slot], why: str, author: str) -> None:
        """Supersede these takes and schedule the next take of each. One that no longer counts is passed over."""
        fresh: list[Slot] = []
        for slot in slots:
            key = (slot.task, slot.attempt)
            if self._current.get(key, (None,))[0] != slot:
                continue
            del self._current[key]
            self.supersede(slot, why, author)
            fresh.append(self.next_take(slot))
        self.schedule.add(fresh)

    def next_take(self, slot: Slot) -> Slot:
        key = (slot.task, slot.attempt)
        self._takes[key] += 1
        return Slot(*key, self._takes[key])

    def supersede(self, slot: Slot, why: str, author: str | None) -> None:
        task, attempt, take = slot
        self._sink.append(
            AttemptSuperseded(
                run_id=self._run_id, at=time.time(), task=task, attempt=attempt, take=take, why=why, author=author
            )
        )
