"""Runs of a library whose runs have the shape of baseline files."""

from typing import Any, cast

from pydantic import BaseModel

from rollgrid.agent.run import RunOutput

__all__ = ["run_of_shape"]


def run_of_shape(answer: Any, kind: str) -> RunOutput:
    """`answer.to_dict()` as a `RunOutput`. Raises `TypeError`, naming `kind`, when that is no dict."""
    shape = answer.to_dict()
    if not isinstance(shape, dict):
        raise TypeError(f"the agent returned {kind}, whose to_dict() gives no dict")
    run = RunOutput.from_dict(cast("dict[str, Any]", shape))
    if isinstance(answer.content, (str, BaseModel)):
        run.content = answer.content
    executed = {one.tool_call_id for one in run.tools}
    # A call that was refused at the limit leaves an error message and no execution.
    run.tool_call_limit_hit = run.tool_call_limit_hit or any(
        message.tool_call_error and message.tool_call_id is not None and message.tool_call_id not in executed
        for message in run.messages
    )
    return run
