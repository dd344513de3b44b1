"""A Python function as an agent."""

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from rollgrid.adapters.foreign import Facts, Given
from rollgrid.agent.context import RunContext, handed_down
from rollgrid.agent.run import Message
from rollgrid.scorer.base import FingerprintError
from rollgrid.scorer.source import describe_code
from rollgrid.threads import in_thread

__all__ = ["FunctionAgent"]


class FunctionAgent:
    """`fn(input)` as an agent, sync or async; it returns text, a pydantic model instance or a `RunOutput`.

    A sync function runs in a thread. Those of `context`, `session_id` and `user_id` that its
    signature names after the input are given to it.

    `prompt_fields` is what shapes its prompt, as JSON values (or a function that returns them). Without it the
    function's source stands for it, with all that the source uses, as with a `CodeScorer`; a function that uses what is
    no data, such as an open client, then has no fingerprint. `policy` is the model's id and its sampling parameters:
    nothing can be known of them here, so without it the policy has no fingerprint.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        prompt_fields: Given = None,
        policy: Given = None,
        output_schema: type[BaseModel] | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(fn) or isinstance(fn, type):
            raise TypeError(f"FunctionAgent needs a function of the input, got {type(fn).__name__}")
        self._fn = fn
        self._given_prompt = prompt_fields
        self._given_policy = policy
        self.output_schema = output_schema
        self.name = name or getattr(fn, "__name__", None) or type(fn).__name__
        if not _parameters(fn):
            raise TypeError(f"{self.name} takes no input")
        self._handed = handed_down(fn)
        call = getattr(fn, "__call__", None)  # noqa: B004 - an async method is looked for, not callability
        self._is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(call)

    async def arun(self, input: str, context: RunContext) -> Any:
        """What the function returns."""
        handed = {name: context if name == "context" else getattr(context, name) for name in self._handed}
        if "context" not in handed:
            # A run that is cut off keeps at least what it was asked.
            context.output.messages.append(Message("user", input))
        if self._is_async:
            return await self._fn(input, **handed)
        answer = await in_thread(f"the agent {self.name}", lambda: self._fn(input, **handed))
        return await answer if inspect.isawaitable(answer) else answer

    def copy_for_attempt(self) -> "FunctionAgent":
        """A function is shared by all attempts."""
        return self

    def prompt_fields(self) -> dict[str, Any]:
        """Raises `FingerprintError` when the function's source cannot be had or uses what is no data."""
        if self._given_prompt is not None:
            return Facts().settled(self._given_prompt, self.name, "prompt_fields")
        try:
            return {"code": describe_code(self._fn)}
        except FingerprintError as error:
            raise FingerprintError(f"{error} (or pass prompt_fields={{...}} to the FunctionAgent)") from error

    def policy(self) -> dict[str, Any]:
        """Raises `FingerprintError` when it was not given."""
        facts = Facts()
        facts.hide("the model that the function asks")
        return facts.settled(self._given_policy, f"the function {self.name}", "policy")


def _parameters(fn: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return ("input",)
