"""What one run of an agent leaves behind: messages, tool executions, usage, and the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel

from rollgrid.models.messages import Message, Role, ToolCall

__all__ = ["Message", "Metrics", "Role", "RunOutput", "RunStatus", "ToolCall", "ToolExecution"]


class RunStatus(StrEnum):
    """Where a run stands. The values are the seed library's, so that files travel both ways."""

    running = "RUNNING"
    completed = "COMPLETED"
    paused = "PAUSED"
    cancelled = "CANCELLED"
    error = "ERROR"


@dataclass(slots=True)
class ToolExecution:
    """A tool call that was carried out, or tried. `result` is the text that went back to the model."""

    tool_name: str
    tool_args: dict[str, Any]
    tool_call_id: str | None = None
    result: str | None = None
    tool_call_error: bool = False
    is_paused: bool = False
    duration: float | None = None


@dataclass(slots=True)
class Metrics:
    """Sums over the model calls of a run. Times in seconds, cost in US dollars (None: no price known)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    time_to_first_token: float | None = None
    duration: float | None = None
    model_calls: int = 0
    retries: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(slots=True)
class RunOutput:
    """One run of an agent. It is filled while the run goes on, so that an abandoned run keeps what had arrived.

    `content` is the answer: text, or an instance of the agent's `output_schema`. It is None when there is no usable
    answer; then `raw_text` holds what the model did emit and `problem` says why (`refusal`, `truncated`, `invalid`,
    `content_filter`). `raw_text` is always the model's last answer byte for byte.
    """

    content: Any = None
    messages: list[Message] = field(default_factory=list[Message])
    tools: list[ToolExecution] = field(default_factory=list[ToolExecution])
    reasoning: str | None = None
    metrics: Metrics = field(default_factory=Metrics)
    model: str | None = None
    model_provider: str | None = None
    agent_name: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    input: str | None = None
    status: RunStatus = RunStatus.running
    raw_text: str | None = None
    partial_text: str | None = None
    """Text of an answer that was still arriving when the run was cut off."""
    problem: str | None = None
    problem_detail: str | None = None
    tool_call_limit_hit: bool = False
    created_at: float | None = None
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of a loaded file that this version has no name for; they are written back as they came."""

    def get_content_as_string(self) -> str:
        """The answer as text: a model instance as JSON, None as the empty string."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, in the shape of baseline files (see docs/files.md)."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; also reads what the seed library wrote. Unknown keys are kept in `extra`."""
        raise NotImplementedError


def content_as_string(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, BaseModel):
        return content.model_dump_json()
    raise NotImplementedError
