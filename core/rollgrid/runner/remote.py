"""A crew of workers elsewhere that carries out the attempts of an engine here, over any transport.

The head asks each worker for its news, one batch at a time, and asks again when it has taken that batch in: workers
cannot swamp it, and what they cannot get rid of makes them wait, since nothing new starts before results are in the
log. Every model call waits on the head for its turn, so limits of an endpoint hold for the whole run.
"""

import asyncio
import pickle
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, Self

from rollgrid.agent.run import RunOutput
from rollgrid.errors import RunError
from rollgrid.runner import remote_wire as wire
from rollgrid.runner.carrier import Base, CarrierLost
from rollgrid.runner.facts import Landing
from rollgrid.runner.flight import Flight
from rollgrid.runner.lanes import Lane, Sent
from rollgrid.runner.schedule import Slot
from rollgrid.store.codec import decode
from rollgrid.store.events import Notice

SILENCE_SECONDS = 60.0
"""A worker that gives no sign of life for this long is given up, with what it has in flight."""

PATIENCE_SECONDS = 30.0
"""How long a worker may be out of reach before it is given up."""

LAST_WORD_SECONDS = 5.0
"""How long an attempt that was dropped may take to say what it had brought."""

MAX_FAILED_HIRES = 3
"""So many workers in a row that could not be started, and their place stays empty."""

_AGAIN_SECONDS = 0.5


class LinkLost(Exception):
    """The worker is gone for good. The text says why."""


class LinkTroubled(Exception):
    """The worker cannot be reached now. The call may or may not have got through, and is to be made again."""


class HireFailed(Exception):
    """A worker could not be started. `is_final`: another one would fail in the same way."""

    def __init__(self, why: str, hint: str | None = None, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint
        self.is_final = is_final


class Link(Protocol):
    """The way to one worker. All calls raise `LinkLost` and `LinkTroubled`, except `end`, which raises nothing."""

    name: str

    async def tell(self, number: int, data: bytes) -> None: ...
    async def news(self, ack: int) -> bytes: ...
    async def end(self) -> None: ...


Hire = Callable[[], Awaitable[Link]]
"""Starts a worker and waits until it is ready; raises `HireFailed`."""


@dataclass(slots=True, eq=False)
class _Call:
    """A model call of an attempt: waiting for its turn, or under way."""

    lane: Lane
    turn: "asyncio.Task[None] | None" = None
    sent: Sent | None = None


@dataclass(slots=True, eq=False)
class _Trip:
    """An attempt that a worker carries out."""

    flight: Flight
    landed: "asyncio.Future[Landing]"
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    live: bytes | None = None

    def close(self) -> None:
        """The lanes forget what was under way."""
        for number in list(self.calls):
            self.leave(number, None)

    def leave(self, number: int, outcome: wire.Answered | wire.Failed | None) -> None:
        call = self.calls.pop(number, None)
        if call is None:
            return
        if call.sent is not None:
            call.lane.left(call.sent, wire.unpack_outcome(outcome))
        elif call.turn is not None:
            call.turn.cancel()

    def keep_what_arrived(self, body: bytes | None) -> None:
        if body is not None:
            self.flight.arrived = RunOutput.from_dict(decode(body))


@dataclass(slots=True, eq=False)
class _Member:
    """A worker of the crew, with what it was given and has to be told."""

    link: Link
    trips: dict[Slot, _Trip] = field(default_factory=dict[Slot, _Trip])
    _orders: list[wire.Order] = field(default_factory=list[wire.Order])
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, order: wire.Order) -> None:
        self._orders.append(order)
        self._some.set()

    async def send(self) -> None:
        """Tell what there is to tell, in order. Ends when the link is lost, which whoever listens sees too."""
        number = 0
        while True:
            await self._some.wait()
            self._some.clear()
            data, self._orders = pickle.dumps(self._orders), []
            number += 1
            while True:
                try:
                    await self.link.tell(number, data)
                except LinkTroubled:
                    await asyncio.sleep(_AGAIN_SECONDS)
                    continue
                except LinkLost:
                    return
                break


class Crew:
    """`size` places for workers; whoever is lost is replaced. A `Carrier` once it is on `board`."""

    def __init__(self, group: asyncio.TaskGroup, hire: Hire, size: int, say: Callable[[str], None]) -> None:
        self._group = group
        self._hire = hire
        self._places = size
        self._size = size
        self._say = say
        self._members: list[_Member] = []
        self._base: Base | None = None
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._fault: HireFailed | None = None

    @property
    def n_workers(self) -> int:
        return len(self._members)

    async def muster(self) -> None:
        """Return when there is a worker; the others join as they come. Raises `RunError` when none can be had."""
        self._tasks = [self._group.create_task(self._fill_a_place()) for _ in range(self._size)]
        while not self._members:
            if self._places == 0 or (self._fault is not None and self._fault.is_final):
                assert self._fault is not None
                raise RunError(self._fault.why, self._fault.hint)
            self._changed.clear()
            await self._changed.wait()

    def board(self, base: Base) -> Self:
        self._base = base
        return self

    async def dismiss(self) -> None:
        """End the workers."""
        for task in self._tasks:
            task.cancel()
        async with asyncio.TaskGroup() as group:
            for member in self._members:
                group.create_task(member.link.end())
        self._members.clear()

    # -- as a carrier -------------------------------------------------------------------------------------------------

    async def carry_out(self, flight: Flight) -> Landing:
        """As `Carrier.carry_out`. The result has no transcript: that is in the log."""
        while not self._members:
            self._changed.clear()
            await self._changed.wait()
        member = min(self._members, key=lambda one: len(one.trips))
        trip = _Trip(flight, asyncio.get_running_loop().create_future())
        member.trips[flight.slot] = trip
        context = flight.context
        member.say(wire.Start(flight.slot, flight.seed, context.session_id, context.user_id))
        try:
            await asyncio.wait({trip.landed})
            return trip.landed.result()
        except asyncio.CancelledError:
            member.say(wire.Drop(flight.slot))
            await asyncio.wait({trip.landed}, timeout=LAST_WORD_SECONDS)
            is_told = trip.landed.done() and trip.landed.exception() is None
            if is_told and flight.dropped:
                return trip.landed.result()
            trip.keep_what_arrived(trip.landed.result().body if is_told else trip.live)
            raise
        except CarrierLost:
            trip.keep_what_arrived(trip.live)
            raise
        finally:
            member.trips.pop(flight.slot, None)
            trip.close()

    def why_no_room(self) -> str | None:
        return None if self._members else f"no worker is left, waiting for one{self._because()}"

    def tick(self, now: float) -> None:
        """Workers have clocks of their own."""

    async def part(self) -> None:
        """Workers are ended by `dismiss`."""

    # -- workers ------------------------------------------------------------------------------------------------------

    async def _fill_a_place(self) -> None:
        failed = 0
        while failed < MAX_FAILED_HIRES:
            try:
                link = await self._hire()
            except HireFailed as fault:
                self._fault = fault
                failed = MAX_FAILED_HIRES if fault.is_final else failed + 1
                self._changed.set()
                await asyncio.sleep(_AGAIN_SECONDS if failed < MAX_FAILED_HIRES else 0)
                continue
            failed = 0
            await self._serve(_Member(link))
        self._places -= 1
        self._changed.set()
        if self._places:
            self._tell(f"a worker could not be started, and is done without{self._because()}")
        elif self._base is not None:
            self._base.on_stranded(f"no worker is left, and none can be started{self._because()}")

    async def _serve(self, member: _Member) -> None:
        """Keep in touch with a worker until it is lost."""
        self._members.append(member)
        self._changed.set()
        if self._base is not None:
            self._base.on_room()
        async with asyncio.TaskGroup() as group:
            sender = group.create_task(member.send())
            why = await self._listen(member)
            sender.cancel()
        self._members.remove(member)
        lost = list(member.trips.values())
        in_flight = f", with {len(lost)} attempts in flight" if lost else ""
        self._tell(f"lost the worker {member.link.name}{in_flight}: {why}")
        for trip in lost:
            if not trip.landed.done():
                trip.landed.set_exception(CarrierLost(why))
        await member.link.end()

    async def _listen(self, member: _Member) -> str:
        """Take its news in, for as long as there are any; returns why there will be no more."""
        ack = 0
        troubled_since: float | None = None
        while True:
            try:
                async with asyncio.timeout(SILENCE_SECONDS):
                    data = await member.link.news(ack)
            except LinkLost as lost:
                return str(lost)
            except TimeoutError:
                return f"no sign of life for {SILENCE_SECONDS:.0f} s"
            except LinkTroubled as trouble:
                troubled_since = troubled_since or time.monotonic()
                if time.monotonic() - troubled_since > PATIENCE_SECONDS:
                    return f"out of reach for {PATIENCE_SECONDS:.0f} s: {trouble}"
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            troubled_since = None
            batch: wire.Batch = pickle.loads(data)
            for news in batch.news[ack + 1 - batch.first :]:
                self._take(member, news)
            ack = batch.first + len(batch.news) - 1
            for slot, live in batch.live:
                self._take_live(member, slot, live)

    def _tell(self, text: str) -> None:
        self._say(text)
        if self._base is not None:
            self._base.sink.append(Notice(run_id=self._base.plan.run_id, at=time.time(), level="warning", text=text))

    def _because(self) -> str:
        return "" if self._fault is None else f": {self._fault.why}"

    # -- their news ---------------------------------------------------------------------------------------------------

    def _take(self, member: _Member, news: wire.News) -> None:
        base = self._base
        if base is None:
            return
        match news:
            case wire.Happened(event):
                base.sink.append(wire.unpack_event(event))
            case wire.Late(slot, seconds, event, body):
                base.on_late(slot, time.time() - seconds, wire.unpack_end(event), body)
            case wire.Ended(slot) if slot not in member.trips:
                event = wire.unpack_end(news.event)
                base.on_late(slot, time.time() - event.duration_seconds, event, news.body)
            case _:
                trip = member.trips.get(news.slot)
                if trip is not None:
                    self._take_of(member, trip, base, news)

    def _take_of(self, member: _Member, trip: _Trip, base: Base, news: wire.News) -> None:
        match news:
            case wire.Enter(_, number, endpoint, model):
                call = trip.calls[number] = _Call(base.lanes.at(endpoint))
                trip.flight.passage.arrive()
                call.turn = self._group.create_task(self._let_in(member, call, number, model))
            case wire.Headers(_, number, headers):
                call = trip.calls.get(number)
                if call is not None and call.sent is not None:
                    call.lane.told(call.sent, headers)
            case wire.Left(_, number, outcome):
                trip.leave(number, outcome)
            case wire.Spending(_, paid, paid_for_scoring):
                passage = trip.flight.passage
                passage.paid, passage.paid_for_scoring = paid, paid_for_scoring
            case wire.Ended():
                self._take_of(member, trip, base, news.spending)
                del member.trips[news.slot]
                trip.landed.set_result(wire.unpack_landing(news))
            case wire.Broke(_, text):
                trip.landed.set_exception(RuntimeError(f"a worker failed at an attempt:\n{text}"))
            case _:
                raise AssertionError(news)

    async def _let_in(self, member: _Member, call: _Call, number: int, model: str) -> None:
        call.sent = await call.lane.enter(model, lambda why: member.say(wire.Wait(number, why)))
        member.say(wire.Turn(number))

    def _take_live(self, member: _Member, slot: Slot, data: bytes) -> None:
        trip = member.trips.get(slot)
        if trip is not None and self._base is not None:
            trip.live = data
            self._base.sink.put_live(self._base.plan.run_id, *slot, data)
