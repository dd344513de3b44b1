"""LocalModel as an agent's policy, on a stand-in for the model process."""

import copy

import pytest
from pydantic import BaseModel

from rollgrid.agent import Agent
from rollgrid.errors import ModelError, RollgridError
from rollgrid.models.base import ModelRequest
from rollgrid.models.local import DEFAULT_MODEL, LocalModel
from rollgrid.models.local import model as model_module
from rollgrid.models.messages import Message
from rollgrid.models.retry import RetryPolicy


class Answer(BaseModel):
    answer: int


def multiply(a: int, b: int) -> int:
    """Multiply two whole numbers."""
    return a * b


def ask(text, **more):
    return ModelRequest(messages=[Message("user", text)], **more)


async def test_a_reply_comes_back_with_its_usage_and_the_models_own_name(fake):
    fake.plan("four")
    pieces = []
    reply = await LocalModel().respond(ask("2+2?", seed=7), pieces.append)
    assert (reply.text, reply.finish, reply.model) == ("four", "stop", DEFAULT_MODEL)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (5, 2)


async def test_every_request_carries_the_attempts_seed_and_the_sampling_parameters(fake):
    model = LocalModel(temperature=0.5, top_k=7, max_tokens=9, seed=1)
    await model.respond(ask("x", seed=2**40 + 5))
    await model.respond(ask("x"))
    await LocalModel().respond(ask("x"))
    first, second, third = fake.bodies()
    assert first["seed"] == (2**40 + 5) % (2**32 - 1)
    assert second["seed"] == 1
    assert "seed" not in third
    assert (first["temperature"], first["top_k"], first["max_tokens"]) == (0.5, 7, 9)


async def test_no_request_is_sent_on_a_connection_that_the_server_may_be_closing(fake):
    model = LocalModel()
    for _ in range(3):
        assert (await model.respond(ask("x"))).text == "hello"
    assert [line["connection"] for line in fake.seen() if "body" in line] == ["close"] * 3


async def test_structured_output_is_a_strict_schema(fake):
    fake.plan('{"answer": 156}')
    run = await Agent(model=LocalModel(), output_schema=Answer).arun("12 times 13?")
    assert run.content == Answer(answer=156)
    form = fake.bodies()[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["properties"]["answer"]["type"] == "integer"


async def test_tools_are_called_and_their_results_told(fake):
    fake.plan('{"action": "multiply", "arguments": {"a": 127, "b": 346}}', '{"action": "answer", "answer": "43942"}')
    run = await Agent(model=LocalModel(), tools=[multiply]).arun("127 times 346?")
    assert run.content == "43942"
    assert [(tool.tool_args, tool.result) for tool in run.tools] == [({"a": 127, "b": 346}, "43942")]
    first, second = fake.bodies()
    assert "tools" not in first
    assert "anyOf" in first["response_format"]["json_schema"]["schema"]
    assert second["messages"][-1]["content"].startswith("multiply gave: 43942")


async def test_arguments_that_do_not_fit_go_back_to_the_model(fake):
    fake.plan('{"action": "multiply", "arguments": {"a": "x"}}', '{"action": "answer", "answer": "sorry"}')
    run = await Agent(model=LocalModel(), tools=[multiply]).arun("?")
    assert run.content == "sorry"
    assert run.tools[0].tool_call_error


async def test_a_crash_in_the_middle_is_an_error_that_can_be_retried(fake):
    fake.plan("CRASH")
    with pytest.raises(ModelError, match="exit code 139") as caught:
        await LocalModel().respond(ask("x"))
    assert caught.value.kind == "connection"
    assert caught.value.retryable
    fake.plan("better")
    assert (await LocalModel().respond(ask("x"))).text == "better"
    assert len(fake.pids()) == 2


async def test_an_agent_gets_over_a_crash_by_itself(fake, monkeypatch):
    fake.plan("CRASH")
    restarted = LocalModel.respond

    async def respond(self, request, on_text=None):
        try:
            return await restarted(self, request, on_text)
        except ModelError:
            fake.plan("recovered")
            raise

    monkeypatch.setattr(LocalModel, "respond", respond)
    run = await Agent(model=LocalModel(retry=RetryPolicy(max_retries=1, base=0.0))).arun("x")
    assert run.content == "recovered"
    assert run.metrics.retries == 1


async def test_missing_parts_are_one_line_that_says_what_to_type(monkeypatch):
    monkeypatch.setattr(model_module, "runtime_is_installed", lambda: True)
    monkeypatch.setattr(model_module, "find", lambda name: None)
    for model in (LocalModel(), LocalModel("qwen2.5-coder-1.5b-instruct")):
        for act in (model.check(), model.respond(ask("x"))):
            with pytest.raises(ModelError, match=r"not installed: rollgrid model install") as caught:
                await act
            assert not caught.value.retryable
    monkeypatch.setattr(model_module, "runtime_is_installed", lambda: False)
    with pytest.raises(ModelError, match=r"pip install 'rollgrid\[local\]'"):
        await LocalModel().check()


def test_an_unknown_name_is_told_of_where_it_is_written():
    with pytest.raises(RollgridError, match="no embedded model called 'gpt'"):
        LocalModel("gpt")


def test_the_policy_is_everything_that_shapes_sampling_and_nothing_of_this_machine():
    policy = LocalModel().policy()
    assert policy["weights"].startswith("1d9614638d18")
    assert policy == LocalModel(threads=3, retry=RetryPolicy(max_retries=0)).policy()
    for change in ({"temperature": 0.1}, {"top_p": 0.1}, {"top_k": 1}, {"min_p": 0.2}, {"max_tokens": 1}, {"seed": 1}):
        assert LocalModel(**change).policy() != policy


def test_a_copy_is_a_model_of_its_own():
    model = LocalModel()
    twin = copy.copy(model)
    twin.temperature = 0.0
    assert model.temperature == 0.8
    assert LocalModel.kind == "local"
    assert LocalModel.max_concurrency >= 1
