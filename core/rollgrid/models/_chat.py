"""Chat completions: from a conversation to a request body, from chunks and objects to a reply."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rollgrid.models import _errors
from rollgrid.models._responses import count, text_of
from rollgrid.models._wire import dumps, loads
from rollgrid.models.base import FinishReason, ModelReply, ModelRequest, OutputSchema, Usage
from rollgrid.models.messages import Message, ToolCall

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as chat messages."""
    return [_message(message) for message in messages]


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        out["tool_call_id"] = message.tool_call_id
        out["content"] = message.content or ""
    elif message.tool_calls:
        out["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    elif message.content is None:
        out["content"] = ""
    if message.name is not None and message.role in ("user", "system"):
        out["name"] = message.name
    return out


def tools_and_choice(request: ModelRequest) -> dict[str, Any]:
    """The part of a body that concerns tools."""
    if not request.tools:
        return {}
    body: dict[str, Any] = {
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    }
    choice = request.tool_choice
    if isinstance(choice, Mapping) and choice.get("type") == "function" and "name" in choice:
        # The shape of the Responses API is understood as well.
        choice = {"type": "function", "function": {"name": choice["name"]}}
    if choice is not None:
        body["tool_choice"] = choice
    return body


def response_format(output: OutputSchema, strict: bool) -> dict[str, Any]:
    schema = {"name": output.name, "schema": output.schema, "strict": strict and output.strict}
    return {"type": "json_schema", "json_schema": schema}


class ChatStream:
    """Takes the chunks of one streamed completion and ends with its reply."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._started = time.perf_counter()
        self._first: float | None = None
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._thoughts: list[str] = []
        self._calls: dict[int, ToolCall] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._head: Mapping[str, Any] = {}
        self._has_choice = False

    def is_complete(self) -> bool:
        return self._finish is not None

    def on_event(self, name: bytes, data: bytes) -> bool:
        """Take one chunk; True when it was the last. Raises `ModelError` when it carries an error."""
        if data == b"[DONE]":
            return True
        chunk = loads(data)
        if chunk.get("error") or name == b"error":
            raise _errors.from_payload(chunk)
        for piece in self._absorb(chunk):
            if self._first is None:
                self._first = time.perf_counter() - self._started
            if self._on_text is not None:
                self._on_text(piece)
        return False

    @_errors.shaped
    def _absorb(self, chunk: Mapping[str, Any]) -> list[str]:
        """Keep what the chunk brings; return the new pieces of text."""
        pieces: list[str] = []
        self._head = self._head or chunk
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            self._has_choice = True
            self._finish = choice.get("finish_reason") or self._finish
            delta: Mapping[str, Any] = choice.get("delta") or {}
            for key, kept in (("content", self._texts), ("refusal", self._refusals)):
                piece = delta.get(key)
                if isinstance(piece, str) and piece:
                    kept.append(piece)
                    pieces.append(piece)
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            if isinstance(thought, str):
                self._thoughts.append(thought)
            for part in delta.get("tool_calls") or ():
                self._take_call(part)
        return pieces

    def _take_call(self, part: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(self._place_of(part), ToolCall("", "", ""))
        function: Mapping[str, Any] = part.get("function") or {}
        call.id = part.get("id") or call.id
        # Names come whole; some servers repeat them in every chunk.
        call.name = function.get("name") or call.name
        call.arguments += _arguments(function.get("arguments"))

    def _place_of(self, part: Mapping[str, Any]) -> int:
        """Which call a piece belongs to. Without an index another id begins another call, and no id goes on with it."""
        index = part.get("index")
        if isinstance(index, int):
            return index
        last = max(self._calls, default=0)
        known, given = self._calls.get(last), part.get("id")
        return last + 1 if known is not None and given and known.id and given != known.id else last

    def reply(self) -> ModelReply:
        """The whole reply, once the stream has ended. Raises `ModelError` when there was none in it."""
        if not self._has_choice:
            raise _errors.protocol("the stream held no answer")
        return _finished(
            ModelReply(
                text="".join(self._texts),
                tool_calls=[self._calls[index] for index in sorted(self._calls)],
                refusal="".join(self._refusals) or None,
                reasoning="".join(self._thoughts) or None,
                usage=_usage(self._usage),
                model=text_of(self._head, "model"),
                response_id=text_of(self._head, "id"),
                time_to_first_token=self._first,
            ),
            self._finish,
        )


@_errors.shaped
def parse_completion(completion: Mapping[str, Any]) -> ModelReply:
    """The reply in a completion object. Raises `ModelError` when there is none in it."""
    if completion.get("error"):
        raise _errors.from_payload(completion)
    choices: Any = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise _errors.protocol("the server sent a completion without an answer")
    choice = cast("Mapping[str, Any]", choices[0])
    message: Mapping[str, Any] = choice.get("message") or {}
    calls = [
        ToolCall(call.get("id") or "", call["function"]["name"], _arguments(call["function"].get("arguments")))
        for call in message.get("tool_calls") or ()
        if isinstance(call.get("function"), Mapping)
    ]
    reply = ModelReply(
        text=_content(message.get("content")),
        tool_calls=calls,
        refusal=message.get("refusal") or None,
        reasoning=message.get("reasoning_content") or message.get("reasoning") or None,
        usage=_usage(completion.get("usage")),
        model=text_of(completion, "model"),
        response_id=text_of(completion, "id"),
    )
    return _finished(reply, choice.get("finish_reason"))


def _arguments(value: Any) -> str:
    """Arguments are JSON as text; some servers send the object itself."""
    if isinstance(value, dict):
        return dumps(cast("dict[str, Any]", value)).decode()
    return value or ""


@_errors.shaped
def _finished(reply: ModelReply, reason: str | None) -> ModelReply:
    finish = _FINISH.get(reason or "stop", "stop")
    if finish in ("length", "content_filter"):
        reply.finish = finish
    elif reply.refusal is not None:
        reply.finish = "refusal"
    else:
        reply.finish = "tool_calls" if reply.tool_calls else "stop"
    return reply


def _content(value: Any) -> str:
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return value if isinstance(value, str) else ""


def _usage(value: Any) -> Usage:
    if not isinstance(value, Mapping):
        return Usage()
    usage = cast("Mapping[str, Any]", value)
    return Usage(
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cached_tokens=count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )
