"""An attempt in the air: what it is doing, for those who watch the run from outside."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Literal

from rollgrid.agent.context import RetryNotice, RunContext
from rollgrid.agent.run import RunOutput, ToolExecution
from rollgrid.models.pricing import PriceList
from rollgrid.runner.budget import Spent
from rollgrid.runner.passage import Gates, Passage
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.transcript import transcript_of
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptPhase, AttemptRetrying

SNAPSHOT_SECONDS = 0.25
"""An attempt that has been running for this long gets a snapshot of what has arrived, at most this often."""

_SNAPSHOT_SHARE = 20.0
"""A snapshot that took t seconds to make is followed by a pause of at least this many times t."""

PhaseName = Literal["model", "tool", "scoring", "waiting"]


@dataclass(slots=True)
class Flight:
    """Follows one attempt as its observer and tells the log what a person watching would want to know.

    Retries are told at once. Phases and snapshots are told by `tick`, so that an attempt of a few milliseconds writes
    nothing between its start and its end.
    """

    run_id: str
    slot: Slot
    sink: EventSink
    lanes: Gates
    prices: PriceList | None = None
    context: RunContext = field(init=False)
    passage: Passage = field(init=False)
    seed: int | None = None
    session_id: str | None = None
    user_id: str | None = None
    task: "asyncio.Task[None] | None" = None
    started_at: float = field(default_factory=time.time)
    launched_at: float = field(default_factory=time.monotonic)
    dropped: bool = False
    """Cancelled on request: the attempt ends, the run goes on to its own end."""
    arrived: RunOutput | None = None
    """What is known of an attempt that is carried out elsewhere."""
    _before: tuple[PhaseName, str | None] = ("model", None)
    _phase: PhaseName = "model"
    _detail: str | None = None
    _told: tuple[PhaseName, str | None] = ("model", None)
    _dirty: bool = False
    _next_snapshot: float = field(default_factory=lambda: time.monotonic() + SNAPSHOT_SECONDS)

    def __post_init__(self) -> None:
        self.context = RunContext(
            output=RunOutput(), observer=self, seed=self.seed, session_id=self.session_id, user_id=self.user_id
        )
        self.passage = Passage(self.lanes, self.prices, on_wait=self.on_wait, on_turn=self.on_turn)

    @property
    def output(self) -> RunOutput:
        """What the attempt has brought so far."""
        return self.context.output if self.arrived is None else self.arrived

    def on_model_call(self, run: RunOutput) -> None:
        self._phase, self._detail, self._dirty = "model", None, True

    def on_text(self, run: RunOutput) -> None:
        self._dirty = True

    def on_tool_start(self, run: RunOutput, name: str) -> None:
        self._phase, self._detail, self._dirty = "tool", name, True

    def on_tool_end(self, run: RunOutput, execution: ToolExecution) -> None:
        self._dirty = True

    def on_retry(self, run: RunOutput, notice: RetryNotice) -> None:
        task, attempt, take = self.slot
        self.sink.append(
            AttemptRetrying(
                run_id=self.run_id,
                at=time.time(),
                task=task,
                attempt=attempt,
                take=take,
                n=notice.n,
                limit=notice.limit,
                wait_seconds=notice.wait_seconds,
                reason=notice.reason,
                status=notice.status,
            )
        )
        # The next phase must be told even when it is the one told last: the log says "retrying" now.
        self._told = ("scoring", "retried")

    def on_wait(self, why: str) -> None:
        self._before = (self._phase, self._detail)
        self._phase, self._detail, self._dirty = "waiting", why, True

    def on_turn(self) -> None:
        if self._phase == "waiting":
            self._phase, self._detail = self._before
            self._dirty = True

    def on_scoring(self) -> None:
        self.passage.score()
        self._phase, self._detail, self._dirty = "scoring", None, True

    def spent(self) -> Spent:
        """What the attempt has taken so far, the scorer included."""
        paid, scoring = self.passage.paid, self.passage.paid_for_scoring
        tokens = paid.input_tokens + paid.output_tokens + scoring.input_tokens + scoring.output_tokens
        return Spent((paid.cost or 0.0) + (scoring.cost or 0.0), tokens)

    def tick(self, now: float) -> None:
        """Write what has changed since the last tick. `now` is the monotonic clock."""
        if now < self._next_snapshot:
            return
        task, attempt, take = self.slot
        if (self._phase, self._detail) != self._told and self._dirty:
            self._told = (self._phase, self._detail)
            self.sink.append(
                AttemptPhase(
                    run_id=self.run_id,
                    at=time.time(),
                    task=task,
                    attempt=attempt,
                    take=take,
                    phase=self._phase,
                    detail=self._detail,
                )
            )
        if self._dirty:
            self._dirty = False
            began = time.monotonic()
            self.sink.put_live(self.run_id, task, attempt, take, encode(transcript_of(self.context.output)))
            self._next_snapshot = now + max(SNAPSHOT_SECONDS, _SNAPSHOT_SHARE * (time.monotonic() - began))
