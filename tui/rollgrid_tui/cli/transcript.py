"""A stored transcript as text for stdout. Its parts are cleaned by whoever prints it."""

import json
from collections.abc import Mapping
from typing import Any, cast


def transcript_text(body: Mapping[str, Any] | None) -> str:
    """Messages in order, each under its role, tool calls with arguments and result; then what was cut off, and why."""
    if not body:
        return "(no transcript was stored)"
    parts: list[str] = []
    for message in _dicts(body.get("messages")):
        parts.append(_message(message))
    tools = _dicts(body.get("tools"))
    if tools:
        parts.append("-- tools --\n" + "\n".join(_tool(tool) for tool in tools))
    if body.get("partial_text"):
        parts.append(f"-- cut off while arriving --\n{body['partial_text']}")
    if body.get("problem"):
        detail = f": {body['problem_detail']}" if body.get("problem_detail") else ""
        parts.append(f"-- no usable answer --\n{body['problem']}{detail}")
    score = body.get("score")
    if isinstance(score, dict) and cast("dict[str, Any]", score).get("detail"):
        parts.append(f"-- score detail --\n{_shown(cast('dict[str, Any]', score)['detail'])}")
    return "\n\n".join(parts) if parts else "(nothing had arrived)"


def _message(message: Mapping[str, Any]) -> str:
    role = str(message.get("role", "?"))
    title = f"-- {role} --" if not message.get("name") else f"-- {role} {message['name']} --"
    lines = [title]
    if message.get("reasoning"):
        lines.append(f"(reasoning) {message['reasoning']}")
    if message.get("content") is not None:
        lines.append(_shown(message["content"]))
    for call in _dicts(message.get("tool_calls")):
        inner = call.get("function")
        named = cast("Mapping[str, Any]", inner) if isinstance(inner, dict) else call
        lines.append(f"calls {named.get('name')}({_shown(named.get('arguments'))})")
    if message.get("tool_call_error"):
        lines.append("(the tool failed)")
    return "\n".join(lines)


def _tool(tool: Mapping[str, Any]) -> str:
    failed = " failed" if tool.get("tool_call_error") else ""
    return f"{tool.get('tool_name')}({_shown(tool.get('tool_args'))}){failed} = {_shown(tool.get('result'))}"


def _dicts(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", item) for item in cast("list[Any]", value) if isinstance(item, dict)]


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
