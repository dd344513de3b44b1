"""Messages of a conversation, as the agent keeps them and as models are given them."""

from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(slots=True)
class ToolCall:
    """A call that the model asked for. `arguments` is the model's own text: JSON when the model behaves."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Message:
    role: Role
    content: str | None = None
    tool_calls: list[ToolCall] = field(default_factory=list[ToolCall])
    tool_call_id: str | None = None
    name: str | None = None
    tool_call_error: bool | None = None
    reasoning: str | None = None
    provider_items: list[dict[str, Any]] | None = None
    """Items of the provider's own that must be sent back with the history (encrypted reasoning, say)."""
    extra: dict[str, Any] | None = None
    """Keys of a loaded file that this version has no name for; they are written back as they came."""
