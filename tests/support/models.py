"""A model for tests that answers from a script and remembers what it was asked."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rollgrid.models.base import Model, ModelReply, ModelRequest, Usage
from rollgrid.models.messages import Message, ToolCall
from rollgrid.models.retry import RetryPolicy


class ScriptedModel(Model):
    """Gives the replies in turn; the last one again and again. An exception in the script is raised.

    Each request is kept as its messages, its tool choice and its output schema at the time of asking.
    """

    provider: ClassVar[str] = "scripted"

    def __init__(
        self, *script: ModelReply | Exception | str, id: str = "scripted", hang_after: int | None = None
    ) -> None:
        self.id = id
        self.script: list[Any] = list(script)
        self.requests: list[tuple[list[Message], Any, Any]] = []
        self.seeds: list[int | None] = []
        self.retry = RetryPolicy(max_retries=3, base=0.0)
        self.hang_after = hang_after
        self.reached_hang = asyncio.Event()

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        self.requests.append((list(request.messages), request.tool_choice, request.output))
        self.seeds.append(request.seed)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        reply = text_reply(step) if isinstance(step, str) else step
        if isinstance(reply, Exception):
            raise reply
        for piece in pieces(reply.text):
            if on_text is not None:
                on_text(piece)
        if self.hang_after is not None and len(self.requests) > self.hang_after:
            self.reached_hang.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return reply

    def policy(self) -> dict[str, Any]:
        return {"id": self.id}


def pieces(text: str, size: int = 3) -> Sequence[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def text_reply(text: str, **changes: Any) -> ModelReply:
    return ModelReply(text=text, usage=Usage(10, 5, 2, 1), time_to_first_token=0.25, **changes)


def call_reply(*calls: tuple[str, str]) -> ModelReply:
    """A reply that asks for these calls, given as (tool name, arguments)."""
    made = [ToolCall(f"call_{index}", name, arguments) for index, (name, arguments) in enumerate(calls)]
    return ModelReply(tool_calls=made, finish="tool_calls", usage=Usage(10, 5))
