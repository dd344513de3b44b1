"""What a head and its workers say to each other. Both run the same code, so pickles of these are the wire format.

Times do not travel: each machine has its own clock, and what gets into the log is stamped by the head.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from rollgrid.environments.attempt import AttemptResult, StopReason, Usage
from rollgrid.errors import ModelError
from rollgrid.models import base
from rollgrid.runner.facts import Landing
from rollgrid.runner.passage import Paid, Passage
from rollgrid.runner.schedule import Slot
from rollgrid.runner.storm import Failure
from rollgrid.scorer.base import Score
from rollgrid.store.codec import from_text, masked_text
from rollgrid.store.events import EVENT_ADAPTER, AttemptEnded, Event


class Setup(NamedTuple):
    """What a worker is started with. `ref` is found in its working directory; the fingerprints are the head's."""

    version: str
    run_id: str
    ref: str
    model: str | None
    price: str | None
    task_ids: tuple[str, ...]
    env_fingerprint: str | None
    policy_fingerprint: str | None
    fingerprint_parts: dict[str, str]
    environ: dict[str, str]


class Ready(NamedTuple):
    """The answer to a `Setup`. `fault` says why the worker is of no use."""

    host: str
    pid: int
    fault: str | None = None
    hint: str | None = None


# -- from the head -----------------------------------------------------------------------------------------------------


class Start(NamedTuple):
    slot: Slot
    seed: int | None
    session_id: str | None
    user_id: str | None


class Drop(NamedTuple):
    """Cancel this attempt; its end comes as that of any other."""

    slot: Slot


class Turn(NamedTuple):
    """The model call may go out."""

    call: int


class Wait(NamedTuple):
    """The model call is held back."""

    call: int
    why: str


Order = Start | Drop | Turn | Wait

# -- from a worker -----------------------------------------------------------------------------------------------------


class Happened(NamedTuple):
    """An event other than an attempt's end, as JSON."""

    event: str


class Enter(NamedTuple):
    """A model call waits for its turn. `call` names it among those of its worker."""

    slot: Slot
    call: int
    endpoint: str
    model: str


class Headers(NamedTuple):
    slot: Slot
    call: int
    headers: dict[str, str]


class Answered(NamedTuple):
    input_tokens: int
    output_tokens: int
    time_to_first_token: float | None


class Failed(NamedTuple):
    kind: str
    status: int | None
    retryable: bool
    retry_after: float | None


class Left(NamedTuple):
    """The call is over; `outcome` None: with nothing that says anything about the endpoint."""

    slot: Slot
    call: int
    outcome: Answered | Failed | None


class Spending(NamedTuple):
    """What the attempt has paid so far: itself, and its scorer."""

    slot: Slot
    paid: Paid
    paid_for_scoring: Paid


class Ended(NamedTuple):
    slot: Slot
    event: str
    body: bytes
    failure: tuple[str, str, str] | None
    spending: Spending


class Late(NamedTuple):
    """An attempt whose end was told already brought something after all."""

    slot: Slot
    seconds: float
    event: str
    body: bytes


class Broke(NamedTuple):
    """The worker itself failed at this attempt: a fault of rollgrid's, which ends the run."""

    slot: Slot
    traceback: str


News = Happened | Enter | Headers | Left | Spending | Ended | Late | Broke


class Batch(NamedTuple):
    """`news` in order, the first of which is number `first`; `live` the newest snapshots of running attempts."""

    first: int
    news: list[News]
    live: list[tuple[Slot, bytes]]


# -- there and back ----------------------------------------------------------------------------------------------------


def pack_event(event: Event) -> str:
    return masked_text(vars(event))[0]


def unpack_event(text: str) -> Event:
    data: dict[str, Any] = from_text(text)
    return EVENT_ADAPTER.validate_python({**data, "at": time.time()})


def unpack_end(text: str) -> AttemptEnded:
    event = unpack_event(text)
    assert isinstance(event, AttemptEnded)
    return event


def spending_of(slot: Slot, passage: Passage) -> Spending:
    return Spending(slot, passage.paid, passage.paid_for_scoring)


def pack_landing(slot: Slot, landing: Landing, passage: Passage) -> Ended:
    failure = landing.failure
    told = None if failure is None else (failure.signature, failure.error_type, failure.sample)
    return Ended(slot, pack_event(landing.event), landing.body, told, spending_of(slot, passage))


def unpack_landing(ended: Ended) -> Landing:
    """The result has no transcript: that is in `body`, and soon in the log."""
    event = unpack_end(ended.event)
    score = None
    if event.value is not None and event.passed is not None:
        score = Score(event.value, event.passed, event.reason, event.detail)
    result = AttemptResult(
        run=None,
        score=score,
        stop_reason=StopReason(event.stop_reason),
        duration_seconds=event.duration_seconds,
        error=event.error,
        error_type=event.error_type,
        tool_call_limit_hit=event.tool_call_limit_hit,
        limit=event.limit,
        status=event.status,
        usage=Usage(event.input_tokens, event.output_tokens, event.cost),
    )
    return Landing(result, event, ended.body, None if ended.failure is None else Failure(*ended.failure))


def pack_outcome(outcome: "base.ModelReply | BaseException | None") -> Answered | Failed | None:
    """What a lane wants to know of how a call ended."""
    if isinstance(outcome, base.ModelReply):
        usage = outcome.usage
        return Answered(usage.input_tokens, usage.output_tokens, outcome.time_to_first_token)
    if isinstance(outcome, ModelError):
        return Failed(outcome.kind, outcome.status, outcome.retryable, outcome.retry_after)
    return None


def unpack_outcome(outcome: Answered | Failed | None) -> "base.ModelReply | BaseException | None":
    match outcome:
        case Answered(input_tokens, output_tokens, time_to_first_token):
            usage = base.Usage(input_tokens, output_tokens)
            return base.ModelReply(usage=usage, time_to_first_token=time_to_first_token)
        case Failed(kind, status, retryable, retry_after):
            return ModelError("", kind=kind, status=status, retryable=retryable, retry_after=retry_after)
        case None:
            return None


def rate_limit_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a lane reads; the others may hold anything and stay where they are."""
    lowered = ((name.lower(), value) for name, value in headers.items())
    return {name: value for name, value in lowered if name.startswith("x-ratelimit-")}
