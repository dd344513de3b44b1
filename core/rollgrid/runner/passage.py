"""An attempt's way to its models: waits for its turn in the endpoint's lane, learns what a call brought, prices it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from rollgrid.models.base import Model, ModelReply, ModelRequest
from rollgrid.models.pricing import PriceList
from rollgrid.runner.lanes import Lane


class Gate(Protocol):
    """The way to one endpoint, as `Lane` has it. What `enter` gives is handed back with `told` and `left`."""

    async def enter(self, model: str, on_wait: Callable[[str], None]) -> Any: ...
    def told(self, sent: Any, headers: Mapping[str, str]) -> None: ...
    def left(self, sent: Any, outcome: ModelReply | BaseException | None) -> None: ...


class Gates(Protocol):
    """The ways to all endpoints: the lanes of a run, or what stands for them on another machine."""

    def of(self, model: Model) -> Gate: ...


@dataclass(slots=True)
class Paid:
    """Tokens and US dollars of an attempt's calls, the scorer's included. `cost` None: some call has no known price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    is_priced: bool = True

    def add(self, reply: ModelReply) -> None:
        self.input_tokens += reply.usage.input_tokens
        self.output_tokens += reply.usage.output_tokens
        self.is_priced = self.is_priced and reply.cost is not None
        self.cost = (self.cost or 0.0) + (reply.cost or 0.0) if self.is_priced else None


@dataclass(slots=True, eq=False)
class Passage:
    """The `Traffic` of one attempt."""

    lanes: Gates
    prices: PriceList | None
    on_wait: Callable[[str], None]
    """Told why a call has to wait."""
    on_turn: Callable[[], None]
    paid: Paid = field(default_factory=Paid)
    paid_for_scoring: Paid = field(default_factory=Paid)
    is_scoring: bool = False
    expected_in: Lane | None = None
    """The lane in which the first call is expected, until it is made."""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    async def call(self, model: Model, request: ModelRequest, on_text: Any) -> ModelReply:
        """As `Traffic.call`."""
        if asyncio.get_running_loop() is not self._loop:
            # A tool or scorer in a thread that runs an agent of its own, on a loop of its own.
            reply = await model.respond(request, on_text)
            return await self._priced(model, reply)
        lane = self.lanes.of(model)
        self.arrive()
        sent = await lane.enter(model.id, self.on_wait)
        self.on_turn()
        try:
            reply = await model.respond(replace(request, on_headers=partial(lane.told, sent)), on_text)
        except BaseException as error:
            lane.left(sent, error)
            raise
        lane.left(sent, reply)
        return await self._priced(model, reply)

    def score(self) -> None:
        """What is called from now on is called for the scorer."""
        self.is_scoring = True

    async def _priced(self, model: Model, reply: ModelReply) -> ModelReply:
        if reply.cost is None and self.prices is not None:
            await self.prices.ready()
            # Not written into the reply: it is the model's, which may give it again.
            reply = replace(reply, cost=self.prices.cost(model, reply))
        (self.paid_for_scoring if self.is_scoring else self.paid).add(reply)
        return reply

    def expect(self, lane: Lane) -> None:
        """The attempt has started and will soon make a call in this lane."""
        self.expected_in = lane
        lane.expected += 1

    def close(self) -> None:
        """The attempt is over, and whoever followed it is told nothing more.

        An event loop keeps timers that were cancelled for a while, and with them the context that this is in: it must
        not lead to the transcript.
        """
        self.arrive()
        self.on_wait, self.on_turn = _nobody, _nobody

    def arrive(self) -> None:
        """The call that was expected is here, or the attempt is over without one."""
        lane, self.expected_in = self.expected_in, None
        if lane is not None:
            lane.expected -= 1


def _nobody(_why: str = "") -> None:
    """Is told, and passes it on to nobody."""
