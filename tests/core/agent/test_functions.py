"""Python functions as tools."""

import asyncio
import functools
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from rollgrid.agent.functions import Tool, ToolContext, ToolResult, read_arguments


class Point(BaseModel):
    x: int
    y: int = 0


class Colour(Enum):
    red = "red"


def search(query: str, limit: int = 10, kind: Literal["web", "news"] = "web") -> str:
    """Search for pages.

    Only the first hits are returned.

    Args:
        query (str): What to look for,
            in plain words.
        limit: How many hits.

    Returns:
        The hits.
    """
    return f"{query}/{limit}/{kind}"


CONTEXT: dict[str, Any] = {
    "agent": "the agent",
    "session_state": {"n": 1},
    "run_context": ToolContext("r", "s", "u", {"n": 1}),
}


async def call(function: Any, arguments: str = "{}") -> ToolResult:
    given = read_arguments(arguments)
    if isinstance(given, str):
        return ToolResult(given, True)
    return await Tool.of(function).call(given, CONTEXT)


def test_the_schema_comes_from_the_signature_and_the_docstring():
    spec = Tool.of(search).spec
    assert spec.name == "search"
    assert spec.description == "Search for pages.\n\nOnly the first hits are returned."
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string", "description": "What to look for, in plain words."},
            "limit": {"type": "integer", "description": "How many hits.", "default": 10},
            "kind": {"type": "string", "enum": ["web", "news"], "default": "web"},
        },
        "required": ["query"],
    }


def test_other_docstring_styles_are_read_as_well():
    def numpy(a: int, b: int):
        """Add.

        Parameters
        ----------
        a : int
            The first
            of two.
        b
            The second.

        Returns
        -------
        int
        """

    def rest(a: int, b: int):
        """Add.

        :param a: The first
            of two.
        :param int b: The second.
        :return: the sum
        """

    for function in (numpy, rest):
        spec = Tool.of(function).spec
        assert spec.description == "Add."
        assert spec.parameters["properties"]["a"]["description"] == "The first of two."
        assert spec.parameters["properties"]["b"]["description"] == "The second."


def test_parameters_may_have_names_that_pydantic_models_refuse():
    def odd(schema: str, copy: int, _hidden: int = 1, model_config: str = ""):
        return f"{schema}{copy}{_hidden}{model_config}"

    assert list(Tool.of(odd).spec.parameters["properties"]) == ["schema", "copy", "_hidden", "model_config"]


def test_annotations_of_a_parameter_reach_the_schema():
    def rate(stars: Annotated[int, Field(ge=1, le=5, description="How good.")]):
        return stars

    shown = Tool.of(rate).spec.parameters["properties"]["stars"]
    assert shown == {"type": "integer", "minimum": 1, "maximum": 5, "description": "How good."}


async def test_arguments_are_validated_and_made_into_what_the_signature_says():
    def move(point: Point, colour: Colour, times: int = 1):
        return f"{type(point).__name__} {point.x} {colour.name} {times}"

    result = await call(move, '{"point": {"x": 3}, "colour": "red", "times": "2"}')
    assert result == ToolResult("Point 3 red 2", False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('{"limit": 1}', "query: Field required"),
        ('{"query": "x", "limit": "many"}', "limit: Input should be a valid integer"),
        ('{"query": "x", "page": 2}', "page: Extra inputs are not permitted"),
        ('{"query": ', "not valid JSON"),
        ('["x"]', "must be a JSON object"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
async def test_bad_arguments_are_an_error_text_for_the_model(arguments: str, message: str):
    result = await call(search, arguments)
    assert result.is_error
    assert result.text.startswith("Error: ")
    assert message in result.text


async def test_no_arguments_at_all_count_as_an_empty_object():
    assert await call(lambda: "done", "") == ToolResult("done", False)


async def test_a_big_integer_arrives_as_it_was_sent():
    assert (
        await call(lambda n: n + 1, '{"n": 123456789012345678901234567890}')
    ).text == "123456789012345678901234567891"


async def test_a_validator_of_the_users_own_that_breaks_is_an_error_text():
    class Broken(BaseModel):
        x: int

        def model_post_init(self, context: Any) -> None:
            raise ZeroDivisionError("of course")

    def use(value: Broken):
        return "never"

    result = await call(use, '{"value": {"x": 1}}')
    assert result == ToolResult("Error: ZeroDivisionError: of course", True)


async def test_functions_get_agent_state_and_context_without_the_model_knowing():
    def tool(word: str, session_state: dict[str, Any], run_context: Any, agent: Any):
        return f"{word} {session_state['n']} {run_context.run_id} {agent}"

    assert list(Tool.of(tool).spec.parameters["properties"]) == ["word"]
    assert (await call(tool, '{"word": "w"}')).text == "w 1 r the agent"


async def test_a_parameter_called_agent_that_is_plain_text_belongs_to_the_model():
    def hire(agent: str):
        return f"hired {agent}"

    assert (await call(hire, '{"agent": "smith"}')).text == "hired smith"


async def test_sync_tools_run_off_the_event_loop_and_async_ones_on_it():
    loop = asyncio.get_running_loop()

    def running() -> bool:
        try:
            return asyncio.get_running_loop() is loop
        except RuntimeError:
            return False

    async def on_it():
        return running()

    assert (await call(lambda: running())).text == "false"
    assert (await call(on_it)).text == "true"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is \ud800", "as it is \ud800"),
        (None, "null"),
        (b"bytes of \xc3\xa4", "bytes of ä"),
        ({"a": [1, 2.5, None]}, '{"a":[1,2.5,null]}'),
        (Point(x=1), '{"x":1,"y":0}'),
        ({1}, "[1]"),
    ],
)
async def test_any_result_becomes_text(value: Any, text: str):
    assert await call(lambda: value) == ToolResult(text, False)


async def test_a_result_that_is_no_json_is_shown_as_text():
    class Odd:
        def __str__(self):
            return "odd"

    assert (await call(lambda: {"it": Odd()})).text == '{"it":"odd"}'


async def test_pieces_of_a_generator_are_joined():
    def several():
        yield "a"
        yield 1

    async def several_later():
        yield "b"
        yield 2

    assert (await call(several)).text == "a1"
    assert (await call(several_later)).text == "b2"


async def test_bytes_that_are_no_text_are_an_error():
    result = await call(lambda: b"\xff\xfe")
    assert result.is_error
    assert "2 bytes that are no UTF-8" in result.text


def raising(error: BaseException) -> tuple[Any, Any]:
    def sync():
        raise error

    async def later():
        raise error

    return sync, later


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "Error: ValueError: no"),
        (KeyError(), "Error: KeyError"),
        (SystemExit(3), "Error: the tool tried to end the program (exit code 3)"),
        (asyncio.CancelledError(), "Error: CancelledError"),
        (TimeoutError("slow"), "Error: TimeoutError: slow"),
    ],
)
async def test_a_tool_that_raises_gives_an_error_text(error: BaseException, text: str, index: int):
    assert await call(raising(error)[index]) == ToolResult(text, True)


async def test_a_stop_iteration_does_not_leave_the_run_waiting():
    result = await call(lambda: next(iter(())))
    assert result == ToolResult("Error: StopIteration", True)


async def test_a_keyboard_interrupt_gets_out():
    async def interrupted():
        raise KeyboardInterrupt

    coroutine = call(interrupted)
    with pytest.raises(KeyboardInterrupt):
        await coroutine


async def test_cancelling_the_run_cancels_the_tool():
    started = asyncio.Event()

    async def slow():
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(call(slow))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_methods_partials_and_callable_objects_are_tools():
    class Counter:
        """Counts."""

        def __init__(self):
            self.n = 0

        def up(self, by: int) -> int:
            """Count up."""
            self.n += by
            return self.n

        async def __call__(self, by: int) -> int:
            return by

    counter = Counter()
    assert (await call(counter.up, '{"by": 2}')).text == "2"
    assert (await call(counter, '{"by": 3}')).text == "3"
    assert Tool.of(counter).spec.name == "Counter"
    bound = functools.partial(search, kind="news")
    assert (await call(bound, '{"query": "q"}')).text == "q/10/news"


async def test_positional_only_parameters_are_filled():
    def add(a: int, b: int = 1, /):
        return a + b

    assert (await call(add, '{"a": 1, "b": 2}')).text == "3"
    assert (await call(add, '{"a": 1}')).text == "2"


class NoSchema:
    pass


def test_what_cannot_be_told_to_a_model_is_refused_at_once():
    def variadic(*names: str): ...

    def opaque(thing: NoSchema): ...

    def lost(thing: "Missing"): ...  # noqa: F821 # pyright: ignore[reportUndefinedVariable]

    with pytest.raises(TypeError, match=r"variadic takes \*names"):
        Tool.of(variadic)
    with pytest.raises(TypeError, match="opaque has a parameter without a JSON schema"):
        Tool.of(opaque)
    with pytest.raises(TypeError, match="lost: a type of its signature cannot be found"):
        Tool.of(lost)
    with pytest.raises(TypeError, match="a tool must be a function, got int"):
        Tool.of(3)
