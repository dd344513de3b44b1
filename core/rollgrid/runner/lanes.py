"""The endpoints that a run calls: who may call one now, and who has to wait.

A lane is everything that goes to one endpoint. Calls pass in the order in which they came. They are held back while the
server's Retry-After stands, while its rate limit has nothing left, and by the number of calls that it bears at once
where that is found out as the run goes on (`-c auto`).
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rollgrid.errors import ModelError
from rollgrid.models.base import Model, ModelReply
from rollgrid.models.retry import RETRY_AFTER_CAP
from rollgrid.runner.adaptive import AdaptiveLimit
from rollgrid.runner.ratelimits import RateLimits

_OVERLOAD = (429, 503, 529)
_SHORTEST_WAIT = 0.005


@dataclass(slots=True, eq=False)
class Sent:
    """A call that is under way. `pauses` is how many pauses the lane had had when it was sent."""

    model: str
    at: float
    pauses: int
    is_answered: bool = False


@dataclass(slots=True, eq=False)
class _Waiter:
    model: str
    turn: "asyncio.Future[Sent]"


@dataclass(slots=True)
class LaneListener:
    """What a lane tells. Each is called on the event loop and must return at once."""

    on_pause: Callable[[str, float, str], None] = field(default=lambda _endpoint, _seconds, _reason: None)
    on_limit: Callable[[str, int, str], None] = field(default=lambda _endpoint, _limit, _reason: None)
    on_room: Callable[[], None] = field(default=lambda: None)
    """Something has changed that may let more attempts start."""


class Lane:
    """The calls to one endpoint. `adaptive` is None where the number of calls is fixed by the run."""

    def __init__(self, endpoint: str, listener: LaneListener, adaptive: AdaptiveLimit | None = None) -> None:
        self.endpoint = endpoint
        self.adaptive = adaptive
        self.in_flight = 0
        self.expected = 0
        """Attempts that were started and have not made their first call yet."""
        self.backlog = False
        """The run has more attempts to start than the limit lets it."""
        self.paused_until = float("-inf")
        self._listener = listener
        self._limits: dict[str, RateLimits] = {}
        self._waiting: deque[_Waiter] = deque()
        self._pauses = 0
        self._opening: int | None = None
        """After a pause: how many calls sent since may be in flight. None when the lane is wide open.

        It begins with half as many again as the server let pass of those that were under way when it asked for the
        pause, and grows by one with each answer.
        """
        self._let_through = 0
        """Calls that were answered since the last pause began, and sent after it."""
        self._before = 0
        """The same, of the time before the last pause."""
        self._late = 0
        """Calls that were answered since the last pause began, and sent before it."""
        self._fresh = 0
        """Calls in flight that were sent since the last pause."""
        self._timer: asyncio.TimerHandle | None = None

    # -- passing ------------------------------------------------------------------------------------------------------

    async def enter(self, model: str, on_wait: Callable[[str], None]) -> Sent:
        """Wait for one's turn. `on_wait` is told why, when there is a wait at all."""
        if not self._waiting and not self._wait_of(model):
            return self._send(model)
        waiter = _Waiter(model, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        on_wait(self._why(model))
        self._come_back()
        try:
            return await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.cancelled():
                with suppress(ValueError):
                    self._waiting.remove(waiter)
                self._let_pass()
            else:
                self.left(waiter.turn.result(), None)  # its turn had come in this very moment
            raise

    def told(self, sent: Sent, headers: Mapping[str, str]) -> None:
        """The headers of an answer are there."""
        self._limits_of(sent.model).told(headers, time.monotonic())
        if self._opening is not None:
            # An answer that streams is good news long before its end; that of an error is over in this very turn.
            asyncio.get_running_loop().call_soon(self._open_further, sent)

    def left(self, sent: Sent, outcome: "ModelReply | BaseException | None") -> None:
        """The call is over: with a reply, an error, or None for an end that says nothing."""
        self.in_flight -= 1
        self._fresh -= sent.pauses == self._pauses
        if isinstance(outcome, ModelReply):
            self._went_well(sent, outcome)
        elif isinstance(outcome, ModelError) and outcome.retryable:
            self._went_wrong(sent, outcome)
        sent.is_answered = True
        self._let_pass()
        self._listener.on_room()

    def observed(self, began_at: float, status: int | None, *, well: bool) -> None:
        """A whole attempt has ended whose calls do not come by here: an agent with a client of its own."""
        if self.adaptive is None:
            return
        changed = False
        if status in _OVERLOAD:
            changed = self.adaptive.refused(began_at, str(status))
        elif well:
            changed = self.adaptive.answered(began_at, time.monotonic() - began_at, held_back=self.backlog)
        if changed:
            self._listener.on_limit(self.endpoint, self.adaptive.limit, self.adaptive.reason)

    # -- for whoever starts attempts ----------------------------------------------------------------------------------

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)

    def has_room(self, model: str) -> bool:
        """Whether an attempt that starts now could make its first call soon. If not, `on_room` is called later."""
        wait = self._wait_of(model, self._ahead())
        self._come_back_in(wait)
        return wait == 0

    def why_no_room(self, model: str) -> str:
        """Why an attempt that starts now would have to wait with its first call, for a person."""
        return self._why(model, self._ahead())

    def _ahead(self) -> int:
        return self.expected + len(self._waiting)

    def _why(self, model: str, ahead: int = 0) -> str:
        now = time.monotonic()
        if now < self.paused_until:
            return f"rate limit, the server asks for a pause of {self.paused_until - now:.0f} s"
        wait = self._limits_of(model).wait_seconds(self.in_flight + ahead, now)
        return f"rate limit, next call in {wait:.0f} s" if wait > 0 else "its turn"

    # -- inside -------------------------------------------------------------------------------------------------------

    def _send(self, model: str) -> Sent:
        self.in_flight += 1
        self._fresh += 1
        return Sent(model, time.monotonic(), self._pauses)

    def _limits_of(self, model: str) -> RateLimits:
        limits = self._limits.get(model)
        if limits is None:
            limits = self._limits[model] = RateLimits()
        return limits

    def _wait_of(self, model: str, ahead: int = 0) -> float:
        """Seconds for which a call must wait: 0 for none, infinity when only the end of another call can help."""
        now = time.monotonic()
        if now < self.paused_until:
            return self.paused_until - now
        if self.adaptive is not None and self.in_flight + ahead >= self.adaptive.limit:
            return float("inf")
        if self._opening is not None and self._fresh + ahead >= self._opening:
            return float("inf")
        return self._limits_of(model).wait_seconds(self.in_flight + ahead, now)

    def _let_pass(self) -> None:
        while self._waiting and not self._wait_of(self._waiting[0].model):
            waiter = self._waiting.popleft()
            if not waiter.turn.done():
                waiter.turn.set_result(self._send(waiter.model))
        self._come_back()

    def _come_back(self) -> None:
        """See to those who wait when the clock alone can open the way."""
        if self._waiting:
            self._come_back_in(self._wait_of(self._waiting[0].model))

    def _come_back_in(self, wait: float) -> None:
        if not 0 < wait < float("inf"):
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + max(wait, _SHORTEST_WAIT)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._let_pass()
        self._listener.on_room()

    def _open_further(self, sent: Sent) -> None:
        if sent.is_answered:
            return
        sent.is_answered = True
        if sent.pauses == self._pauses:
            self._let_through += 1
        elif sent.pauses == self._pauses - 1:
            self._late += 1
        if self._opening is None:
            return
        if sent.pauses != self._pauses:
            self._opening = max(self._opening, self._first_opening())
            return
        # One more for each answer: twice as many with each round, until the pause is as good as forgotten.
        self._opening += 1
        if self._opening > max(8, 2 * self._fresh):
            self._opening = None
        self._let_pass()
        self._listener.on_room()

    def _first_opening(self) -> int:
        return max(1, math.ceil(1.5 * (self._late + min(self._before, self._late + 1))))

    def _went_well(self, sent: Sent, reply: ModelReply) -> None:
        self._limits_of(sent.model).used(reply.usage.input_tokens + reply.usage.output_tokens)
        self._open_further(sent)
        if self.adaptive is None:
            return
        latency = reply.time_to_first_token or time.monotonic() - sent.at
        held_back = self.backlog or bool(self._waiting)
        if self.adaptive.answered(sent.at, latency, held_back=held_back):
            self._listener.on_limit(self.endpoint, self.adaptive.limit, self.adaptive.reason)

    def _went_wrong(self, sent: Sent, error: ModelError) -> None:
        if error.status not in _OVERLOAD and error.kind != "timeout":
            return
        why = str(error.status) if error.status is not None else "no answer in time"
        if error.retry_after and error.status in _OVERLOAD:
            self._pause(min(error.retry_after, RETRY_AFTER_CAP), why)
        if self.adaptive is not None and self.adaptive.refused(sent.at, why):
            self._listener.on_limit(self.endpoint, self.adaptive.limit, self.adaptive.reason)

    def _pause(self, seconds: float, why: str) -> None:
        now = time.monotonic()
        if now >= self.paused_until:
            self._pauses += 1
            self._fresh = 0
            self._before, self._let_through, self._late = self._let_through, 0, 0
            self._opening = self._first_opening()
            self._listener.on_pause(self.endpoint, seconds, why)
        self.paused_until = max(self.paused_until, now + seconds)

    def close(self) -> None:
        """Forget the timer; nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Lanes:
    """The lanes of a run, one for each endpoint that it turns out to call."""

    def __init__(self, listener: LaneListener, *, max_calls: int | None = None) -> None:
        """`max_calls` bounds what an endpoint gets at once when the number is found out (a local model's own limit)."""
        self._listener = listener
        self._max_calls = max_calls
        self._is_adaptive = False
        self._lanes: dict[str, Lane] = {}

    def of(self, model: Model) -> Lane:
        return self.at(model.endpoint)

    def at(self, endpoint: str) -> Lane:
        lane = self._lanes.get(endpoint)
        if lane is None:
            lane = self._lanes[endpoint] = Lane(endpoint, self._listener, self._new_limit())
        return lane

    def adapt(self, on: bool) -> None:
        """Find the number of calls out, or leave it to the run."""
        self._is_adaptive = on
        for lane in self._lanes.values():
            lane.adaptive = self._new_limit()

    def paused_seconds(self) -> float:
        """How long the longest pause that a server asked for still stands."""
        now = time.monotonic()
        return max((lane.paused_until - now for lane in self._lanes.values()), default=0.0)

    def _new_limit(self) -> AdaptiveLimit | None:
        if not self._is_adaptive:
            return None
        bounds: dict[str, Any] = {} if self._max_calls is None else {"ceiling": self._max_calls}
        return AdaptiveLimit(time.monotonic, **bounds)

    def close(self) -> None:
        for lane in self._lanes.values():
            lane.close()
