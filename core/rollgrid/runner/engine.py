"""Runs the attempts of a plan, a few at a time."""

import asyncio
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.runner.budget import Budget, Limits, Spent
from rollgrid.runner.carrier import Base, CarrierLost, LocalCarrier, MakeCarrier
from rollgrid.runner.facts import Landing, cancelled_result, landing_of, spent_by
from rollgrid.runner.flight import SNAPSHOT_SECONDS, Flight
from rollgrid.runner.lanes import LaneListener, Lanes
from rollgrid.runner.ledger import Ledger
from rollgrid.runner.losses import Losses
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.steering import AUTO, Steering
from rollgrid.runner.targets import Targets
from rollgrid.store.events import AttemptStarted, EndpointPaused

OnResult = Callable[[Slot, AttemptResult], None]


class Engine:
    """One pass over a plan. Decisions are made by pure parts (schedule, storm watch, budget, adaptive limit); this
    class has the effects. Who steers it does so through `steering`.

    Everything runs on one event loop, so no method needs a lock.
    """

    def __init__(
        self,
        plan: RunPlan,
        sink: EventSink,
        *,
        concurrency: int,
        on_result: OnResult,
        adaptive: bool = False,
        budget: Budget | None = None,
        make_carrier: MakeCarrier = LocalCarrier,
    ) -> None:
        self.plan = plan
        self.flights: dict[Slot, Flight] = {}
        self.budget = budget or Budget(Limits())
        self.lanes = Lanes(
            LaneListener(on_pause=self._lane_paused, on_limit=self._lane_limited, on_room=self._look_again),
            max_calls=plan.max_concurrency,
        )
        targets = Targets(plan.k, plan.targets or (plan.k,) * len(plan.tasks))
        self.ledger = Ledger(plan.run_id, sink, plan.slots, plan.takes, plan.order, targets)
        self._losses = Losses(plan.run_id, sink, self.ledger, self.budget)
        self.steering = Steering(plan, sink, self.ledger, concurrency, on_change=self._look_again, on_auto=self._adapt)
        self.holding: str | None = None
        """Why nothing more is started although the limit would let it, in words."""
        self._sink = sink
        self._on_result = on_result
        self._wake = asyncio.Event()
        self._is_adaptive = False
        self._unsaved = 0
        self.carrier = make_carrier(
            Base(plan, sink, self.lanes, self._losses.late, on_room=self._look_again, on_stranded=self._stranded)
        )
        if adaptive:
            self._adapt(True)

    @property
    def concurrency(self) -> int:
        return self.steering.limit

    @property
    def is_adaptive(self) -> bool:
        return self._is_adaptive

    async def run(self) -> None:
        """Run until nothing is left, or until a stop; attempts that were started are finished or cancelled by then."""
        steering, schedule = self.steering, self.ledger.schedule
        steering.begin()
        try:
            async with asyncio.TaskGroup() as group:
                ticker = group.create_task(self._tick())
                while True:
                    self._wake.clear()
                    self._launch_what_may(group)
                    if not self.flights and (steering.state == "stopping" or not len(schedule)):
                        break
                    await self._wake.wait()
                ticker.cancel()
        finally:
            self.lanes.close()
            await self.carrier.part()

    # -- launching ----------------------------------------------------------------------------------------------------

    def _launch_what_may(self, group: asyncio.TaskGroup) -> None:
        self.holding = None
        steering, schedule = self.steering, self.ledger.schedule
        lane = self.lanes.at(self.plan.endpoint)
        lane.backlog = False
        while steering.state == "running" and (slot := schedule.peek()) is not None:
            # An attempt whose end is not on disk yet holds its place: after a crash no more than these is run again.
            if len(self.flights) + self._unsaved >= steering.limit:
                lane.backlog = True
                return
            self.holding = self.carrier.why_no_room()
            if self.holding is not None:
                return
            if not lane.has_room(self.plan.model_id):
                self.holding = lane.why_no_room(self.plan.model_id)
                return
            verdict, why = self.budget.verdict(slot.task, self._under_way(), steering.active_seconds)
            if verdict == "stop":
                steering.stop("budget", reason=f"budget, {why}")
                return
            if verdict == "wait":
                self.holding = f"budget, {why}"
                return
            schedule.next()
            self._launch(group, slot)

    def _under_way(self) -> Iterator[tuple[int, Spent]]:
        # Only looked at where something is limited: it would make each launch as dear as all that is in flight.
        return ((slot.task, flight.spent()) for slot, flight in self.flights.items())

    def _launch(self, group: asyncio.TaskGroup, slot: Slot) -> None:
        session = uuid4().hex
        flight = Flight(
            self.plan.run_id,
            slot,
            self._sink,
            self.lanes,
            self.plan.prices,
            seed=self.plan.seed_of(slot),
            session_id=f"rollout-{session}",
            user_id=f"rollout-{session[:12]}",
        )
        self.flights[slot] = flight
        if self.plan.model_id:
            flight.passage.expect(self.lanes.at(self.plan.endpoint))
        task, attempt, take = slot
        self._sink.append(
            AttemptStarted(
                run_id=self.plan.run_id, at=flight.started_at, task=task, attempt=attempt, take=take, seed=flight.seed
            )
        )
        flight.task = group.create_task(self._fly(flight))

    async def _fly(self, flight: Flight) -> None:
        try:
            landing = await self.carrier.carry_out(flight)
        except asyncio.CancelledError:
            result = cancelled_result(flight.output, time.monotonic() - flight.launched_at)
            self._land(flight, landing_of(self.plan.run_id, flight.slot, result, flight.passage))
            if not flight.dropped:
                raise
            return
        except CarrierLost as lost:
            self._lose(flight, str(lost))
            return
        self._land(flight, landing)

    def _lose(self, flight: Flight, why: str) -> None:
        """The attempt is run again, unless it was lost too often."""
        landing = self._losses.lost(flight, why)
        if landing is not None:
            self._land(flight, landing)
            return
        del self.flights[flight.slot]
        flight.passage.close()
        self._wake.set()

    def _land(self, flight: Flight, landing: Landing) -> None:
        """Take one finished attempt in: log, storm watch, caller."""
        slot, result = flight.slot, landing.result
        del self.flights[slot]
        flight.passage.close()
        result.index, result.take = slot.attempt, slot.take
        self._sink.append(landing.event, landing.body)
        self._unsaved += 1
        self._sink.when_saved(self._saved)
        self.budget.ended(slot.task, spent_by(landing.event))
        self._on_result(slot, result)
        if not self.plan.model_id:
            self.lanes.at(self.plan.endpoint).observed(flight.launched_at, result.status, well=result.error is None)
        cancelled = result.stop_reason is StopReason.cancelled
        self.steering.ended(slot, landing.failure, cancelled=cancelled)
        self._wake.set()

    def _saved(self) -> None:
        self._unsaved -= 1
        self._wake.set()

    # -- the endpoints ------------------------------------------------------------------------------------------------

    def _look_again(self) -> None:
        self._wake.set()

    def _stranded(self, why: str) -> None:
        self.steering.stop("workers-lost", reason=why)

    def _adapt(self, on: bool) -> None:
        """Find the concurrency out from now on, or leave it as it is."""
        if on == self._is_adaptive:
            return
        self._is_adaptive = on
        self.lanes.adapt(on)
        adaptive = self.lanes.at(self.plan.endpoint).adaptive
        if adaptive is not None:
            self._lane_limited(self.plan.endpoint, adaptive.limit, adaptive.reason)

    def _lane_limited(self, endpoint: str, limit: int, reason: str) -> None:
        if endpoint == self.plan.endpoint:
            self.steering.set_concurrency(limit, None, f"{AUTO}: {reason}")

    def _lane_paused(self, endpoint: str, seconds: float, reason: str) -> None:
        self._sink.append(
            EndpointPaused(run_id=self.plan.run_id, at=time.time(), endpoint=endpoint, seconds=seconds, reason=reason)
        )

    # -- the end of attempts ------------------------------------------------------------------------------------------

    def drop_flights(self) -> None:
        """Cancel what is in flight; each such attempt is kept with what had arrived."""
        self.steering.drain_until = time.monotonic()
        for flight in self.flights.values():
            if flight.task is not None and not flight.dropped:
                flight.dropped = True
                flight.task.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(SNAPSHOT_SECONDS)
            now = time.monotonic()
            for flight in self.flights.values():
                flight.tick(now)
            self.carrier.tick(now)
            drain_until = self.steering.drain_until
            if drain_until is not None and now >= drain_until and self.flights:
                self.drop_flights()
            if self.budget.limits.max_seconds is not None:
                self._wake.set()
