"""The conversation of a run: answers, tools, limits, and being cut off."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from rollgrid.agent import Agent, RunContext, RunStatus
from rollgrid.agent.context import SilentObserver
from rollgrid.errors import ModelError
from support.models import ScriptedModel, call_reply, text_reply


class Answer(BaseModel):
    value: int


class Diary(SilentObserver):
    """Writes down what it is told."""

    def __init__(self):
        self.lines: list[str] = []

    def on_model_call(self, run):
        self.lines.append("model")

    def on_text(self, run):
        self.lines.append(f"text {run.partial_text}")

    def on_tool_start(self, run, name):
        self.lines.append(f"start {name}")

    def on_tool_end(self, run, execution):
        self.lines.append(f"end {execution.tool_name} {execution.result}")

    def on_retry(self, run, notice):
        self.lines.append(f"retry {notice.n} of {notice.limit}: {notice.reason}")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def roles(run: Any) -> list[str]:
    return [message.role for message in run.messages]


async def test_a_plain_answer():
    model = ScriptedModel("four")
    run = await Agent(model, instructions="Count.", name="counter").arun("two and two")
    assert run.content == run.raw_text == "four"
    assert run.status is RunStatus.completed
    assert run.problem is None
    assert run.partial_text is None
    assert [(m.role, m.content) for m in run.messages] == [
        ("system", "Count."),
        ("user", "two and two"),
        ("assistant", "four"),
    ]
    assert (run.model, run.model_provider, run.agent_name, run.input) == (
        "scripted",
        "scripted",
        "counter",
        "two and two",
    )
    assert run.run_id
    assert run.created_at is not None
    metrics = run.metrics
    assert (metrics.input_tokens, metrics.output_tokens, metrics.cached_tokens, metrics.reasoning_tokens) == (
        10,
        5,
        2,
        1,
    )
    assert (metrics.total_tokens, metrics.model_calls, metrics.time_to_first_token) == (15, 1, 0.25)
    assert metrics.duration is not None


async def test_a_typed_answer_is_an_instance_of_its_schema():
    model = ScriptedModel('{"value": 4}')
    run = await Agent(model, output_schema=Answer).arun("?")
    assert run.content == Answer(value=4)
    assert run.raw_text == '{"value": 4}'
    assert model.requests[0][2].model is Answer


@pytest.mark.parametrize(
    ("reply", "problem", "detail", "raw"),
    [
        (text_reply("no JSON"), "invalid", "Invalid JSON", "no JSON"),
        (text_reply('{"value": "x"}'), "invalid", "value: Input should be a valid integer", '{"value": "x"}'),
        (text_reply('{"val', finish="length"), "truncated", "cut off by the token limit after 5 tokens", '{"val'),
        (text_reply('{"value": 1}', finish="length"), "truncated", "cut off", '{"value": 1}'),
        (text_reply("", finish="refusal", refusal="I will not."), "refusal", "I will not.", "I will not."),
        (text_reply("{", finish="content_filter"), "content_filter", "content filter", "{"),
        (text_reply("\ud800"), "invalid", "", "\ud800"),
    ],
)
async def test_what_is_no_typed_answer_is_recorded_as_what_it_is(reply: Any, problem: str, detail: str, raw: str):
    run = await Agent(ScriptedModel(reply), output_schema=Answer).arun("?")
    assert run.status is RunStatus.completed
    assert run.content is None
    assert run.problem == problem
    assert detail in (run.problem_detail or "")
    assert run.raw_text == raw
    assert run.messages[-1].content == raw


async def test_a_schema_whose_own_validator_breaks_makes_the_answer_invalid():
    class Broken(BaseModel):
        value: int

        @field_validator("value")
        @classmethod
        def check(cls, value: int) -> int:
            raise LookupError("oops")

    run = await Agent(ScriptedModel('{"value": 1}'), output_schema=Broken).arun("?")
    assert (run.problem, run.problem_detail) == ("invalid", "LookupError: oops")


async def test_a_cut_off_text_is_still_an_answer():
    run = await Agent(ScriptedModel(text_reply("half an ans", finish="length"))).arun("?")
    assert run.content == "half an ans"
    assert run.problem == "truncated"


async def test_tools_are_carried_out_and_the_model_is_asked_again():
    model = ScriptedModel(call_reply(("add", '{"a": 2, "b": 2}')), "four")
    diary = Diary()
    run = await Agent(model, tools=[add]).arun("?", RunContext(observer=diary))
    assert run.content == "four"
    assert roles(run) == ["user", "assistant", "tool", "assistant"]
    assert run.messages[2].content == "4"
    assert run.messages[2].tool_call_id == run.messages[1].tool_calls[0].id
    [execution] = run.tools
    assert (execution.tool_name, execution.tool_args, execution.result) == ("add", {"a": 2, "b": 2}, "4")
    assert not execution.tool_call_error
    assert (run.metrics.model_calls, run.metrics.input_tokens) == (2, 20)
    assert diary.lines == ["model", "start add", "end add 4", "model", "text fou", "text four"]
    assert roles_at(model, 1) == ["user", "assistant", "tool"]


def roles_at(model: ScriptedModel, index: int) -> list[str]:
    return [message.role for message in model.requests[index][0]]


async def test_calls_of_one_reply_are_carried_out_in_their_order():
    seen: list[int] = []

    async def slow(n: int):
        await asyncio.sleep(0.002 * (3 - n))
        seen.append(n)

    calls = call_reply(("slow", '{"n": 1}'), ("slow", '{"n": 2}'))
    run = await Agent(ScriptedModel(calls, "done"), tools=[slow]).arun("?")
    assert seen == [1, 2]
    assert [tool.tool_args["n"] for tool in run.tools] == [1, 2]


async def test_a_failing_tool_is_told_to_the_model_and_the_run_goes_on():
    def fail():
        raise ValueError("no luck")

    calls = call_reply(("fail", "{}"), ("add", '{"a": 1}'), ("ad", "{}"), ("add", "{"))
    run = await Agent(ScriptedModel(calls, "sorry"), tools=[fail, add]).arun("?")
    assert run.content == "sorry"
    assert run.status is RunStatus.completed
    results = [tool.result or "" for tool in run.tools]
    assert results[0] == "Error: ValueError: no luck"
    assert results[1] == "Error: b: Field required"
    assert results[2] == "Error: there is no tool called ad; there are: fail, add"
    assert "not valid JSON" in results[3]
    assert all(tool.tool_call_error for tool in run.tools)
    assert [m.tool_call_error for m in run.messages if m.role == "tool"] == [True] * 4


async def test_past_the_limit_calls_are_refused_and_the_run_completes():
    model = ScriptedModel(
        call_reply(("add", '{"a": 1, "b": 1}'), ("add", '{"a": 2, "b": 2}')), call_reply(("add", "{}")), "enough"
    )
    run = await Agent(model, tools=[add], tool_call_limit=1).arun("?")
    assert run.content == "enough"
    assert run.status is RunStatus.completed
    assert run.tool_call_limit_hit
    assert [tool.result for tool in run.tools] == ["2"]
    refusals = [m for m in run.messages if m.role == "tool" and m.tool_call_error]
    assert len(refusals) == 2
    assert "the limit of 1 tool calls is reached" in (refusals[0].content or "")
    assert [choice for _, choice, _ in model.requests] == [None, "none", "none"]


async def test_a_limit_that_is_just_reached_is_not_hit():
    model = ScriptedModel(call_reply(("add", '{"a": 1, "b": 1}')), "two")
    run = await Agent(model, tools=[add], tool_call_limit=1).arun("?")
    assert not run.tool_call_limit_hit


async def test_a_model_that_never_stops_calling_is_ended():
    model = ScriptedModel(call_reply(("add", "{}")))
    run = await Agent(model, tools=[add], tool_call_limit=0).arun("?")
    assert run.status is RunStatus.completed
    assert run.tool_call_limit_hit
    assert run.tools == []
    assert len(model.requests) < 20


async def test_a_forced_call_is_forced_once():
    model = ScriptedModel(call_reply(("add", '{"a": 1, "b": 1}')), "two")
    await Agent(model, tools=[add], tool_choice="required").arun("?")
    assert [choice for _, choice, _ in model.requests] == ["required", "auto"]


async def test_without_tools_no_tool_choice_is_sent():
    model = ScriptedModel("x")
    await Agent(model, tool_choice="required").arun("?")
    assert model.requests[0][1] is None


async def test_a_call_that_was_cut_off_is_not_carried_out():
    reply = call_reply(("add", '{"a": 1'))
    reply.finish = "length"
    run = await Agent(ScriptedModel(reply), tools=[add]).arun("?")
    assert run.tools == []
    assert run.problem == "truncated"


async def test_a_failed_call_is_made_again_and_told():
    failure = ModelError("busy", kind="server", status=500, retryable=True)
    diary = Diary()
    run = await Agent(ScriptedModel(failure, failure, "ok")).arun("?", RunContext(observer=diary))
    assert run.content == "ok"
    assert run.metrics.retries == 2
    assert run.metrics.model_calls == 1
    assert diary.lines == ["model", "retry 1 of 3: busy", "model", "retry 2 of 3: busy", "model", "text ok"]


async def test_an_error_for_good_propagates_and_leaves_the_run_as_it_was():
    model = ScriptedModel(call_reply(("add", '{"a": 1, "b": 1}')), ModelError("no", kind="auth", status=401))
    context = RunContext()
    with pytest.raises(ModelError, match="no"):
        await Agent(model, tools=[add]).arun("?", context)
    assert context.output.status is RunStatus.error
    assert roles(context.output) == ["user", "assistant", "tool"]
    assert len(context.output.tools) == 1
    assert context.output.metrics.duration is not None


async def test_a_run_cut_off_in_an_answer_keeps_its_partial_text():
    model = ScriptedModel(call_reply(("add", '{"a": 1, "b": 1}')), "half of it", hang_after=1)
    context = RunContext()
    task = asyncio.create_task(Agent(model, tools=[add]).arun("?", context))
    await model.reached_hang.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run = context.output
    assert run.status is RunStatus.cancelled
    assert run.partial_text == "half of it"
    assert roles(run) == ["user", "assistant", "tool"]
    assert [tool.result for tool in run.tools] == ["2"]
    assert run.metrics.input_tokens == 10


async def test_a_run_cut_off_in_a_tool_shows_which():
    started = asyncio.Event()

    async def slow(n: int):
        started.set()
        await asyncio.Event().wait()

    context = RunContext()
    task = asyncio.create_task(Agent(ScriptedModel(call_reply(("slow", '{"n": 1}'))), tools=[slow]).arun("?", context))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [execution] = context.output.tools
    assert (execution.tool_name, execution.tool_args, execution.result) == ("slow", {"n": 1}, None)


async def test_text_of_a_failed_try_is_void():
    class Breaking(ScriptedModel):
        async def respond(self, request, on_text=None):
            assert on_text is not None
            if not self.requests:
                on_text("half")
                self.requests.append(([], None, None))
                raise ModelError("broke", retryable=True)
            on_text("whole")
            return text_reply("whole")

    diary = Diary()
    run = await Agent(Breaking("x")).arun("?", RunContext(observer=diary))
    assert run.content == "whole"
    assert diary.lines == ["model", "text half", "retry 1 of 3: broke", "model", "text whole"]


async def test_the_seed_of_the_attempt_reaches_the_model():
    model = ScriptedModel("x")
    await Agent(model).arun("?", RunContext(seed=7))
    assert model.seeds == [7]


async def test_session_and_user_of_the_caller_win_over_the_agents():
    agent = Agent(ScriptedModel("x"), session_id="a", user_id="b")
    run = await agent.arun("?")
    assert (run.session_id, run.user_id) == ("a", "b")
    run = await agent.arun("?", RunContext(session_id="c", user_id="d"))
    assert (run.session_id, run.user_id) == ("c", "d")


async def test_tools_change_a_session_state_of_the_runs_own():
    def remember(word: str, session_state: dict[str, Any]):
        session_state.setdefault("words", []).append(word)

    script = call_reply(("remember", '{"word": "x"}')), "ok"
    agent = Agent(ScriptedModel(*script), tools=[remember], session_state={"words": []})
    run = await agent.arun("?")
    assert run.session_state == {"words": ["x"]}
    assert agent.session_state == {"words": []}
    stateless = await Agent(ScriptedModel(*script), tools=[remember]).arun("?")
    assert stateless.session_state == {"words": ["x"]}


async def test_reasoning_of_every_call_is_kept():
    first = call_reply(("add", '{"a": 1, "b": 1}'))
    first.reasoning = "I shall add."
    run = await Agent(ScriptedModel(first, text_reply("2", reasoning="Done.")), tools=[add]).arun("?")
    assert run.reasoning == "I shall add.\n\nDone."
    assert run.messages[1].reasoning == "I shall add."


async def test_a_call_without_an_id_is_given_one():
    reply = call_reply(("add", '{"a": 1, "b": 1}'), ("add", '{"a": 2, "b": 2}'))
    for call in reply.tool_calls:
        call.id = ""
    run = await Agent(ScriptedModel(reply, "done"), tools=[add]).arun("?")
    ids = [call.id for call in run.messages[1].tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [m.tool_call_id for m in run.messages if m.role == "tool"] == ids
    assert [tool.tool_call_id for tool in run.tools] == ids
