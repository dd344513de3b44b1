"""Tool calls from a model that has no reliable tool calling of its own.

The reply is forced into a JSON schema whose first property, `action`, names a tool or the answer, and translated back
into tool calls. A tiny model chooses well when it has to name what it does before it does it: measured with the 0.5B
model, 12 of 12 multiplications were then left to the tool and 0 of 12 other questions; native calls gave 0 of 8, and so
did a schema where the first property already belongs to the answer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from rollgrid.models.base import ModelRequest, OutputSchema, ToolSpec
from rollgrid.models.messages import Message, ToolCall

FORCING_VERSION = 1
"""Part of the policy: another wording or schema is another policy. Raise it with every change of this module's text."""

# Without this the smallest model calls the same tool on its own result, again and again.
_AFTER_RESULT = "\nIf that is what was asked for, give the final answer now."


@dataclass(frozen=True, slots=True)
class ForcedReply:
    """How to ask for a forced reply and read it. `answer` is the action that answers; None: a tool must be used."""

    schema: Mapping[str, Any]
    instructions: str
    tools: frozenset[str]
    answer: str | None

    def read(self, text: str, call_number: int) -> tuple[str, list[ToolCall]]:
        """The answer's text and no calls, or no text and the call. Text that is not the forced shape stays as it is.

        An answer in the agent's own schema is cut out byte for byte.
        """
        try:
            value: Any = json.loads(text)
        except ValueError:  # cut off by the token limit; the finish reason says so
            return text, []
        if not isinstance(value, dict):
            return text, []
        fields = cast("dict[str, Any]", value)
        action = fields.get("action")
        if isinstance(action, str) and action in self.tools:
            arguments = json.dumps(fields.get("arguments", {}), ensure_ascii=False)
            return "", [ToolCall(id=f"call_{call_number}", name=action, arguments=arguments)]
        answer = fields.get("answer")
        if isinstance(answer, str):
            return answer, []
        return (text if answer is None else _raw_answer(text)), []


def force_tools(request: ModelRequest) -> ForcedReply | None:
    """The forced shape for a request with tools; None for one without.

    Where no tool may be called any more, the answer is still asked for in this shape: the history is full of it.
    """
    tools, may_answer = _allowed(request)
    if not tools and not request.tools:
        return None
    names = frozenset(tool.name for tool in tools)
    definitions: dict[str, Any] = {}
    branches: list[dict[str, Any]] = []
    for number, tool in enumerate(tools):
        parameters: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
        arguments = _hoist({**parameters, **tool.parameters}, f"t{number}_", definitions)
        branches.append(_object({"action": {"const": tool.name}, "arguments": arguments}))
    answer: str | None = None
    if may_answer:
        answer = "answer"
        while answer in names:
            answer = f"final_{answer}"
        shape = {"type": "string"} if request.output is None else _hoist(dict(request.output.schema), "a_", definitions)
        branches.append(_object({"action": {"const": answer}, "answer": shape}))
    schema: dict[str, Any] = {"anyOf": branches}
    if definitions:
        schema["$defs"] = definitions
    return ForcedReply(schema, _instructions(tools, answer, request.output), names, answer)


def plain_history(messages: Sequence[Message], forced: ForcedReply | None) -> list[Message]:
    """The history with calls and results as ordinary turns; the system message tells of the forced reply."""
    names: dict[str, str] = {}
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant" and message.tool_calls:
            names.update((call.id, call.name) for call in message.tool_calls)
            calls = [_json({"action": call.name, "arguments": _arguments(call)}) for call in message.tool_calls]
            said = [message.content] if message.content else []
            out.append(Message(role="assistant", content="\n".join([*said, *calls])))
        elif message.role == "tool":
            name = message.name or names.get(message.tool_call_id or "", "the tool")
            verb = "failed" if message.tool_call_error else "gave"
            out.append(Message(role="user", content=f"{name} {verb}: {message.content or ''}{_AFTER_RESULT}"))
        elif message.role == "assistant" and forced is not None and forced.answer is not None:
            wrapped = _json({"action": forced.answer, "answer": message.content or ""})
            out.append(Message(role="assistant", content=wrapped))
        else:
            out.append(message)
    if forced is None:
        return out
    for i, message in enumerate(out):
        if message.role in ("system", "developer"):
            out[i] = replace(message, content=f"{message.content or ''}\n\n{forced.instructions}")
            return out
    return [Message(role="system", content=forced.instructions), *out]


def calls_so_far(messages: Sequence[Message]) -> int:
    return sum(len(message.tool_calls) for message in messages)


def _allowed(request: ModelRequest) -> tuple[list[ToolSpec], bool]:
    """The tools that this turn may call, and whether it may answer instead."""
    choice = request.tool_choice
    tools = list(request.tools)
    if choice is None or choice == "auto":
        return tools, True
    if choice == "none":
        return [], True
    if choice in ("required", "any"):
        return tools, False
    if isinstance(choice, Mapping):
        function: Any = choice.get("function", choice)
        choice = str(function.get("name", ""))
    return [tool for tool in tools if tool.name == choice], False


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _hoist(schema: dict[str, Any], prefix: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions moved to `definitions` under prefixed names: references count from the root."""
    own = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    for name, definition in own.items():
        definitions[prefix + name] = _rename(definition, prefix)
    return _rename({k: v for k, v in schema.items() if k not in ("$defs", "definitions")}, prefix)


def _rename(value: Any, prefix: str) -> Any:
    if isinstance(value, dict):
        renamed: dict[str, Any] = {}
        for key, inner in cast("dict[str, Any]", value).items():
            if key == "$ref" and isinstance(inner, str):
                renamed[key] = f"#/$defs/{prefix}{inner.rsplit('/', 1)[-1]}"
            else:
                renamed[key] = _rename(inner, prefix)
        return renamed
    if isinstance(value, list):
        return [_rename(inner, prefix) for inner in cast("list[Any]", value)]
    return value


def _instructions(tools: Sequence[ToolSpec], answer: str | None, output: OutputSchema | None) -> str:
    lines = ["Reply with one JSON object, your next action."]
    for tool in tools:
        properties = cast("Mapping[str, Any]", tool.parameters.get("properties", {}))
        call = {"action": tool.name, "arguments": {name: _type(spec) for name, spec in properties.items()}}
        lines.append(f"{_json(call)}: {tool.description.strip() or 'Call this tool.'}")
    if answer is not None:
        shape: Any = "..."
        if output is not None:
            shape = {name: _type(spec) for name, spec in output.schema.get("properties", {}).items()}
        lines.append(
            f"{_json({'action': answer, 'answer': shape})}: Give the final answer, once you know it for certain."
        )
    return "\n".join(lines)


def _type(spec: Any) -> str:
    kind = cast("Mapping[str, Any]", spec).get("type", "value") if isinstance(spec, Mapping) else "value"
    return f"<{kind}>"


def _arguments(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return call.arguments


def _raw_answer(text: str) -> str:
    """The answer's own bytes. The forced shape puts it last, after `"answer":`, before the closing brace."""
    start = text.index('"answer"', text.index(",")) + len('"answer"')
    start = text.index(":", start) + 1
    while text[start].isspace():
        start += 1
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[start:end]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
