"""Bodies and events of the Responses API."""

from collections.abc import Mapping
from typing import Any

from rollgrid.testing.draft import Draft, dumps

_FINAL_EVENT = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "filter": "response.incomplete",
    "failed": "response.failed",
}
_STATUS = {"completed": "completed", "incomplete": "incomplete", "filter": "incomplete", "failed": "failed"}
_WHY_CUT = {"incomplete": {"reason": "max_output_tokens"}, "filter": {"reason": "content_filter"}}
_ECHOED = (
    "instructions", "max_output_tokens", "metadata", "previous_response_id", "reasoning", "temperature", "text",
    "tool_choice", "top_p", "truncation",
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_p": 1.0,
    "truncation": "disabled",
}


def body(draft: Draft, asked: Mapping[str, Any]) -> bytes:
    """The JSON of a whole response. `asked` is the request, whose parameters are echoed."""
    return dumps(_response(draft, asked, _STATUS[draft.outcome], _items(draft), usage=True))


def events(draft: Draft, asked: Mapping[str, Any]) -> list[bytes]:
    """Every server-sent event of a response, the last one being the terminal event."""
    stream = _Stream()
    opening = _response(draft, asked, "in_progress", [], usage=False)
    stream.add("response.created", response=opening)
    stream.add("response.in_progress", response=opening)
    items = _items(draft)
    for at, item in enumerate(items):
        _add_item(stream, draft, at, item)
    whole = _response(draft, asked, _STATUS[draft.outcome], items, usage=True)
    stream.add(_FINAL_EVENT[draft.outcome], response=whole)
    return stream.out


class _Stream:
    def __init__(self) -> None:
        self.out: list[bytes] = []

    def add(self, kind: str, **fields: Any) -> None:
        data = dumps({"type": kind, "sequence_number": len(self.out), **fields})
        self.out.append(b"event: %b\ndata: %b\n\n" % (kind.encode(), data))


def _response(
    draft: Draft, asked: Mapping[str, Any], status: str, items: list[dict[str, Any]], *, usage: bool
) -> dict[str, Any]:
    failed = status == "failed"
    error = {"code": "server_error", "message": "the model failed while it answered"} if failed else None
    return {
        "id": f"resp_{draft.id}",
        "object": "response",
        "created_at": draft.created,
        "status": status,
        "background": False,
        "error": error,
        "incomplete_details": _WHY_CUT.get(draft.outcome) if status == "incomplete" else None,
        "model": draft.model,
        "output": items,
        "parallel_tool_calls": True,
        "service_tier": "default",
        "store": False,
        "tools": [],
        **{name: asked[name] if asked.get(name) is not None else _DEFAULTS[name] for name in _ECHOED},
        "usage": _usage(draft) if usage and not failed else None,
    }


def _usage(draft: Draft) -> dict[str, Any]:
    tokens = draft.tokens
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.total,
    }


def _items(draft: Draft) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if draft.thinking is not None:
        summary = [{"type": "summary_text", "text": draft.thinking}]
        items.append({"id": f"rs_{draft.id}", "type": "reasoning", "summary": summary})
    if draft.outcome == "failed":
        return items
    if draft.tool is not None:
        items.append(
            {
                "id": f"fc_{draft.id}",
                "type": "function_call",
                "status": "completed",
                "call_id": f"call_{draft.id}",
                "name": draft.tool.name,
                "arguments": draft.tool.arguments,
            }
        )
        return items
    part: dict[str, Any] = (
        {"type": "refusal", "refusal": draft.refusal}
        if draft.refusal is not None
        else {"type": "output_text", "text": draft.text, "annotations": [], "logprobs": []}
    )
    status = "completed" if draft.outcome == "completed" else "incomplete"
    message = {"id": f"msg_{draft.id}", "type": "message", "role": "assistant", "status": status, "content": [part]}
    items.append(message)
    return items


def _add_item(stream: _Stream, draft: Draft, at: int, item: dict[str, Any]) -> None:
    where: dict[str, Any] = {"item_id": item["id"], "output_index": at}
    match item["type"]:
        case "reasoning":
            stream.add("response.output_item.added", output_index=at, item={**item, "summary": []})
            text = item["summary"][0]["text"]
            empty = {"type": "summary_text", "text": ""}
            stream.add("response.reasoning_summary_part.added", **where, summary_index=0, part=empty)
            stream.add("response.reasoning_summary_text.delta", **where, summary_index=0, delta=text)
            stream.add("response.reasoning_summary_text.done", **where, summary_index=0, text=text)
            stream.add("response.reasoning_summary_part.done", **where, summary_index=0, part=item["summary"][0])
        case "function_call":
            empty = {**item, "arguments": "", "status": "in_progress"}
            stream.add("response.output_item.added", output_index=at, item=empty)
            stream.add("response.function_call_arguments.delta", **where, delta=item["arguments"])
            whole = {"name": item["name"], "arguments": item["arguments"]}
            stream.add("response.function_call_arguments.done", **where, **whole)
        case _:
            opening: dict[str, Any] = {**item, "content": [], "status": "in_progress"}
            stream.add("response.output_item.added", output_index=at, item=opening)
            _add_message(stream, draft, {**where, "content_index": 0}, item["content"][0])
    stream.add("response.output_item.done", output_index=at, item=item)


def _add_message(stream: _Stream, draft: Draft, where: dict[str, Any], part: dict[str, Any]) -> None:
    if draft.refusal is not None:
        stream.add("response.content_part.added", **where, part={"type": "refusal", "refusal": ""})
        stream.add("response.refusal.delta", **where, delta=draft.refusal)
        stream.add("response.refusal.done", **where, refusal=draft.refusal)
    else:
        stream.add("response.content_part.added", **where, part={**part, "text": ""})
        for piece in draft.pieces():
            stream.add("response.output_text.delta", **where, logprobs=[], delta=piece)
        stream.add("response.output_text.done", **where, logprobs=[], text=draft.text)
    stream.add("response.content_part.done", **where, part=part)
