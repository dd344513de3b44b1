"""A worker: carries out attempts on a machine that the log is not on, many at a time, on one event loop.

It decides nothing. Which attempt starts, when a model call may go out and when to stop is said by the head; everything
that happens is told to it.
"""

import asyncio
import os
import pickle
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from itertools import count
from typing import NamedTuple

from rollgrid._version import __version__
from rollgrid.errors import RollgridError
from rollgrid.masking import guard_output, look_at_the_environment
from rollgrid.models.base import Model, ModelReply
from rollgrid.models.pricing import GivenPrice, KnownPrices, PriceList, may_be_priced
from rollgrid.runner import remote_wire as wire
from rollgrid.runner.budget import Spent
from rollgrid.runner.carrier import Base, LocalCarrier
from rollgrid.runner.facts import cancelled_result, landing_of
from rollgrid.runner.flight import SNAPSHOT_SECONDS, Flight
from rollgrid.runner.lanes import LaneListener, Lanes
from rollgrid.runner.load import load_environment
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.policy import choose_model
from rollgrid.runner.prepare import Prepared, prepare_run
from rollgrid.runner.remote_outbox import Outbox
from rollgrid.runner.resources import closing_resources
from rollgrid.runner.schedule import Slot
from rollgrid.store.events import AttemptEnded, Event


class Worker:
    """The methods are called from elsewhere, with and for bytes, on one event loop. `begin` comes first."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self._sink = RemoteSink(self._outbox)
        self._gates = RemoteGates(self._outbox)
        self._flights: dict[Slot, Flight] = {}
        self._told = 0
        self._resources = AsyncExitStack()
        self._plan: RunPlan | None = None
        self._carrier: LocalCarrier | None = None
        self._ticker: asyncio.Task[None] | None = None

    async def begin(self, setup: bytes) -> bytes:
        """Load the environment. What is wrong with it is part of the answer, which is a `Ready`."""
        fault, hint = await self._begin(pickle.loads(setup))
        return pickle.dumps(wire.Ready(socket.gethostname(), os.getpid(), fault, hint))

    def take_on(self, plan: RunPlan) -> None:
        """Be ready for attempts of this plan, whose slots are not looked at."""
        self._plan = plan
        self._carrier = LocalCarrier(Base(plan, self._sink, Lanes(LaneListener()), self._late))
        self._ticker = asyncio.create_task(self._tick())

    async def tell(self, number: int, data: bytes) -> None:
        """Take in a list of orders. The same number a second time is the same list."""
        if number <= self._told:
            return
        self._told = number
        for order in pickle.loads(data):
            self._obey(order)

    async def news(self, ack: int) -> bytes:
        """A `Batch`, as soon as there is anything to tell or it is time for a sign of life."""
        return await self._outbox.batch(ack)

    async def close(self) -> None:
        """Drop what is in flight and give back what is held."""
        if self._ticker is not None:
            self._ticker.cancel()
        tasks = [flight.task for flight in self._flights.values() if flight.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._carrier is not None:
            await self._carrier.part()
        await self._resources.aclose()

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _begin(self, setup: wire.Setup) -> tuple[str | None, str | None]:
        if setup.version != __version__:
            return f"it has rollgrid {__version__}, this is {setup.version}", "install the same version on every node"
        os.environ.update(setup.environ)
        look_at_the_environment()
        guard_output()
        try:
            prepared = _prepared(setup)
        except RollgridError as error:
            return error.message, error.hint
        except (ValueError, TypeError, RuntimeError) as error:
            return str(error), None
        fault = _difference(setup, prepared)
        if fault is not None:
            return fault, "what it reads must be in the folder that is shipped, or be the same on every machine"
        await self._resources.enter_async_context(closing_resources())
        by_id = {task.id: task for task in prepared.tasks}
        self.take_on(
            RunPlan(
                run_id=setup.run_id,
                tasks=tuple(by_id[task_id] for task_id in setup.task_ids),
                k=1,
                scorer=prepared.env.scorer,
                make_agent=prepared.make_agent,
                timeout_seconds=prepared.env.timeout_seconds,
                slots=(),
                prices=_prices(setup, prepared.model),
            )
        )
        return None, None

    def _obey(self, order: wire.Order) -> None:
        match order:
            case wire.Start(slot, seed, session_id, user_id):
                assert self._plan is not None
                flight = Flight(
                    self._plan.run_id,
                    slot,
                    self._sink,
                    self._gates.of_attempt(slot),
                    self._plan.prices,
                    seed=seed,
                    session_id=session_id,
                    user_id=user_id,
                )
                self._flights[slot] = flight
                flight.task = asyncio.create_task(self._fly(flight))
            case wire.Drop(slot):
                flight = self._flights.get(slot)
                if flight is not None and flight.task is not None and not flight.dropped:
                    flight.dropped = True
                    flight.task.cancel()
            case wire.Turn(call):
                self._gates.turn(call)
            case wire.Wait(call, why):
                self._gates.wait(call, why)

    async def _fly(self, flight: Flight) -> None:
        slot = flight.slot
        assert self._carrier is not None
        assert self._plan is not None
        try:
            try:
                landing = await self._carrier.carry_out(flight)
            except asyncio.CancelledError:
                result = cancelled_result(flight.output, time.monotonic() - flight.launched_at)
                landing = landing_of(self._plan.run_id, slot, result, flight.passage)
            self._outbox.put(wire.pack_landing(slot, landing, flight.passage))
        except Exception:  # noqa: BLE001 - told to the head, where it ends the run as it would have there
            self._outbox.put(wire.Broke(slot, traceback.format_exc()))
        finally:
            del self._flights[slot]

    def _late(self, slot: Slot, started_at: float, event: AttemptEnded, body: bytes) -> None:
        self._outbox.put(wire.Late(slot, time.time() - started_at, wire.pack_event(event), body))

    async def _tick(self) -> None:
        assert self._carrier is not None
        spent: dict[Slot, Spent] = {}
        while True:
            await asyncio.sleep(SNAPSHOT_SECONDS)
            now = time.monotonic()
            spent = {slot: before for slot, before in spent.items() if slot in self._flights}
            for slot, flight in self._flights.items():
                flight.tick(now)
                paid = flight.spent()
                if paid.tokens and spent.get(slot) != paid:
                    spent[slot] = paid
                    self._outbox.put(wire.spending_of(slot, flight.passage))
            self._carrier.tick(now)


class RemoteSink:
    """Tells the head of events, which writes them into the log."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def append(self, event: Event, body: bytes | None = None) -> None:
        self._outbox.put(wire.Happened(wire.pack_event(event)))

    def put_live(self, run_id: str, task: int, attempt: int, take: int, data: bytes) -> None:
        self._outbox.put_live(Slot(task, attempt, take), data)

    def when_saved(self, callback: Callable[[], None]) -> None:
        callback()


class _Waiter(NamedTuple):
    turn: "asyncio.Future[None]"
    on_wait: Callable[[str], None]


class RemoteGates:
    """The lanes of the run, which are on the head: every model call asks there for its turn."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.waiting: dict[int, _Waiter] = {}
        self.calls = count(1)

    def of_attempt(self, slot: Slot) -> "_GatesOfAttempt":
        return _GatesOfAttempt(self, slot)

    def turn(self, call: int) -> None:
        waiter = self.waiting.get(call)
        if waiter is not None and not waiter.turn.done():
            waiter.turn.set_result(None)

    def wait(self, call: int, why: str) -> None:
        waiter = self.waiting.get(call)
        if waiter is not None:
            waiter.on_wait(why)


class _GatesOfAttempt(NamedTuple):
    run: RemoteGates
    slot: Slot

    def of(self, model: Model) -> "_RemoteGate":
        return _RemoteGate(self.run, self.slot, model.endpoint)


class _RemoteGate(NamedTuple):
    run: RemoteGates
    slot: Slot
    endpoint: str

    async def enter(self, model: str, on_wait: Callable[[str], None]) -> int:
        call = next(self.run.calls)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.run.waiting[call] = _Waiter(turn, on_wait)
        self.run.outbox.put(wire.Enter(self.slot, call, self.endpoint, model))
        try:
            await turn
        except asyncio.CancelledError:
            self.left(call, None)
            raise
        finally:
            del self.run.waiting[call]
        return call

    def told(self, sent: int, headers: Mapping[str, str]) -> None:
        self.run.outbox.put(wire.Headers(self.slot, sent, wire.rate_limit_headers(headers)))

    def left(self, sent: int, outcome: ModelReply | BaseException | None) -> None:
        self.run.outbox.put(wire.Left(self.slot, sent, wire.pack_outcome(outcome)))


def _prepared(setup: wire.Setup) -> Prepared:
    loaded = load_environment(setup.ref, os.getcwd())
    model = None if setup.model is None else choose_model(setup.model, loaded.env)
    return prepare_run(loaded.env, k=1, model=model)


def _difference(setup: wire.Setup, prepared: Prepared) -> str | None:
    """What is another thing here than on the head: attempts of both would not belong together."""
    missing = set(setup.task_ids) - {task.id for task in prepared.tasks}
    if missing:
        return f"its copy of the environment has no task {min(missing)}"
    if setup.env_fingerprint is not None and prepared.env_fingerprint != setup.env_fingerprint:
        here, there = prepared.fingerprint_parts, setup.fingerprint_parts
        parts = sorted(name for name in {*here, *there} if here.get(name) != there.get(name))
        return f"its copy of the environment is another one ({', '.join(parts) or 'it has no fingerprint'})"
    if setup.policy_fingerprint is not None and prepared.policy_fingerprint != setup.policy_fingerprint:
        return "its model has another address or other parameters"
    return None


def _prices(setup: wire.Setup, model: Model | None) -> PriceList | None:
    if setup.price is not None:
        return GivenPrice.parse(setup.price)
    return KnownPrices() if model is not None and may_be_priced(model) else None
