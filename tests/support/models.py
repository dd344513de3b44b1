"""Models that answer from a list, for tests that need no server."""

from collections.abc import Callable, Sequence
from typing import Any

from rollgrid.models.base import Model, ModelReply, ModelRequest


class ScriptedModel(Model):
    """Answers each request with the next text of `replies`, the last one for ever. Keeps the requests."""

    provider = "scripted"

    def __init__(self, replies: str | Sequence[str] = "ok", id: str = "scripted-1", **policy: Any) -> None:
        self.id = id
        self.replies = [replies] if isinstance(replies, str) else list(replies)
        self.requests: list[ModelRequest] = []
        self.settings = policy

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        self.requests.append(request)
        text = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return ModelReply(text=text, model=self.id)

    def policy(self) -> dict[str, Any]:
        return {"id": self.id, **self.settings}
