"""Bodies and chunks of the Chat Completions API."""

from typing import Any

from rollgrid.testing.draft import Draft, dumps

DONE = b"data: [DONE]\n\n"
_FINISH = {"completed": "stop", "incomplete": "length", "filter": "content_filter", "failed": "stop"}


def body(draft: Draft) -> bytes:
    """The JSON of a whole completion."""
    spoken = draft.tool is None and draft.refusal is None
    message: dict[str, Any] = {
        "role": "assistant",
        "content": draft.text if spoken else None,
        "refusal": draft.refusal,
        "annotations": [],
    }
    if draft.thinking is not None:
        message["reasoning_content"] = draft.thinking
    if draft.tool is not None:
        message["tool_calls"] = [_tool_call(draft)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(draft)}
    return dumps({**_frame(draft, "chat.completion"), "choices": [choice], "usage": _usage(draft)})


def events(draft: Draft) -> list[bytes]:
    """Every server-sent event of a completion. Finish reason, usage (if asked for) and [DONE] come last."""
    frame = _frame(draft, "chat.completion.chunk")
    if draft.wants_usage:
        frame["usage"] = None
    out: list[bytes] = []

    def add(delta: dict[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        out.append(_event({**frame, "choices": [choice]}))

    add({"role": "assistant", "content": "" if draft.tool is None else None, "refusal": None})
    if draft.thinking is not None:
        add({"reasoning_content": draft.thinking})
    if draft.outcome == "failed":
        error = {"message": "the model failed while it answered", "type": "server_error", "param": None, "code": None}
        out.append(_event({"error": error}))
        return out
    if draft.tool is not None:
        call = _tool_call(draft)
        opening = {**call, "index": 0, "function": {"name": draft.tool.name, "arguments": ""}}
        add({"tool_calls": [opening]})
        add({"tool_calls": [{"index": 0, "function": {"arguments": draft.tool.arguments}}]})
    elif draft.refusal is not None:
        add({"refusal": draft.refusal})
    else:
        for piece in draft.pieces():
            add({"content": piece})
    add({}, _finish(draft))
    if draft.wants_usage:
        out.append(_event({**frame, "choices": [], "usage": _usage(draft)}))
    out.append(DONE)
    return out


def without_end(sent: list[bytes]) -> list[bytes]:
    """The events of a stream up to, not including, the one that carries the finish reason."""
    return [event for event in sent if event != DONE and b'"finish_reason":null' in event]


def _event(data: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % dumps(data)


def _finish(draft: Draft) -> str:
    return "tool_calls" if draft.tool is not None else _FINISH[draft.outcome]


def _frame(draft: Draft, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{draft.id}",
        "object": kind,
        "created": draft.created,
        "model": draft.model,
        "service_tier": "default",
        "system_fingerprint": "fp_simulated",
    }


def _tool_call(draft: Draft) -> dict[str, Any]:
    assert draft.tool is not None
    function = {"name": draft.tool.name, "arguments": draft.tool.arguments}
    return {"id": f"call_{draft.id}", "type": "function", "function": function}


def _usage(draft: Draft) -> dict[str, Any]:
    tokens = draft.tokens
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
