"""Scoring what the log holds: a stored transcript and a scorer give a verdict, without a call to the agent's model.

A verdict comes about exactly as in a live run: by `run_attempt`, with an agent that answers at once what is stored. So
the clock, the threads and processes of scorers and the wording of errors are the same.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from rollgrid.agent.context import RunContext
from rollgrid.agent.run import RunOutput, RunStatus
from rollgrid.environments.attempt import AttemptResult
from rollgrid.models.traffic import Traffic, traffic
from rollgrid.runner.attempt import OnAbandoned, run_attempt
from rollgrid.scorer.base import Scorer
from rollgrid.threads import Job, leak_listener

__all__ = ["StoredAnswerError", "output_of", "score_stored", "was_completed"]

_COMPLETED = RunStatus.completed.value


class StoredAnswerError(Exception):
    """A stored answer is none of the environment's output schema any more, so that no scorer can be given it."""


def was_completed(transcript: Mapping[str, Any]) -> bool:
    """Whether the agent's run came to its end, however its scoring went. Nothing else can be scored."""
    return transcript.get("status") == _COMPLETED


def output_of(transcript: Mapping[str, Any], schema: type[BaseModel] | None = None) -> RunOutput:
    """The run's output as its scorer was given it: a typed answer is an instance of `schema` again.

    The log holds JSON, which does not know the class; without a schema a typed answer stays plain JSON values. Each
    call gives an object of its own. Raises `StoredAnswerError` when the answer does not fit the schema.
    """
    data = dict(transcript)
    data.pop("score", None)
    run = RunOutput.from_dict(data)
    if schema is not None and run.content is not None and is_typed(transcript):
        try:
            # As JSON, so that strict fields and types that JSON has no form for are read as they were written.
            run.content = schema.model_validate_json(orjson.dumps(run.content))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the answer"
            raise StoredAnswerError(
                f"the stored answer is no {schema.__name__} of the environment any more: {where}: {first['msg']}"
            ) from error
    return run


def is_typed(transcript: Mapping[str, Any]) -> bool:
    """Whether the answer was an object of a class rather than text."""
    return transcript.get("content") is not None and transcript.get("content_type") not in (None, "str")


async def score_stored(
    scorer: Scorer,
    run: RunOutput,
    expected: Any,
    *,
    timeout_seconds: float,
    through: Traffic | None = None,
    on_leak: Callable[[Job], None] | None = None,
    on_abandoned: OnAbandoned = lambda _work, _left: None,
) -> AttemptResult:
    """Score a completed run that is at hand, within `timeout_seconds`. Never raises what the scorer raises.

    The result's `score` is None, and `error` says why, when there is no verdict; its `duration_seconds` is that of the
    scoring. `through` carries the calls of a judge. `on_leak` is told of a scorer's function in a thread that could not
    be stopped, `on_abandoned` of a coroutine. The scorer may change `run`: give each call an output of its own
    (`output_of`).
    """

    async def answer(_prompt: str, _context: RunContext) -> RunOutput:
        return run

    carried, told = traffic.set(through), leak_listener.set(on_leak)
    try:
        return await run_attempt(
            lambda: answer,
            scorer,
            run.input or "",
            expected,
            RunContext(output=run),
            timeout_seconds=timeout_seconds,
            on_scoring=_nothing,
            on_abandoned=on_abandoned,
        )
    finally:
        traffic.reset(carried)
        leak_listener.reset(told)


def _nothing() -> None: ...
