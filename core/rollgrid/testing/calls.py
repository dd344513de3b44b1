"""What a request asks for, whichever of the two APIs it came through."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

Api = Literal["responses", "chat"]

_MARK = re.compile(rb"ANS=(-?\d{1,18})")


class BadCall(Exception):
    """The body is not what the API takes; `param` is the field to blame."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class Turn:
    """What a later request goes on from when it names the response to this one (`previous_response_id`)."""

    prompt: str
    mark: int | None
    tool_results: int


@dataclass(slots=True)
class Call:
    """One request for an answer."""

    api: Api
    model: str
    stream: bool
    data: dict[str, Any]
    size: int
    """Bytes of the body."""
    mark: int | None
    """The expected value, when the body carries an ANS mark."""
    earlier: Turn | None = None

    @property
    def previous(self) -> str | None:
        """The response that this request goes on from."""
        named = self.data.get("previous_response_id") if self.api == "responses" else None
        return named if isinstance(named, str) else None

    def go_on_from(self, turn: Turn) -> None:
        self.earlier = turn
        self.mark = turn.mark if self.mark is None else self.mark

    def turn(self) -> Turn:
        return Turn(self.prompt, self.mark, self.tool_results)

    @property
    def prompt(self) -> str:
        """The last text of the user."""
        if self.api == "responses":
            given: Any = self.data["input"]
            if isinstance(given, str):
                return given
        else:
            given = self.data["messages"]
        last = ""
        for item in _mappings(given):
            if item.get("role") == "user":
                last = _text_of(item.get("content"))
        return last or ("" if self.earlier is None else self.earlier.prompt)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the answer is to follow."""
        if self.api == "responses":
            form = _mapping(_mapping(self.data.get("text")).get("format"))
        else:
            outer = _mapping(self.data.get("response_format"))
            form = {**_mapping(outer.get("json_schema")), "type": outer.get("type")}
        schema = form.get("schema")
        if form.get("type") == "json_schema" and schema:
            return cast(Mapping[str, Any], schema)
        forced = self.forced()
        return None if forced is None else {"type": "object", **forced[1]}

    @property
    def tool_results(self) -> int:
        """How many tool results follow the last text of the user."""
        given: Any = self.data.get("input" if self.api == "responses" else "messages")
        count = 0 if self.earlier is None or isinstance(given, str) else self.earlier.tool_results
        for item in _mappings(given):
            if item.get("role") == "user":
                count = 0
            elif item.get("type") == "function_call_output" or item.get("role") == "tool":
                count += 1
        return count

    def tool(self) -> tuple[str, Mapping[str, Any]] | None:
        """Name and parameters of the function to call: the one that `tool_choice` names, else the first."""
        choice = self.data.get("tool_choice")
        if choice == "none":
            return None
        named = _mapping(choice)
        wanted = named.get("name") or _mapping(named.get("function")).get("name")
        return next((tool for tool in self._functions() if wanted in (None, tool[0])), None)

    def forced(self) -> tuple[str, Mapping[str, Any]] | None:
        """The function that the answer itself must be a call of: the last one, when some call is required.

        Libraries that ask for typed answers in this way put the function that takes the answer last.
        """
        functions = self._functions() if self.data.get("tool_choice") == "required" else []
        return functions[-1] if functions else None

    def _functions(self) -> list[tuple[str, Mapping[str, Any]]]:
        found: list[tuple[str, Mapping[str, Any]]] = []
        for tool in _mappings(self.data.get("tools")):
            function = _mapping(tool.get("function")) or tool
            name = function.get("name")
            if tool.get("type") == "function" and isinstance(name, str):
                found.append((name, _mapping(function.get("parameters"))))
        return found

    @property
    def wants_usage(self) -> bool:
        """A chat stream tells its usage only when asked to."""
        return bool(_mapping(self.data.get("stream_options")).get("include_usage"))


def read_call(api: Api, body: bytes) -> Call:
    """Raises `BadCall` for a body that the API would refuse."""
    data: Any
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            data = json.loads(body)  # knows lone surrogates and integers of any size
        except (ValueError, RecursionError):
            raise BadCall("the body of the request is not valid JSON") from None
    if not isinstance(data, dict):
        raise BadCall("the body of the request must be a JSON object")
    fields = cast(dict[str, Any], data)
    model = fields.get("model")
    if not isinstance(model, str) or not model:
        raise BadCall("missing required parameter: 'model'", "model")
    history = "input" if api == "responses" else "messages"
    given: Any = fields.get(history)
    if given is None:
        raise BadCall(f"missing required parameter: '{history}'", history)
    if not (isinstance(given, list) or (api == "responses" and isinstance(given, str))):
        raise BadCall(f"invalid type for '{history}'", history)
    mark = _MARK.search(body)
    return Call(api, model, fields.get("stream") is True, fields, len(body), int(mark[1]) if mark else None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _mappings(value: Any) -> Iterable[Mapping[str, Any]]:
    items = cast(list[Any], value) if isinstance(value, list) else []
    return (cast(Mapping[str, Any], item) for item in items if isinstance(item, dict))


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part["text"]) for part in _mappings(content) if isinstance(part.get("text"), str))
