"""What the caller of a run hands down to it: who watches, which seed, where retries are told."""

import inspect
from dataclasses import dataclass, field
from typing import Any, Protocol

from rollgrid.agent.run import RunOutput, ToolExecution
from rollgrid.models.retry import RetryNotice

__all__ = ["RetryNotice", "RunContext", "RunObserver", "SilentObserver", "handed_down"]


class RunObserver(Protocol):
    """Told of each step while a run goes on. Calls must return at once; they are made on the event loop."""

    def on_model_call(self, run: RunOutput) -> None: ...
    def on_text(self, run: RunOutput) -> None:
        """More text arrived; it is in `run.partial_text`."""
        ...

    def on_tool_start(self, run: RunOutput, name: str) -> None: ...
    def on_tool_end(self, run: RunOutput, execution: ToolExecution) -> None: ...
    def on_retry(self, run: RunOutput, notice: RetryNotice) -> None: ...


class SilentObserver:
    """Watches nothing."""

    def on_model_call(self, run: RunOutput) -> None: ...
    def on_text(self, run: RunOutput) -> None: ...
    def on_tool_start(self, run: RunOutput, name: str) -> None: ...
    def on_tool_end(self, run: RunOutput, execution: ToolExecution) -> None: ...
    def on_retry(self, run: RunOutput, notice: RetryNotice) -> None: ...


@dataclass(frozen=True, slots=True)
class RunContext:
    """`output` is the object that the run fills, owned by the caller: a run that is cancelled leaves it as it then is.

    `seed` is a number of this attempt's own; models that sample locally use it, hosted ones ignore it.
    """

    output: RunOutput = field(default_factory=RunOutput)
    observer: RunObserver = field(default_factory=SilentObserver)
    seed: int | None = None
    session_id: str | None = None
    user_id: str | None = None


_HANDED_DOWN = ("context", "session_id", "user_id")


def handed_down(call: Any) -> tuple[str, ...]:
    """Which of `context`, `session_id` and `user_id` the signature names, to be passed by keyword.

    The first positional parameter is the input, whatever it is called.
    """
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        return ()
    if parameters and parameters[0].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        del parameters[0]
    by_keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {one.name for one in parameters if one.kind in by_keyword}
    return tuple(name for name in _HANDED_DOWN if name in named)
