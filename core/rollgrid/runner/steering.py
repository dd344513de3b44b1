"""What state a run is in, and what those who steer it may do with it."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rollgrid.runner.ledger import Key, Ledger
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.storm import Failure, Storm, StormWatch
from rollgrid.runner.targets import more_of, refuse_more
from rollgrid.store.events import ConcurrencyChanged, RunState, RunStateChanged, StormCalled, StormCleared

State = Literal["running", "paused", "stopping"]

AUTO = "auto"
"""In place of a number of attempts at once: as many as the endpoint bears, found out as the run goes on."""

ADAPTIVE_START = 4
"""Attempts at once before anything was found out."""


class Steering:
    """Pause, resume, stop, retry, concurrency, and the storms that pause or stop a run by themselves.

    Everything runs on one event loop, so no method needs a lock. The methods return at once and say in words why they
    cannot do what is asked, or None when it is done. `on_change` is called whenever more or less may be started now.
    """

    def __init__(
        self,
        plan: RunPlan,
        sink: EventSink,
        ledger: Ledger,
        concurrency: int,
        *,
        on_change: Callable[[], None],
        on_auto: Callable[[bool], None],
    ) -> None:
        self.state: State = "running"
        self.stopped_early: str | None = None
        self.why_stopped: str | None = None
        self.storm: Storm | None = None
        self.drain_until: float | None = None
        """When what is in flight is dropped (monotonic clock); None: it has all the time that it needs."""
        self._plan = plan
        self._sink = sink
        self._ledger = ledger
        self._on_change = on_change
        self._on_auto = on_auto
        self._storm_slots: list[Slot] = []
        self.limit = self._capped(concurrency)
        self._watch = StormWatch(self.limit, single_task=len(plan.tasks) == 1)
        self._began = time.monotonic()
        self._paused_at: float | None = None
        self._paused_seconds = 0.0
        self._suspended = False

    @property
    def active_seconds(self) -> float:
        """Time since the start without the pauses."""
        now = time.monotonic()
        open_pause = now - self._paused_at if self._paused_at is not None else 0.0
        return now - self._began - self._paused_seconds - open_pause

    def begin(self) -> None:
        """The clock of the active time starts."""
        self._began = time.monotonic()
        if self._paused_at is not None:
            self._paused_at = self._began

    def ended(self, slot: Slot, failure: Failure | None, *, cancelled: bool) -> None:
        """Look at a finished attempt with an eye on storms."""
        self._ledger.ended(slot, failure)
        if cancelled and self.state == "stopping":
            return
        if self.storm is not None:
            if failure is not None and failure.signature == self.storm.signature:
                self._storm_slots.append(slot)
            return
        storm = self._watch.observe(slot, failure)
        if storm is not None and len(self._ledger.schedule) and self.state != "stopping":
            self._call_storm(storm)

    def _call_storm(self, storm: Storm) -> None:
        self.storm = storm
        self._storm_slots = list(storm.slots)
        self._sink.append(
            StormCalled(
                run_id=self._plan.run_id,
                at=time.time(),
                signature=storm.signature,
                sample=storm.sample,
                count=len(storm.slots),
                window=storm.window,
            )
        )
        if self._plan.storm_action == "stop":
            self.stop("error-storm", reason=storm.sample)
        elif self.state == "running":
            self._set_state("paused", reason=f"error storm: {storm.sample}")

    # -- for those who steer ------------------------------------------------------------------------------------------

    def pause(self, author: str) -> str | None:
        if self.state != "running":
            return f"the run is {self.state}"
        self._set_state("paused", author=author)
        return None

    def resume(self, author: str) -> str | None:
        """Go on after a pause. After a storm its attempts are run again."""
        if self.state != "paused":
            return f"the run is {self.state}"
        if self.storm is not None:
            self.storm = None
            self._watch.reset()
            self._sink.append(StormCleared(run_id=self._plan.run_id, at=time.time(), author=author))
            self._ledger.again(self._storm_slots, "storm", author)
            self._storm_slots = []
        self._set_state("running", author=author)
        return None

    def stop(self, stopped_early: str, *, author: str | None = None, reason: str | None = None) -> str | None:
        """Start nothing more; what is in flight may finish. After an interrupt it has the drain limit for that."""
        if self.state == "stopping":
            return "the run is already stopping"
        self.stopped_early = stopped_early
        self.why_stopped = reason
        if stopped_early == "interrupted":
            self.drain_until = time.monotonic() + self._plan.drain_seconds
        self._set_state("stopping", author=author, reason=reason or stopped_early)
        return None

    def set_concurrency(self, limit: int | str, author: str | None, reason: str) -> str | None:
        """A number, or `auto`. `author` None: found out, not asked for."""
        if isinstance(limit, str):
            if limit != AUTO:
                return f"the concurrency is a number or `{AUTO}`"
            self._on_auto(True)
            return None
        if limit < 1:
            return "the concurrency must be at least 1"
        if author is not None:
            self._on_auto(False)
        self.limit = self._capped(limit)
        self._watch.set_concurrency(self.limit)
        self._sink.append(
            ConcurrencyChanged(run_id=self._plan.run_id, at=time.time(), limit=self.limit, reason=reason, author=author)
        )
        self._on_change()
        return None

    def retry(self, author: str, *, signature: str | None = None, key: Key | None = None) -> str | None:
        """Run finished attempts again: those of one error signature, or one (task, attempt)."""
        if self.state == "stopping":
            return "the run is stopping"
        chosen = self._ledger.failed_with(signature) if signature is not None else []
        if key is not None:
            chosen = [*chosen, *self._ledger.take_of(key)]
        if not chosen:
            return "no finished attempt of this session matches"
        self._ledger.again(chosen, "retry", author)
        self._on_change()
        return None

    def want(self, wanted: Mapping[int, int], *, reason: str, author: str | None = None) -> str | None:
        """From now on these tasks (by position) want so many attempts. `author` None: a rule decides, not a person."""
        if self.state == "stopping":
            return "the run is stopping"
        if self._ledger.want(wanted, None, reason, author):
            self._on_change()
        return None

    def more(self, tasks: Sequence[int] | None, n: int, author: str) -> str | None:
        """`n` further attempts of each of these tasks, None: of all tasks."""
        if self.state == "stopping":
            return "the run is stopping, and starts nothing more"
        targets = self._ledger.targets
        if tasks is not None and not all(0 <= task < len(targets) for task in tasks):
            return f"the run has tasks 0 to {len(targets) - 1}"
        refusal = refuse_more(n)
        if refusal is None:
            wanted, k = more_of(tuple(targets), targets.k, n, tasks)
            self._ledger.want(wanted, k, "asked for", author)
            self._on_change()
        return refusal

    # -- for the log, which has to take what is paid for ---------------------------------------------------------------

    def suspend(self, reason: str) -> None:
        """Start nothing more until `proceed`. Does nothing to a run that is not running."""
        if self.state == "running":
            self._suspended = True
            self._set_state("paused", reason=reason)

    def proceed(self) -> None:
        """The end of `suspend`. A storm that came meanwhile keeps the run paused."""
        if self._suspended and self.state == "paused":
            if self.storm is None:
                self._set_state("running", reason="the log can be written again")
            else:
                self._set_state("paused", reason=f"error storm: {self.storm.sample}")
        self._suspended = False

    # -- inside -------------------------------------------------------------------------------------------------------

    def _set_state(self, state: State, *, author: str | None = None, reason: str | None = None) -> None:
        now = time.monotonic()
        if self._paused_at is not None and state != "paused":
            self._paused_seconds += now - self._paused_at
            self._paused_at = None
        elif state == "paused" and self._paused_at is None:
            self._paused_at = now
        self.state = state
        logged: RunState = state
        self._sink.append(
            RunStateChanged(run_id=self._plan.run_id, at=time.time(), state=logged, reason=reason, author=author)
        )
        self._on_change()

    def _capped(self, concurrency: int) -> int:
        cap = self._plan.max_concurrency
        return min(concurrency, cap) if cap is not None else concurrency
