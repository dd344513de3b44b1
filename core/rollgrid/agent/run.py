"""What one run of an agent leaves behind: messages, tool executions, usage, and the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from rollgrid.agent._parts import (
    Metrics,
    ToolExecution,
    as_list,
    as_mapping,
    message_from_dict,
    message_to_dict,
    metrics_from_dict,
    metrics_to_dict,
    tool_from_dict,
    tool_to_dict,
)
from rollgrid.models.messages import Message, Role, ToolCall

__all__ = ["Message", "Metrics", "Role", "RunOutput", "RunStatus", "ToolCall", "ToolExecution", "content_as_string"]


class RunStatus(StrEnum):
    """Where a run stands. The values are the seed library's, so that files travel both ways."""

    pending = "PENDING"
    running = "RUNNING"
    completed = "COMPLETED"
    paused = "PAUSED"
    cancelled = "CANCELLED"
    error = "ERROR"
    regenerated = "REGENERATED"


@dataclass(slots=True)
class RunOutput:
    """One run of an agent. It is filled while the run goes on, so that an abandoned run keeps what had arrived.

    `content` is the answer: text, or an instance of the agent's `output_schema`. It is None when there is no usable
    answer; then `raw_text` holds what the model did emit and `problem` says why (`refusal`, `truncated`, `invalid`,
    `content_filter`). `raw_text` is always the model's last answer byte for byte. An answer in plain text that was
    refused or cut off is still an answer: `content` holds it, and `problem` says what it is.
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
    session_state: dict[str, Any] | None = None
    """The session state as the run's tools left it."""
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

    @property
    def is_paused(self) -> bool:
        return self.status is RunStatus.paused

    @property
    def is_cancelled(self) -> bool:
        return self.status is RunStatus.cancelled

    def get_content_as_string(self) -> str:
        """The answer as text: a model instance as JSON, None as the empty string."""
        return content_as_string(self.content)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, in the shape of baseline files (see docs/files.md).

        Raises `TypeError` when `content` is something that JSON cannot hold.
        """
        content = self.content
        out: dict[str, Any] = {"status": self.status.value}
        if content is not None:
            if isinstance(content, str):
                out["content"] = content
                out["content_type"] = "str"
            else:
                out["content"] = _json_ready(content)
                out["content_type"] = type(content).__name__
        for key in _TEXT_KEYS:
            value = getattr(self, key)
            if value is not None:
                out[key] = value
        if self.input is not None:
            out["input"] = {"input_content": self.input}
        if self.reasoning is not None:
            out["reasoning_content"] = self.reasoning
        if self.session_state is not None:
            out["session_state"] = to_jsonable_python(self.session_state, fallback=str)
        if self.created_at is not None:
            out["created_at"] = int(self.created_at)
        out["metrics"] = metrics_to_dict(self.metrics)
        out["messages"] = [message_to_dict(message) for message in self.messages]
        if self.tools:
            out["tools"] = [tool_to_dict(tool) for tool in self.tools]
        if self.extra:
            out.update(self.extra)
        ours: dict[str, Any] = {}
        for key in _OUR_KEYS:
            value = getattr(self, key)
            if value is not None:
                ours[key] = value
        if self.tool_call_limit_hit:
            ours["tool_call_limit_hit"] = True
        out["rollgrid"] = ours
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; also reads what the seed library wrote. Unknown keys are kept in `extra`.

        `data` is not changed. A structured answer comes back as plain JSON values: a file knows the name of its class,
        not the class. Raises `ValueError` naming the key whose value has no usable shape.
        """
        inner = as_mapping(data.get("run"))
        if inner is not None and "messages" not in data:
            data = inner
        rest = dict(data)
        run = cls(content=rest.pop("content", None), metrics=metrics_from_dict(rest.pop("metrics", None)))
        if isinstance(run.content, str) and rest.get("content_type") == "str":
            del rest["content_type"]
        for key in _TEXT_KEYS:
            value = rest.pop(key, None)
            if value is not None:
                setattr(run, key, value)
        run.reasoning = rest.pop("reasoning_content", None)
        state = as_mapping(rest.get("session_state"))
        if state is not None:
            run.session_state = dict(state)
            del rest["session_state"]
        run.status = _status(rest.pop("status", None))
        run.messages = [message_from_dict(item) for item in _rows(rest, "messages")]
        run.tools = [tool_from_dict(item) for item in _rows(rest, "tools")]
        created_at: Any = rest.pop("created_at", None)
        run.created_at = float(created_at) if created_at is not None else None
        given = as_mapping(rest.get("input"))
        if given is not None and isinstance(given.get("input_content"), str):
            run.input = given["input_content"]
            if len(given) == 1:
                del rest["input"]
        for key, value in (as_mapping(rest.pop("rollgrid", None)) or {}).items():
            if key in _OUR_KEYS or key == "tool_call_limit_hit":
                setattr(run, key, value)
        run.extra = rest
        return run


_TEXT_KEYS = ("run_id", "agent_name", "session_id", "user_id", "model", "model_provider")
_OUR_KEYS = ("raw_text", "partial_text", "problem", "problem_detail", "created_at")


def content_as_string(content: Any) -> str:
    """Text as it is, None as the empty string, everything else as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, BaseModel):
        return content.model_dump_json()
    return to_json(content, fallback=str).decode()


def _json_ready(content: Any) -> Any:
    if isinstance(content, BaseModel):
        return content.model_dump(mode="json")
    try:
        return to_jsonable_python(content)
    except PydanticSerializationError as error:
        raise TypeError(f"content of type {type(content).__name__} cannot be written as JSON: {error}") from error


def _rows(data: dict[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = data.pop(key, None)
    objects = [as_mapping(row) for row in as_list(rows) or ()]
    found = [row for row in objects if row is not None]
    if rows is not None and (not isinstance(rows, list) or len(found) != len(objects)):
        raise ValueError(f"{key} must be a list of objects")
    return found


def _status(value: Any) -> RunStatus:
    if value is None:
        return RunStatus.running
    try:
        return RunStatus(value)
    except ValueError:
        raise ValueError(f"status {value!r} is not one of {', '.join(status.value for status in RunStatus)}") from None
