"""The way of a model call through the run that it belongs to.

A run decides when a call may go out (rate limits, concurrency), learns from how it ended, and knows what it cost. It
puts a `Traffic` into the context of each attempt, and everything beneath that calls a model goes through it: the agent,
and a judge among the scorers, which is handed nothing but the output to be judged. Hence a context variable.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from rollgrid.models.base import Model, ModelReply, ModelRequest

OnText = Callable[[str], None] | None


class Traffic(Protocol):
    async def call(self, model: Model, request: ModelRequest, on_text: OnText) -> ModelReply:
        """Make one try of a call when its turn has come. Raises what `model.respond` raises."""
        ...


traffic: ContextVar[Traffic | None] = ContextVar("traffic", default=None)


async def respond(model: Model, request: ModelRequest, on_text: OnText = None) -> ModelReply:
    """`model.respond`, by way of the run if there is one."""
    through = traffic.get()
    if through is None:
        return await model.respond(request, on_text)
    return await through.call(model, request, on_text)
