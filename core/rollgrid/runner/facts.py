"""From what happened in an attempt to what the log says of it."""

import time
from dataclasses import dataclass
from typing import Any

import orjson

from rollgrid.agent.run import Metrics, RunOutput
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.runner.attempt import SCORING_LIMIT
from rollgrid.runner.budget import Spent
from rollgrid.runner.passage import Paid, Passage
from rollgrid.runner.schedule import Slot
from rollgrid.runner.signature import error_signature
from rollgrid.runner.storm import Failure
from rollgrid.runner.transcript import in_words, put_right, transcript_of
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded

NO_SCORE = "no score from the scorer before the attempt's time was up"
NO_REPLY = "no reply from the model before the attempt's time was up"


def failure_of(result: AttemptResult) -> Failure | None:
    """The failure that a storm watch counts, or None.

    A timeout counts only when nothing at all had arrived, or when the scorer did not return: an endpoint that does not
    answer is an outage and a scorer that hangs is a fault, an agent that is slow at a hard task is neither.
    """
    if result.score is not None:
        return None
    if result.stop_reason is StopReason.timeout:
        run = result.run
        if result.limit == SCORING_LIMIT:
            return Failure(f"Timeout: {NO_SCORE}", "Timeout", NO_SCORE)
        silent = run is None or not (run.partial_text or run.tools or run.metrics.output_tokens)
        return Failure(f"Timeout: {NO_REPLY}", "Timeout", NO_REPLY) if silent else None
    if result.error is None:
        return None
    error_type = result.error_type or "Error"
    return Failure(error_signature(error_type, result.status, result.error), error_type, result.error)


def ended_event(
    run_id: str, at: float, slot: Slot, result: AttemptResult, passage: Passage | None = None
) -> AttemptEnded:
    """The event that ends this take. Scores and errors go in whole; the transcript is the event's body.

    `passage` has seen the model calls that went through the run; an agent that does not count for itself is counted
    by it.
    """
    run = result.run
    score = result.score
    failure = failure_of(result)
    metrics = run.metrics if run is not None else None
    if metrics is not None:
        put_right(metrics)
    if metrics is not None and passage is not None:
        fill_in(metrics, passage.paid)
    scoring = passage.paid_for_scoring if passage is not None else Paid()
    return AttemptEnded(
        run_id=run_id,
        at=at,
        task=slot.task,
        attempt=slot.attempt,
        take=slot.take,
        stop_reason=result.stop_reason.value,
        passed=score.passed if score else None,
        value=float(score.value) if score else None,
        reason=score.reason if score else None,
        detail=json_ready(score.detail) if score and score.detail else None,
        error=result.error,
        error_type=result.error_type,
        error_signature=failure.signature if failure else None,
        status=result.status,
        limit=result.limit,
        duration_seconds=result.duration_seconds,
        time_to_first_token=metrics.time_to_first_token if metrics else None,
        input_tokens=metrics.input_tokens if metrics else 0,
        output_tokens=metrics.output_tokens if metrics else 0,
        cached_tokens=metrics.cached_tokens if metrics else 0,
        reasoning_tokens=metrics.reasoning_tokens if metrics else 0,
        cost=metrics.cost if metrics else None,
        scorer_input_tokens=scoring.input_tokens,
        scorer_output_tokens=scoring.output_tokens,
        scorer_cost=scoring.cost,
        retries=metrics.retries if metrics else 0,
        n_tools=len(run.tools) if run else 0,
        tool_call_limit_hit=result.tool_call_limit_hit,
    )


@dataclass(slots=True)
class Landing:
    """How an attempt ended, for the caller (`result`), the log (`event`, `body`) and the storm watch (`failure`)."""

    result: AttemptResult
    event: AttemptEnded
    body: bytes
    failure: Failure | None


def landing_of(run_id: str, slot: Slot, result: AttemptResult, passage: Passage) -> Landing:
    """What there is to say of an attempt that ended just now."""
    event = ended_event(run_id, time.time(), slot, result, passage)
    return Landing(result, event, encode(transcript_of(result.run)), failure_of(result))


def cancelled_result(output: RunOutput, elapsed: float) -> AttemptResult:
    """An attempt that was told to stop, with what it had brought."""
    return AttemptResult(
        run=output,
        score=None,
        stop_reason=StopReason.cancelled,
        duration_seconds=elapsed,
        error="cancelled before it had finished",
        error_type="Cancelled",
    )


def fill_in(metrics: Metrics, paid: Paid) -> None:
    """What the agent's own calls brought, for an agent that does not say it itself."""
    if not metrics.total_tokens:
        metrics.input_tokens, metrics.output_tokens = paid.input_tokens, paid.output_tokens
    if metrics.cost is None and metrics.total_tokens == paid.input_tokens + paid.output_tokens:
        metrics.cost = paid.cost


def spent_by(event: AttemptEnded) -> Spent:
    """What an attempt took, its scoring included."""
    return Spent(
        (event.cost or 0.0) + (event.scorer_cost or 0.0),
        event.input_tokens + event.output_tokens + event.scorer_input_tokens + event.scorer_output_tokens,
        event.duration_seconds,
    )


def json_ready(detail: dict[str, Any]) -> dict[str, Any]:
    """A scorer's own detail as JSON can hold it; what it cannot hold is kept as text."""
    try:
        return orjson.loads(
            orjson.dumps(detail, default=str, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
        )
    except Exception:  # noqa: BLE001 - a `__str__` of the user's own may raise anything
        return {"text": in_words(detail)}
