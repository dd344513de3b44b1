"""The agent as an object: what it takes, how it is copied, how it streams."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from rollgrid.agent import Agent, RunContext
from rollgrid.agent.events import CallRetried, ModelCalled, RunEnded, TextArrived, ToolEnded, ToolStarted
from rollgrid.errors import ModelError
from support.models import ScriptedModel, call_reply


class Answer(BaseModel):
    value: int


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def subtract(a: int, b: int) -> int:
    """Subtract."""
    return a - b


def test_an_unknown_setting_is_a_type_error():
    with pytest.raises(TypeError, match="instruction"):
        Agent(ScriptedModel("x"), instruction="typo")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"model": "gpt-5"}, TypeError, r"such as OpenAIResponses\(id='gpt-5'\), not a name"),
        ({"model": 3}, TypeError, "must be a model instance, got int"),
        ({"output_schema": {"type": "object"}}, TypeError, "output_schema must be a pydantic model class"),
        ({"output_schema": list[int]}, TypeError, "output_schema must be a pydantic model class"),
        ({"tool_call_limit": -1}, ValueError, "tool_call_limit must be 0 or more"),
        ({"tools": [add, add]}, ValueError, "two tools are called add"),
        ({"tools": ["add"]}, TypeError, "a tool must be a function, got str"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name(settings: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        Agent(**{"model": ScriptedModel("x"), **settings})


def test_run_waits_for_the_answer():
    assert Agent(ScriptedModel("ok")).run("?").content == "ok"


async def test_run_inside_a_loop_names_the_way_out():
    with pytest.raises(RuntimeError, match=r"await Agent\.arun"):
        Agent(ScriptedModel("ok")).run("?")


async def test_input_that_is_no_text_is_sent_as_json():
    assert (await Agent(ScriptedModel("ok")).arun(Answer(value=1))).input == '{"value":1}'


def test_a_copy_shares_the_model_and_never_the_state():
    agent = Agent(ScriptedModel("x"), tools=[add], session_state={"list": []}, output_schema=Answer)
    twin = agent.copy_for_attempt()
    assert twin.model is agent.model
    assert twin.tools == agent.tools
    assert twin.output is agent.output
    assert twin.session_state == {"list": []}
    assert twin.session_state is not None
    twin.session_state["list"].append(1)
    twin.instructions = "changed"
    assert agent.session_state == {"list": []}
    assert agent.instructions is None


def test_another_model_leaves_the_agent_as_it_is():
    agent = Agent(ScriptedModel("x"), instructions="i")
    other = ScriptedModel("y", id="other")
    twin = agent.with_model(other)
    assert twin.model is other
    assert twin.instructions == "i"
    assert agent.model is not other
    with pytest.raises(TypeError, match="not a name"):
        agent.with_model("other")  # pyright: ignore[reportArgumentType]


def test_settings_can_be_assigned_to():
    agent = Agent(ScriptedModel('{"value": 2}'))
    agent.tools = [add, subtract]
    assert [spec.name for spec in agent.tool_specs()] == ["add", "subtract"]
    agent.output_schema = Answer
    assert agent.run("?").content == Answer(value=2)
    agent.output_schema = None
    assert agent.run("?").content == '{"value": 2}'


async def test_a_stream_tells_what_happens_and_ends_with_the_run():
    failure = ModelError("busy", retryable=True)
    model = ScriptedModel(call_reply(("add", '{"a": 1, "b": 1}')), failure, "it is 2")
    events = [event async for event in Agent(model, tools=[add]).astream("?")]
    assert [type(event) for event in events] == [
        ModelCalled,
        ToolStarted,
        ToolEnded,
        ModelCalled,
        CallRetried,
        ModelCalled,
        TextArrived,
        TextArrived,
        TextArrived,
        RunEnded,
    ]
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "it is 2"
    assert isinstance(events[-1], RunEnded)
    assert events[-1].run.content == "it is 2"


async def test_a_stream_raises_what_the_run_raises():
    stream = Agent(ScriptedModel(ModelError("no", kind="auth"))).astream("?")
    with pytest.raises(ModelError, match="no"):
        async for _ in stream:
            pass


async def test_leaving_a_stream_cancels_the_run():
    model = ScriptedModel("never ends", hang_after=0)
    context = RunContext()
    stream = Agent(model).astream("?", context)
    async for event in stream:
        if isinstance(event, TextArrived):
            break
    await stream.aclose()
    assert context.output.is_cancelled
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_the_agent_imports_no_provider():
    code = "import sys, rollgrid.agent, rollgrid.models.openai; print(sorted({'openai', 'httpx2'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
