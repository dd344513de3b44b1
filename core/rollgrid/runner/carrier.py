"""Who carries out the attempts that an engine starts: this process, or workers elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rollgrid.environments.attempt import AttemptResult
from rollgrid.models.traffic import traffic
from rollgrid.runner.attempt import run_attempt
from rollgrid.runner.facts import Landing, landing_of
from rollgrid.runner.flight import Flight
from rollgrid.runner.lanes import Lanes
from rollgrid.runner.leftovers import Leftovers, OnLate
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.sink import EventSink
from rollgrid.threads import leak_listener


class CarrierLost(Exception):
    """Whoever carried out an attempt is gone, and nobody knows how it would have ended. The text says why."""


@dataclass(frozen=True, slots=True)
class Base:
    """What an engine gives to its carrier. All callbacks are made on the engine's event loop."""

    plan: RunPlan
    sink: EventSink
    lanes: Lanes
    on_late: OnLate
    """An attempt that had ended brought something after all."""
    on_room: Callable[[], None] = lambda: None
    """`why_no_room` may say something else now."""
    on_stranded: Callable[[str], None] = lambda _why: None
    """No attempt can be carried out any more, and that will not change."""


class Carrier(Protocol):
    """Carries out attempts, and decides nothing: which one starts when is the engine's."""

    async def carry_out(self, flight: Flight) -> Landing:
        """Run and score the flight's attempt, whatever happens in it. Raises `CarrierLost`.

        When this is cancelled, so is the attempt, and what it had brought is in `flight.output` by then.
        """
        ...

    def why_no_room(self) -> str | None:
        """Why no further attempt can start now, in words; None when one can."""
        ...

    def tick(self, now: float) -> None:
        """Called a few times a second, with the monotonic clock."""
        ...

    async def part(self) -> None:
        """No attempt is under way and none will be: see to what was left behind."""
        ...


MakeCarrier = Callable[[Base], Carrier]


class LocalCarrier:
    """Attempts as tasks of this process's event loop."""

    def __init__(self, base: Base) -> None:
        self.leftovers = Leftovers(base.plan, base.sink, base.on_late)
        self._plan = base.plan

    async def carry_out(self, flight: Flight) -> Landing:
        slot, plan = flight.slot, self._plan
        task = plan.tasks[slot.task]
        # Of this task's own context, which everything that the attempt starts gets a copy of.
        traffic.set(flight.passage)
        leak_listener.set(lambda job: self.leftovers.given_up(slot, job))
        result: AttemptResult = await run_attempt(
            plan.make_agent,
            plan.scorer,
            task.input,
            task.expected,
            flight.context,
            timeout_seconds=plan.timeout_seconds,
            on_scoring=flight.on_scoring,
            on_abandoned=lambda work, left: self.leftovers.abandoned(slot, flight.started_at, work, left),
        )
        return landing_of(plan.run_id, slot, result, flight.passage)

    def why_no_room(self) -> str | None:
        return None

    def tick(self, now: float) -> None:
        self.leftovers.tick(now)

    async def part(self) -> None:
        await self.leftovers.part()
