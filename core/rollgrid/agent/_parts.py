"""The parts of a run and their shape in files: tool executions, sums of usage, messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import to_json

from rollgrid.models.messages import Message, ToolCall


@dataclass(slots=True)
class ToolExecution:
    """A tool call that was carried out, or tried. `result` is the text that went back to the model.

    `tool_args` are the arguments as the model sent them, before any coercion.
    """

    tool_name: str
    tool_args: dict[str, Any]
    tool_call_id: str | None = None
    result: str | None = None
    tool_call_error: bool = False
    is_paused: bool = False
    duration: float | None = None
    extra: dict[str, Any] | None = None
    """Keys of a loaded file that this version has no name for; they are written back as they came."""


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
    extra: dict[str, Any] | None = None
    """Keys of a loaded file that this version has no name for; they are written back as they came."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """The value when it is a JSON object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: Any) -> list[Any] | None:
    """The value when it is a JSON array."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def metrics_to_dict(metrics: Metrics) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if metrics.input_tokens or metrics.output_tokens:
        out["input_tokens"] = metrics.input_tokens
        out["output_tokens"] = metrics.output_tokens
        out["total_tokens"] = metrics.input_tokens + metrics.output_tokens
    if metrics.cached_tokens:
        out["cache_read_tokens"] = metrics.cached_tokens
    if metrics.reasoning_tokens:
        out["reasoning_tokens"] = metrics.reasoning_tokens
    if metrics.cost is not None:
        out["cost"] = metrics.cost
    if metrics.time_to_first_token is not None:
        out["time_to_first_token"] = metrics.time_to_first_token
    if metrics.duration is not None:
        out["duration"] = metrics.duration
    if metrics.model_calls:
        out["model_calls"] = metrics.model_calls
    if metrics.retries:
        out["retries"] = metrics.retries
    if metrics.extra:
        out.update(metrics.extra)
    return out


def metrics_from_dict(data: Any) -> Metrics:
    rest = dict(as_mapping(data) or {})
    metrics = Metrics(
        input_tokens=rest.pop("input_tokens", 0) or 0,
        output_tokens=rest.pop("output_tokens", 0) or 0,
        cached_tokens=rest.pop("cache_read_tokens", 0) or 0,
        reasoning_tokens=rest.pop("reasoning_tokens", 0) or 0,
        cost=rest.pop("cost", None),
        time_to_first_token=rest.pop("time_to_first_token", None),
        duration=rest.pop("duration", None),
        model_calls=rest.pop("model_calls", 0) or 0,
        retries=rest.pop("retries", 0) or 0,
    )
    if rest.get("total_tokens") == metrics.total_tokens:
        del rest["total_tokens"]
    metrics.extra = rest or None
    return metrics


def message_to_dict(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role}
    if message.content is not None:
        out["content"] = message.content
    if message.tool_calls:
        out["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        out["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        out["tool_name" if message.role == "tool" else "name"] = message.name
    if message.tool_call_error is not None:
        out["tool_call_error"] = message.tool_call_error
    if message.reasoning is not None:
        out["reasoning_content"] = message.reasoning
    if message.provider_items is not None:
        out["provider_data"] = {"rollgrid_items": message.provider_items}
    if message.extra:
        out.update(message.extra)
    return out


def message_from_dict(data: Mapping[str, Any]) -> Message:
    rest = dict(data)
    message = Message(role=rest.pop("role", "user"))
    content: Any = rest.pop("content", None)
    if content is None or isinstance(content, str):
        message.content = content
    else:
        # Content in parts: the text is for reading, the parts travel on untouched.
        message.content = _text_of_parts(content)
        rest["content"] = content
    calls = as_list(rest.get("tool_calls"))
    if calls is not None:
        message.tool_calls = [_tool_call(call) for item in calls if (call := as_mapping(item)) is not None]
        if all(_is_plain_call(call) for call in calls):
            del rest["tool_calls"]
    message.tool_call_id = rest.pop("tool_call_id", None)
    message.name = rest.pop("tool_name" if message.role == "tool" else "name", None)
    message.tool_call_error = rest.pop("tool_call_error", None)
    message.reasoning = rest.pop("reasoning_content", None)
    provider = as_mapping(rest.get("provider_data"))
    if provider is not None and (items := as_list(provider.get("rollgrid_items"))) is not None:
        message.provider_items = items
        del rest["provider_data"]
    message.extra = rest or None
    return message


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    named = as_mapping(call.get("function")) or call
    arguments: Any = named.get("arguments", {})
    return ToolCall(
        id=str(call.get("id") or ""),
        name=str(named.get("name") or ""),
        arguments=arguments if isinstance(arguments, str) else to_json(arguments).decode(),
    )


def _is_plain_call(value: Any) -> bool:
    """Whether writing the call again gives the same object."""
    call = as_mapping(value)
    function = as_mapping(call.get("function")) if call is not None else None
    return (
        call is not None
        and function is not None
        and set(call) == {"id", "type", "function"}
        and call["type"] == "function"
        and set(function) == {"name", "arguments"}
        and isinstance(function["arguments"], str)
    )


def _text_of_parts(content: Any) -> str:
    parts = [as_mapping(part) for part in as_list(content) or ()]
    if parts and all(part is not None and isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts if part is not None)
    return to_json(content, fallback=str).decode()


def tool_to_dict(tool: ToolExecution) -> dict[str, Any]:
    out: dict[str, Any] = {
        "tool_call_id": tool.tool_call_id,
        "tool_name": tool.tool_name,
        "tool_args": tool.tool_args,
        "tool_call_error": tool.tool_call_error,
        "result": tool.result,
    }
    if tool.is_paused:
        # Readers of the seed library's files derive the pause from this flag.
        out["requires_confirmation"] = True
    if tool.duration is not None:
        out["metrics"] = {"duration": tool.duration}
    if tool.extra:
        out.update(tool.extra)
    return out


_PAUSES = ("requires_confirmation", "requires_user_input", "external_execution_required")


def tool_from_dict(data: Mapping[str, Any]) -> ToolExecution:
    rest = dict(data)
    metrics = as_mapping(rest.get("metrics"))
    duration: float | None = metrics.get("duration") if metrics is not None else None
    if metrics is not None and set(metrics) == {"duration"}:
        del rest["metrics"]
    execution = ToolExecution(
        tool_name=rest.pop("tool_name", None) or "",
        tool_args=rest.pop("tool_args", None) or {},
        tool_call_id=rest.pop("tool_call_id", None),
        result=rest.pop("result", None),
        tool_call_error=bool(rest.pop("tool_call_error", None)),
        is_paused=any(rest.get(key) for key in _PAUSES),
        duration=duration,
    )
    execution.extra = rest or None
    return execution
