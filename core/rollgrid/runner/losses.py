"""Takes that count for nothing: those whose carrier was lost under them, and those that ended a second time."""

import time
from collections import Counter

from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.runner.budget import Budget
from rollgrid.runner.facts import Landing, ended_event, landing_of, spent_by
from rollgrid.runner.flight import Flight
from rollgrid.runner.ledger import Key, Ledger
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.transcript import transcript_of
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded, AttemptStarted

MAX_LOSSES = 3
"""An attempt under which so many carriers ended is not tried again: it may well be what ends them."""

LOST = "WorkerLost"


class Losses:
    """Puts them into the log and the budget, and sees to it that a lost attempt is run again."""

    def __init__(self, run_id: str, sink: EventSink, ledger: Ledger, budget: Budget) -> None:
        self._run_id = run_id
        self._sink = sink
        self._ledger = ledger
        self._budget = budget
        self._times: Counter[Key] = Counter()

    def lost(self, flight: Flight, why: str) -> Landing | None:
        """The take ends as superseded, with what it had brought, and the next one waits; None.

        For an attempt that was lost too often: the error that it ends with.
        """
        slot = flight.slot
        key = (slot.task, slot.attempt)
        self._times[key] += 1
        is_last = self._times[key] >= MAX_LOSSES
        times = f", for the {MAX_LOSSES}rd time" if is_last else ""
        result = AttemptResult(
            run=flight.output,
            score=None,
            stop_reason=StopReason.error if is_last else StopReason.cancelled,
            duration_seconds=time.monotonic() - flight.launched_at,
            error=f"the worker was lost during this attempt{times}: {why}",
            error_type=LOST,
        )
        if is_last:
            return landing_of(self._run_id, slot, result, flight.passage)
        event = ended_event(self._run_id, time.time(), slot, result, flight.passage)
        self._sink.append(event, encode(transcript_of(result.run)))
        self._budget.pay(spent_by(event))
        self._ledger.supersede(slot, "worker-lost", None)
        self._ledger.schedule.add([self._ledger.next_take(slot)])
        return None

    def late(self, slot: Slot, started_at: float, event: AttemptEnded, body: bytes) -> None:
        """Keep what came after its attempt had ended, as a superseded take of its own."""
        task, attempt, take = fresh = self._ledger.next_take(slot)
        self._sink.append(AttemptStarted(run_id=self._run_id, at=started_at, task=task, attempt=attempt, take=take))
        self._sink.append(event.model_copy(update={"take": take}), body)
        self._budget.pay(spent_by(event))
        self._ledger.supersede(fresh, "late", None)
