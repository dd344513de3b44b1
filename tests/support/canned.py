"""A model that answers from a list and keeps what it was asked, for tests that need no server."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rollgrid.models.base import Model, ModelReply, ModelRequest


class CannedModel(Model):
    """Answers each request with the next text of `replies`, the last one for ever. `policy` is its sampling."""

    provider: ClassVar[str] = "canned"

    def __init__(self, replies: str | Sequence[str] = "ok", id: str = "canned-1", **policy: Any) -> None:
        self.id = id
        self.replies = [replies] if isinstance(replies, str) else list(replies)
        self.requests: list[ModelRequest] = []
        self.settings = policy

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        # The agent goes on writing into its list of messages.
        self.requests.append(replace(request, messages=tuple(request.messages)))
        text = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return ModelReply(text=text, model=self.id)

    def policy(self) -> dict[str, Any]:
        return {"id": self.id, **self.settings}
