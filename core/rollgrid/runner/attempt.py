"""One attempt: the agent's run and its scoring under one clock. Whatever goes wrong is data, never an exception."""

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from rollgrid.agent.context import RunContext
from rollgrid.agent.run import Metrics, RunOutput, RunStatus
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.errors import ModelError
from rollgrid.masking import mask
from rollgrid.scorer.base import Score, Scorer, as_score

GRACE_SECONDS = 2.0
"""How long an attempt that was told to stop may take to do so before it is abandoned."""

SCORING_LIMIT = "timeout_seconds:scoring"
RUN_LIMIT = "timeout_seconds:run"

OnAbandoned = Callable[["asyncio.Task[None]", "Abandoned"], None]
RunAgent = Callable[[str, RunContext], Awaitable[RunOutput]]

_STOP_OF_STATUS = {
    RunStatus.completed: StopReason.completed,
    RunStatus.paused: StopReason.paused,
    RunStatus.cancelled: StopReason.cancelled,
    RunStatus.error: StopReason.error,
    RunStatus.pending: StopReason.error,
    RunStatus.regenerated: StopReason.error,
}


@dataclass(slots=True)
class Progress:
    """How far an attempt got, readable from outside when it is cut off."""

    output: RunOutput
    phase: Literal["run", "scoring"] = "run"
    score: Score | None = None
    error: BaseException | None = None
    score_error: BaseException | None = None


@dataclass(slots=True)
class Abandoned:
    """Work that went on after its attempt had ended. Its progress may still grow."""

    progress: Progress
    counted: Metrics

    def late_result(self, elapsed: float) -> AttemptResult:
        return result_of(self.progress, elapsed)

    def late_usage(self) -> dict[str, Any]:
        """Tokens and cost that the attempt's own end did not report yet."""
        now, counted = self.progress.output.metrics, self.counted
        usage: dict[str, Any] = {
            name: max(0, getattr(now, name) - getattr(counted, name))
            for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
        }
        usage["cost"] = None if now.cost is None else max(0.0, now.cost - (counted.cost or 0.0))
        return usage


async def run_attempt(
    make_agent: Callable[[], RunAgent],
    scorer: Scorer,
    prompt: str,
    expected: Any,
    context: RunContext,
    *,
    timeout_seconds: float,
    on_scoring: Callable[[], None],
    on_abandoned: OnAbandoned,
) -> AttemptResult:
    """Run and score once, within `timeout_seconds` of wall time.

    When the clock fires, the work is cancelled and gets `GRACE_SECONDS` to end; work that goes on all the same is
    handed to `on_abandoned`, and the attempt ends without it. Cancelling this coroutine cancels the work in the same
    way and raises CancelledError.
    """
    started = time.monotonic()
    progress = Progress(output=context.output)
    work = asyncio.create_task(_run_and_score(make_agent, scorer, prompt, expected, context, progress, on_scoring))
    try:
        await asyncio.wait({work}, timeout=timeout_seconds)
    except asyncio.CancelledError:
        await _stop(work, progress, on_abandoned)
        raise
    if work.done():
        _take_failure(work, progress)
        return result_of(progress, time.monotonic() - started)
    phase = progress.phase
    elapsed = time.monotonic() - started
    await _stop(work, progress, on_abandoned)
    return AttemptResult(
        run=progress.output,
        score=None,
        stop_reason=StopReason.timeout,
        duration_seconds=elapsed,
        error=f"timeout after {timeout_seconds:g} s" + (" while scoring" if phase == "scoring" else ""),
        error_type="AttemptTimeout",
        tool_call_limit_hit=progress.output.tool_call_limit_hit,
        limit=SCORING_LIMIT if phase == "scoring" else RUN_LIMIT,
    )


async def _run_and_score(
    make_agent: Callable[[], RunAgent],
    scorer: Scorer,
    prompt: str,
    expected: Any,
    context: RunContext,
    progress: Progress,
    on_scoring: Callable[[], None],
) -> None:
    try:
        progress.output = await make_agent()(prompt, context)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an agent raises is the outcome of its attempt
        progress.error = error
        return
    if progress.output.status not in (RunStatus.completed, RunStatus.running):
        return
    progress.output.status = RunStatus.completed
    progress.phase = "scoring"
    on_scoring()
    try:
        progress.score = as_score(await scorer.ascore(progress.output, expected))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a scorer that raises leaves its attempt unscored
        progress.score_error = error


def _take_failure(work: "asyncio.Task[None]", progress: Progress) -> None:
    """Fold in an exception that is no `Exception`: an agent or a scorer that cancels itself, say."""
    is_scoring = progress.phase == "scoring"
    if work.cancelled():
        who = "scorer" if is_scoring else "agent"
        error: BaseException | None = asyncio.CancelledError(f"the {who} cancelled itself")
    else:
        error = work.exception()
    if isinstance(error, KeyboardInterrupt):
        raise error
    if is_scoring:
        progress.score_error = error or progress.score_error
    else:
        progress.error = error or progress.error


def result_of(progress: Progress, elapsed: float) -> AttemptResult:
    run = progress.output
    error = progress.error
    stop = _STOP_OF_STATUS.get(run.status, StopReason.completed)
    text: str | None = None
    error_type: str | None = None
    status: int | None = None
    if error is not None:
        stop = StopReason.cancelled if isinstance(error, asyncio.CancelledError) else StopReason.error
        run.status = RunStatus.cancelled if stop is StopReason.cancelled else RunStatus.error
        error_type = type(error).__name__
        text = describe(error)
        if isinstance(error, ModelError):
            status = error.status
            error_type = f"ModelError.{error.kind}"
        else:
            status = _status_of(error)
    elif progress.score_error is not None:
        error_type = type(progress.score_error).__name__
        text = f"scorer: {error_type}: {_message(progress.score_error)}"
        if run.problem is not None:
            text += f" (the answer was {run.problem})"
    elif run.status in (RunStatus.pending, RunStatus.regenerated):
        error_type = "AgentError"
        text = f"the agent returned a run that is {run.status.value}, which is no answer"
    elif stop is StopReason.error:
        error_type = "AgentError"
        text = mask(run.problem_detail or run.get_content_as_string() or "the agent reported an error")
    return AttemptResult(
        run=run,
        score=progress.score,
        stop_reason=stop,
        duration_seconds=elapsed,
        error=text,
        error_type=error_type,
        status=status,
        tool_call_limit_hit=run.tool_call_limit_hit,
    )


def _status_of(error: BaseException) -> int | None:
    """The HTTP status that an exception of somebody else's client carries."""
    status: Any = getattr(error, "status_code", None)
    return status if isinstance(status, int) and 100 <= status <= 599 else None


def describe(error: BaseException) -> str:
    """An exception in one line. A message that cannot be made (a broken `__str__`) gives the type alone."""
    name, text = type(error).__name__, _message(error)
    if isinstance(error, ModelError):
        return text
    return f"{name}: {text}" if text else name


def _message(error: BaseException) -> str:
    """What it says, without secrets: a key may well stand in an exception of the user's own code."""
    try:
        return mask(str(error))
    except Exception:  # noqa: BLE001 - the user's exception class may itself be broken
        return ""


async def _stop(
    work: "asyncio.Task[None]",
    progress: Progress,
    on_abandoned: OnAbandoned,
) -> None:
    work.cancel()
    try:
        await asyncio.wait({work}, timeout=GRACE_SECONDS)
    except asyncio.CancelledError:
        if not work.done():
            on_abandoned(work, Abandoned(progress, copy.copy(progress.output.metrics)))
        raise
    if not work.done():
        on_abandoned(work, Abandoned(progress, copy.copy(progress.output.metrics)))
    elif not work.cancelled():
        work.exception()
