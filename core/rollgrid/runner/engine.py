"""Runs the attempts of a plan, a few at a time, and answers to those who steer it."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Literal
from uuid import uuid4

from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.runner.attempt import Abandoned, run_attempt
from rollgrid.runner.facts import ended_event, failure_of, transcript_of
from rollgrid.runner.flight import SNAPSHOT_SECONDS, Flight
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.schedule import Schedule, Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.storm import Failure, Storm, StormWatch
from rollgrid.store.codec import encode
from rollgrid.store.events import (
    AttemptStarted,
    AttemptSuperseded,
    ConcurrencyChanged,
    Notice,
    RunState,
    RunStateChanged,
    StormCalled,
    StormCleared,
)

State = Literal["running", "paused", "stopping"]
OnResult = Callable[[Slot, AttemptResult], None]
Key = tuple[int, int]


class Engine:
    """One pass over a plan. Decisions (`Schedule`, `StormWatch`) are pure; this class has the effects.

    Everything runs on one event loop, so no method needs a lock. The steering methods return at once and say in words
    why they cannot do what is asked, or None when it is done.
    """

    def __init__(self, plan: RunPlan, sink: EventSink, *, concurrency: int, on_result: OnResult) -> None:
        self.plan = plan
        self.state: State = "running"
        self.stopped_early: str | None = None
        self.storm: Storm | None = None
        self.flights: dict[Slot, Flight] = {}
        self.abandoned: dict[asyncio.Task[None], Abandoned] = {}
        self._sink = sink
        self._on_result = on_result
        self._schedule = Schedule(plan.slots, plan.order)
        self._takes = dict(plan.takes)
        for slot in plan.slots:
            self._takes[slot.task, slot.attempt] = slot.take
        self._current: dict[Key, tuple[Slot, Failure | None]] = {}
        self._storm_slots: list[Slot] = []
        self._limit = self._capped(concurrency)
        self._watch = StormWatch(self._limit, single_task=len(plan.tasks) == 1)
        self._wake = asyncio.Event()
        self._drain_until: float | None = None
        self._paused_at: float | None = None
        self._paused_seconds = 0.0
        self._began = time.monotonic()

    @property
    def concurrency(self) -> int:
        return self._limit

    @property
    def active_seconds(self) -> float:
        """Time since the start without the pauses."""
        now = time.monotonic()
        open_pause = now - self._paused_at if self._paused_at is not None else 0.0
        return now - self._began - self._paused_seconds - open_pause

    async def run(self) -> None:
        """Run until nothing is left, or until a stop; attempts that were started are finished or cancelled by then."""
        self._began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                ticker = group.create_task(self._tick())
                while True:
                    while (
                        self.state == "running" and len(self.flights) < self._limit and (slot := self._schedule.next())
                    ):
                        self._launch(group, slot)
                    if not self.flights and (self.state == "stopping" or not len(self._schedule)):
                        break
                    await self._wake.wait()
                    self._wake.clear()
                ticker.cancel()
        finally:
            await self._part_with_abandoned()

    def _launch(self, group: asyncio.TaskGroup, slot: Slot) -> None:
        session = uuid4().hex
        flight = Flight(
            self.plan.run_id,
            slot,
            self._sink,
            seed=self.plan.seed_of(slot),
            session_id=f"rollout-{session}",
            user_id=f"rollout-{session[:12]}",
        )
        self.flights[slot] = flight
        task, attempt, take = slot
        self._sink.append(
            AttemptStarted(
                run_id=self.plan.run_id, at=flight.started_at, task=task, attempt=attempt, take=take, seed=flight.seed
            )
        )
        flight.task = group.create_task(self._fly(flight))

    async def _fly(self, flight: Flight) -> None:
        slot = flight.slot
        task = self.plan.tasks[slot.task]
        began = time.monotonic()
        try:
            result = await run_attempt(
                self.plan.make_agent,
                self.plan.scorer,
                task.input,
                task.expected,
                flight.context,
                timeout_seconds=self.plan.timeout_seconds,
                on_scoring=flight.on_scoring,
                on_abandoned=lambda work, left: self._abandon(flight, work, left),
            )
        except asyncio.CancelledError:
            self._land(flight, _cancelled(flight, time.monotonic() - began))
            if not flight.dropped:
                raise
            return
        self._land(flight, result)

    def _land(self, flight: Flight, result: AttemptResult) -> None:
        """Take one finished attempt in: log, storm watch, caller."""
        slot = flight.slot
        del self.flights[slot]
        self._wake.set()
        result.index, result.take = slot.attempt, slot.take
        event = ended_event(self.plan.run_id, time.time(), slot, result)
        self._sink.append(event, encode(transcript_of(result.run)))
        failure = failure_of(result)
        self._current[slot.task, slot.attempt] = (slot, failure)
        self._on_result(slot, result)
        if result.stop_reason is StopReason.cancelled and self.state == "stopping":
            return
        if self.storm is not None:
            if failure is not None and failure.signature == self.storm.signature:
                self._storm_slots.append(slot)
            return
        storm = self._watch.observe(slot, failure)
        if storm is not None and len(self._schedule):
            self._call_storm(storm)

    def _call_storm(self, storm: Storm) -> None:
        self.storm = storm
        self._storm_slots = list(storm.slots)
        self._sink.append(
            StormCalled(
                run_id=self.plan.run_id,
                at=time.time(),
                signature=storm.signature,
                sample=storm.sample,
                count=len(storm.slots),
                window=storm.window,
            )
        )
        if self.plan.storm_action == "stop":
            self.stop("error-storm", reason=storm.sample)
        elif self.state == "running":
            self._set_state("paused", reason=f"error storm: {storm.sample}")

    # -- steering ---------------------------------------------------------------------------------------------------

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
            self._sink.append(StormCleared(run_id=self.plan.run_id, at=time.time(), author=author))
            self._again(self._storm_slots, "storm", author)
            self._storm_slots = []
        self._set_state("running", author=author)
        return None

    def stop(self, stopped_early: str, *, author: str | None = None, reason: str | None = None) -> str | None:
        """Start nothing more; what is in flight may finish within the drain limit."""
        if self.state == "stopping":
            return "the run is already stopping"
        self.stopped_early = stopped_early
        self._drain_until = time.monotonic() + self.plan.drain_seconds
        self._set_state("stopping", author=author, reason=reason or stopped_early)
        return None

    def drop_flights(self) -> None:
        """Cancel what is in flight; each such attempt is kept with what had arrived."""
        self._drain_until = time.monotonic()
        for flight in self.flights.values():
            if flight.task is not None and not flight.dropped:
                flight.dropped = True
                flight.task.cancel()

    def set_concurrency(self, limit: int, author: str | None, reason: str) -> str | None:
        if limit < 1:
            return "the concurrency must be at least 1"
        self._limit = self._capped(limit)
        self._watch.set_concurrency(self._limit)
        self._sink.append(
            ConcurrencyChanged(run_id=self.plan.run_id, at=time.time(), limit=self._limit, reason=reason, author=author)
        )
        self._wake.set()
        return None

    def retry(self, author: str, *, signature: str | None = None, key: Key | None = None) -> str | None:
        """Run finished attempts again: those of one error signature, or one (task, attempt)."""
        if self.state == "stopping":
            return "the run is stopping"
        chosen = [
            slot
            for at, (slot, failure) in self._current.items()
            if at == key or (failure is not None and failure.signature == signature)
        ]
        if not chosen:
            return "no finished attempt of this session matches"
        self._again(chosen, "retry", author)
        self._wake.set()
        return None

    def _again(self, slots: Iterable[Slot], why: str, author: str) -> None:
        """Supersede these takes and schedule the next take of each."""
        fresh: list[Slot] = []
        for slot in slots:
            key = (slot.task, slot.attempt)
            if self._current.get(key, (None,))[0] != slot:
                continue  # already run again, or running
            del self._current[key]
            self._supersede(slot, why, author)
            self._takes[key] += 1
            fresh.append(Slot(slot.task, slot.attempt, self._takes[key]))
        self._schedule.add(fresh)

    def _supersede(self, slot: Slot, why: str, author: str | None) -> None:
        task, attempt, take = slot
        self._sink.append(
            AttemptSuperseded(
                run_id=self.plan.run_id, at=time.time(), task=task, attempt=attempt, take=take, why=why, author=author
            )
        )

    def _set_state(self, state: State, *, author: str | None = None, reason: str | None = None) -> None:
        now = time.monotonic()
        if self._paused_at is not None and state != "paused":
            self._paused_seconds += now - self._paused_at
            self._paused_at = None
        elif state == "paused":
            self._paused_at = now
        self.state = state
        self._wake.set()
        logged: RunState = state
        self._sink.append(
            RunStateChanged(run_id=self.plan.run_id, at=time.time(), state=logged, reason=reason, author=author)
        )

    def _capped(self, concurrency: int) -> int:
        cap = self.plan.max_concurrency
        return min(concurrency, cap) if cap is not None else concurrency

    # -- keeping watch ----------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(SNAPSHOT_SECONDS)
            now = time.monotonic()
            for flight in self.flights.values():
                flight.tick(now)
            if self._drain_until is not None and now >= self._drain_until and self.flights:
                self.drop_flights()

    def _abandon(self, flight: Flight, work: "asyncio.Task[None]", left: Abandoned) -> None:
        self.abandoned[work] = left
        task = self.plan.tasks[flight.slot.task]
        self._notice(f"attempt {flight.slot.attempt} of {task.id} ignores its cancellation and was left behind")
        work.add_done_callback(lambda done: self._late(flight, done))

    def _late(self, flight: Flight, work: "asyncio.Task[None]") -> None:
        """Keep what an abandoned attempt brought after all, as a superseded take that counts for nothing."""
        left = self.abandoned.pop(work)
        if work.cancelled() or work.exception() is not None:
            return
        key = (flight.slot.task, flight.slot.attempt)
        self._takes[key] += 1
        slot = Slot(*key, self._takes[key])
        result = left.late_result(time.time() - flight.started_at)
        task, attempt, take = slot
        self._sink.append(
            AttemptStarted(run_id=self.plan.run_id, at=flight.started_at, task=task, attempt=attempt, take=take)
        )
        event = ended_event(self.plan.run_id, time.time(), slot, result).model_copy(update=left.late_tokens())
        self._sink.append(event, encode(transcript_of(result.run)))
        self._supersede(slot, "late", None)

    async def _part_with_abandoned(self) -> None:
        """Give abandoned work one last chance to end, then leave it."""
        if not self.abandoned:
            return
        for work in self.abandoned:
            work.cancel()
        await asyncio.wait(set(self.abandoned), timeout=1.0)

    def _notice(self, text: str) -> None:
        self._sink.append(Notice(run_id=self.plan.run_id, at=time.time(), level="warning", text=text))


def _cancelled(flight: Flight, elapsed: float) -> AttemptResult:
    return AttemptResult(
        run=flight.context.output,
        score=None,
        stop_reason=StopReason.cancelled,
        duration_seconds=elapsed,
        error="cancelled before it had finished",
        error_type="Cancelled",
    )
