"""The Responses API: from a conversation to a request body, from events and objects to a reply."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from rollgrid.models import _errors
from rollgrid.models._wire import loads
from rollgrid.models.base import FinishReason, ModelReply, ModelRequest, OutputSchema, Usage
from rollgrid.models.messages import Message, ToolCall

_TEXT = {b"response.output_text.delta", b"response.refusal.delta"}
_LAST = {b"response.completed", b"response.incomplete", b"response.failed"}
_WANTED = _TEXT | _LAST | {b"error"}


def input_items(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as input items."""
    return [item for message in messages for item in _items(message)]


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content or ""}
        return
    if message.provider_items is not None:
        yield from message.provider_items
        return
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": message.content or ""}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def tools_and_choice(request: ModelRequest) -> dict[str, Any]:
    """The part of a body that concerns tools."""
    if not request.tools:
        return {}
    body: dict[str, Any] = {
        "tools": [
            # Not strict: a strict function has no optional parameters, and Python functions do.
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    }
    if request.tool_choice is not None:
        body["tool_choice"] = _choice(request.tool_choice)
    return body


def _choice(choice: str | Mapping[str, Any]) -> Any:
    """A choice of one function in the shape of chat completions is understood as well."""
    if isinstance(choice, str):
        return choice
    function = choice.get("function")
    if isinstance(function, Mapping):
        return {"type": "function", "name": cast("Mapping[str, Any]", function).get("name")}
    return choice


def text_format(output: OutputSchema, strict: bool) -> dict[str, Any]:
    return {
        "type": "json_schema",
        "name": output.name,
        "schema": output.schema,
        "strict": strict and output.strict,
    }


class ResponseStream:
    """Takes the events of one streamed response and ends with its reply."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._started = time.perf_counter()
        self._first: float | None = None
        self._pieces: list[str] = []
        self.reply: ModelReply | None = None

    def is_complete(self) -> bool:
        return self.reply is not None

    def on_event(self, name: bytes, data: bytes) -> bool:
        """Take one event; True when it was the last. Raises `ModelError` when it says that the response failed."""
        if data == b"[DONE]":
            return self.reply is not None
        if name and name not in _WANTED:
            return False
        event = loads(data)
        kind = name or str(event.get("type", "")).encode()
        if kind in _TEXT:
            self._text(event.get("delta"))
        elif kind in _LAST:
            self.reply = parse_response(event.get("response"))
            self.reply.time_to_first_token = self._first
            if not self.reply.text and not self.reply.refusal and not self.reply.tool_calls:
                # Some servers leave the output out of the last event.
                self.reply.text = "".join(self._pieces)
            return True
        elif kind == b"error":
            raise _errors.from_payload(event)
        return False

    def _text(self, delta: Any) -> None:
        if not isinstance(delta, str) or not delta:
            return
        if self._first is None:
            self._first = time.perf_counter() - self._started
        self._pieces.append(delta)
        if self._on_text is not None:
            self._on_text(delta)


@_errors.shaped
def parse_response(value: Any) -> ModelReply:
    """The reply in a response object. Raises `ModelError` when the response failed or is none."""
    if not isinstance(value, Mapping):
        raise _errors.protocol("the server sent no response object")
    response = cast("Mapping[str, Any]", value)
    status = response.get("status")
    if response.get("error"):
        raise _errors.from_payload(response["error"])
    output: Any = response.get("output")
    if not isinstance(output, list) or status in ("failed", "cancelled", "queued", "in_progress"):
        raise _errors.protocol(f"the server sent a response with the status {status} and no answer")
    reply = ModelReply(
        usage=_usage(response.get("usage")), model=text_of(response, "model"), response_id=text_of(response, "id")
    )
    texts: list[str] = []
    summaries: list[str] = []
    refusals: list[str] = []
    items = [item for item in cast("list[dict[str, Any]]", output) if isinstance(item, dict)]  # pyright: ignore[reportUnnecessaryIsInstance]
    for item in items:
        kind = item.get("type")
        if kind == "message":
            for part in item.get("content") or ():
                if part.get("type") == "refusal":
                    refusals.append(part.get("refusal") or "")
                elif isinstance(part.get("text"), str):
                    texts.append(part["text"])
        elif kind == "function_call":
            reply.tool_calls.append(ToolCall(text_of(item, "call_id") or "", item["name"], item.get("arguments") or ""))
        elif kind == "reasoning":
            summaries.extend(part["text"] for part in item.get("summary") or () if isinstance(part.get("text"), str))
    reply.text = "".join(texts)
    reply.refusal = "".join(refusals) if refusals else None
    reply.reasoning = "\n\n".join(summaries) or None
    reply.finish = _finish(reply, response)
    if reply.tool_calls:
        reply.provider_items = _items_to_send_back(items)
    return reply


def _finish(reply: ModelReply, response: Mapping[str, Any]) -> FinishReason:
    if response.get("status") == "incomplete":
        details: Any = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return "content_filter" if reason == "content_filter" else "length"
    if reply.refusal is not None:
        return "refusal"
    return "tool_calls" if reply.tool_calls else "stop"


def _items_to_send_back(items: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """A reasoning model's own items, when it thought before it called and its thoughts can travel.

    Nothing is stored at the provider, so thoughts travel encrypted or not at all: an id alone would be refused.
    """
    reasoning = [item for item in items if item.get("type") == "reasoning"]
    if not reasoning or not all(item.get("encrypted_content") for item in reasoning):
        return None
    return [{key: value for key, value in item.items() if key != "status" and value is not None} for item in items]


def _usage(value: Any) -> Usage:
    if not isinstance(value, Mapping):
        return Usage()
    usage = cast("Mapping[str, Any]", value)
    return Usage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cached_tokens=count(usage.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=count(usage.get("output_tokens_details"), "reasoning_tokens"),
    )


MOST_TOKENS = 2**53
"""What a server counts beyond this is no count, and sums of it would not fit into the log."""


def count(value: Any, key: str) -> int:
    """A count in a usage object; 0 where the server gives none."""
    number = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
    return number if type(number) is int and 0 <= number <= MOST_TOKENS else 0


def text_of(value: Mapping[str, Any], key: str) -> str | None:
    text = value.get(key)
    return text if isinstance(text, str) else None
