"""Python functions as tools: what the provider is told, and what happens when the model calls one."""

import asyncio
import functools
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, cast, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict  # pydantic takes the standard library's only from Python 3.12 on

from rollgrid.agent._docstring import parse_docstring
from rollgrid.models.base import ToolSpec
from rollgrid.threads import in_thread

INJECTED = ("agent", "run_context", "session_state")
"""Parameters of these names are filled by the agent and hidden from the model."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool with a parameter `run_context` is given."""

    run_id: str | None
    session_id: str | None
    user_id: str | None
    session_state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`text` goes back to the model."""

    text: str
    is_error: bool


def read_arguments(text: str) -> dict[str, Any] | str:
    """The arguments that the model sent, or what is wrong with them."""
    try:
        # Not orjson: it would turn an integer beyond 64 bits into a float.
        sent: Any = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        return f"Error: the arguments are not valid JSON: {error}"
    return cast("dict[str, Any]", sent) if isinstance(sent, dict) else "Error: the arguments must be a JSON object"


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call. Made by `Tool.of`."""

    spec: ToolSpec
    function: Callable[..., Any]
    arguments: TypeAdapter[dict[str, Any]]
    positional: tuple[str, ...]
    injected: tuple[str, ...]

    @classmethod
    def of(
        cls, function: "Tool | Callable[..., Any]", name: str | None = None, description: str | None = None
    ) -> "Tool":
        """Read the signature and the docstring.

        Raises `TypeError` when a parameter has no JSON schema, or when the function takes `*args`.
        """
        if isinstance(function, Tool):
            return function
        if not callable(function):
            raise TypeError(f"a tool must be a function, got {type(function).__name__}")
        target = _unwrapped(function)
        tool_name = name or getattr(target, "__name__", None) or type(target).__name__
        doc = parse_docstring(inspect.getdoc(target) or "")
        parameters = _parameters(function, tool_name)
        fields: dict[str, Any] = {}
        for key, (parameter, hint) in parameters.items():
            details: dict[str, Any] = {}
            if key in doc.parameters:
                details["description"] = doc.parameters[key]
            if parameter.default is parameter.empty:
                fields[key] = Annotated[hint, Field(**details)]
                continue
            shown = _json_default(parameter.default)
            if shown is not None:
                details["json_schema_extra"] = shown
            fields[key] = NotRequired[Annotated[hint, Field(**details)]]
        adapter = _adapter(tool_name, fields)
        return cls(
            spec=ToolSpec(tool_name, description or doc.summary, _object_schema(adapter)),
            function=function,
            arguments=adapter,
            positional=tuple(key for key, (p, _) in parameters.items() if p.kind is p.POSITIONAL_ONLY),
            injected=tuple(
                key for key in inspect.signature(function).parameters if key in INJECTED and key not in parameters
            ),
        )

    async def call(self, given: dict[str, Any], injected: Mapping[str, Any]) -> ToolResult:
        """Run the function with the model's arguments. Whatever goes wrong is text for the model.

        Only what stops the program gets out: KeyboardInterrupt, and the cancellation of the caller.
        """
        try:
            values = self.arguments.validate_python(given)
        except ValidationError as error:
            return ToolResult(f"Error: {describe(error)}", True)
        except Exception as error:  # noqa: BLE001 - a validator of the user's own may raise anything
            return ToolResult(f"Error: {type(error).__name__}: {error}", True)
        first = [values.pop(key) for key in self.positional if key in values]
        keywords = {**values, **{key: injected[key] for key in self.injected}}
        result = await _run(functools.partial(self.function, *first, **keywords), self.function)
        if isinstance(result, _Failure):
            return ToolResult(f"Error: {result.text}", True)
        try:
            return ToolResult(as_text(result), False)
        except (ValueError, TypeError, RecursionError, PydanticSerializationError) as error:
            return ToolResult(f"Error: the result of {self.spec.name} is no text: {error}", True)


@dataclass(frozen=True, slots=True)
class _Failure:
    text: str


async def _run(call: Callable[[], Any], function: Callable[..., Any]) -> Any:
    """The function's result, or a `_Failure`. An async function is awaited; any other runs off the event loop."""
    result: Any = None
    is_async = _is_async(function)
    if not is_async:
        result = await in_thread(f"tool {_name(function)}", _contained, call)
        # A plain function may still hand back something to await: a lambda around an async one, say.
        if not inspect.isawaitable(result) and not inspect.isasyncgen(result):
            return result
    try:
        if is_async:
            result = call()
        if inspect.isasyncgen(result):
            return "".join([as_text(part) async for part in cast("AsyncGenerator[Any, None]", result)])
        return await result
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failure(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's failure is an answer for the model
        return _failure(error)


def _contained(call: Callable[[], Any]) -> Any:
    """Run in the worker thread, where a StopIteration would never reach the waiting future."""
    try:
        result = call()
        if inspect.isgenerator(result):
            return "".join(as_text(part) for part in cast("Generator[Any, None, None]", result))
        return result
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - an answer for the model
        return _failure(error)


def _failure(error: BaseException) -> _Failure:
    if isinstance(error, SystemExit):
        return _Failure(f"the tool tried to end the program (exit code {error.code})")
    text = str(error)
    return _Failure(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _is_async(function: Callable[..., Any]) -> bool:
    function = _unwrapped(function)
    call = getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__ counts
    return any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in (function, call))


def _name(function: Callable[..., Any]) -> str:
    inner = _unwrapped(function)
    return getattr(inner, "__name__", None) or type(inner).__name__


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside of partials."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    return function


def as_text(value: Any) -> str:
    """A tool's result as the text that goes back to the model: text as it is, anything else as JSON.

    Raises `ValueError` for bytes that are no UTF-8.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)  # pyright: ignore[reportUnknownArgumentType]
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{len(data)} bytes that are no UTF-8") from None
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return to_json(value, fallback=str).decode()


def describe(error: ValidationError) -> str:
    """What is wrong, one clause for each mistake, without pydantic's links."""
    parts: list[str] = []
    for item in error.errors(include_url=False, include_context=False):
        where = ".".join(str(step) for step in item["loc"])
        parts.append(f"{where}: {item['msg']}" if where else item["msg"])
    return "; ".join(parts[:10]) + (f"; and {len(parts) - 10} more" if len(parts) > 10 else "")


def _parameters(function: Callable[..., Any], name: str) -> dict[str, tuple[inspect.Parameter, Any]]:
    """The parameters that the model fills, with their types."""
    try:
        signature = inspect.signature(function)
    except ValueError as error:
        raise TypeError(f"tool {name} has no signature to read: {error}") from error
    target: Any = _unwrapped(function)
    if not inspect.isroutine(target):
        target = target.__call__
    try:
        hints = get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(f"tool {name}: a type of its signature cannot be found: {error}") from error
    found: dict[str, tuple[inspect.Parameter, Any]] = {}
    for key, parameter in signature.parameters.items():
        # A parameter that is plainly a value of the model's own keeps its meaning under a name that we would fill.
        if key in INJECTED and hints.get(key, Any) not in (str, int, float, bool):
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(f"tool {name} takes *{key}; a model can only fill named parameters")
        found[key] = (parameter, hints.get(key, Any))
    return found


def _adapter(name: str, fields: dict[str, Any]) -> TypeAdapter[dict[str, Any]]:
    # A TypedDict and not a model: parameters may be called `schema`, `copy` or `_x`, which a model's fields may not.
    shape: Any = TypedDict(name, fields)  # pyright: ignore[reportArgumentType]
    shape.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        return TypeAdapter(shape)
    except PydanticUserError as error:
        raise TypeError(f"tool {name} has a parameter without a JSON schema: {str(error).splitlines()[0]}") from error


def _object_schema(adapter: TypeAdapter[dict[str, Any]]) -> dict[str, Any]:
    schema = adapter.json_schema()
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for value in schema["properties"].values():
        if isinstance(value, dict):
            cast("dict[str, Any]", value).pop("title", None)
    return schema


def _json_default(value: Any) -> dict[str, Any] | None:
    """The default as the schema shows it; nothing when JSON cannot hold it."""
    try:
        return {"default": orjson.loads(orjson.dumps(value))}
    except (TypeError, orjson.JSONEncodeError):
        return None
