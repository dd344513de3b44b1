"""Tool calls from a model that has no reliable tool calling of its own.

The reply is forced into a JSON schema, `anyOf` of one branch for each tool and one for the answer, and translated back
into tool calls. Native tool calling gave 0 right of 8 with the 0.5B model; this gives a good half of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from rollgrid.models.base import ModelRequest, ToolSpec
from rollgrid.models.messages import Message, ToolCall

FORCING_VERSION = 1
"""Part of the policy: another wording or schema is another policy. Raise it with every change of this module's text."""


@dataclass(frozen=True, slots=True)
class ForcedReply:
    """How to ask for a forced reply and how to read it. `key` is the property that names a tool."""

    schema: Mapping[str, Any]
    instructions: str
    key: str
    tools: frozenset[str]
    answer_key: str | None
    """The property that holds a free-text answer; None when the answer is an object of the agent's own schema."""

    def read(self, text: str, call_number: int) -> tuple[str, list[ToolCall]]:
        """The answer's text and no calls, or no text and the call. Text that is not the forced shape stays as it is."""
        try:
            value: Any = json.loads(text)
        except ValueError:  # cut off by the token limit; the finish reason says so
            return text, []
        if not isinstance(value, dict):
            return text, []
        fields = cast("dict[str, Any]", value)
        name = fields.get(self.key)
        if isinstance(name, str) and name in self.tools:
            arguments = json.dumps(fields.get("arguments", {}), ensure_ascii=False)
            return "", [ToolCall(id=f"call_{call_number}", name=name, arguments=arguments)]
        if self.answer_key is not None and isinstance(fields.get(self.answer_key), str):
            return str(fields[self.answer_key]), []
        return text, []


def force_tools(request: ModelRequest) -> ForcedReply | None:
    """The forced shape for a request with tools; None when the model may not call any."""
    tools, may_answer = _allowed(request)
    if not tools:
        return None
    output = request.output
    taken = set(cast("Mapping[str, Any]", output.schema.get("properties", {}))) if output is not None else set[str]()
    key = "tool_call"
    while key in taken:
        key += "_"
    definitions: dict[str, Any] = {}
    branches: list[dict[str, Any]] = []
    for number, tool in enumerate(tools):
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {},
            "additionalProperties": False,
            **tool.parameters,
        }
        branches.append(
            _object({key: {"const": tool.name}, "arguments": _hoist(parameters, f"t{number}_", definitions)})
        )
    answer_key: str | None = None
    if may_answer:
        if output is None:
            answer_key = "answer"
            branches.append(_object({answer_key: {"type": "string"}}))
        else:
            branches.append(_hoist(dict(output.schema), "answer_", definitions))
    schema: dict[str, Any] = {"anyOf": branches}
    if definitions:
        schema["$defs"] = definitions
    answer = None
    if may_answer:
        answer = json.dumps({"answer": "..."}) if output is None else json.dumps(_sketch(output.schema))
    return ForcedReply(
        schema=schema,
        instructions=_instructions(tools, key, answer),
        key=key,
        tools=frozenset(tool.name for tool in tools),
        answer_key=answer_key,
    )


def plain_history(messages: Sequence[Message], forced: ForcedReply | None) -> list[Message]:
    """The history with calls and results as ordinary turns; the system message tells of the forced reply."""
    key = forced.key if forced is not None else "tool_call"
    names: dict[str, str] = {}
    out: list[Message] = []
    for message in messages:
        if message.role == "assistant" and message.tool_calls:
            names.update((call.id, call.name) for call in message.tool_calls)
            calls = [
                json.dumps({key: c.name, "arguments": _arguments(c)}, ensure_ascii=False) for c in message.tool_calls
            ]
            said = [message.content] if message.content else []
            out.append(Message(role="assistant", content="\n".join([*said, *calls])))
        elif message.role == "tool":
            name = message.name or names.get(message.tool_call_id or "", "the tool")
            verb = "failed" if message.tool_call_error else "gave"
            out.append(Message(role="user", content=f"{name} {verb}: {message.content or ''}"))
        elif message.role == "assistant" and forced is not None and forced.answer_key is not None:
            wrapped = json.dumps({forced.answer_key: message.content or ""}, ensure_ascii=False)
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


def _sketch(schema: Mapping[str, Any]) -> dict[str, str]:
    properties = cast("Mapping[str, Any]", schema.get("properties", {}))
    return dict.fromkeys(properties, "...")


def _instructions(tools: Sequence[ToolSpec], key: str, answer: str | None) -> str:
    lines = ["Reply with one JSON object. These tools can be called:"]
    for tool in tools:
        properties = cast("Mapping[str, Any]", tool.parameters.get("properties", {}))
        call = json.dumps({key: tool.name, "arguments": {name: _type(spec) for name, spec in properties.items()}})
        lines.append(f"- {tool.name}: {tool.description.strip()} To call it, reply {call}")
    if answer is None:
        lines.append("Call one of them now.")
    else:
        lines.append(f"When you know the answer, reply {answer}")
    return "\n".join(lines)


def _type(spec: Any) -> str:
    kind = cast("Mapping[str, Any]", spec).get("type", "value") if isinstance(spec, Mapping) else "value"
    return f"<{kind}>"


def _arguments(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return call.arguments
