"""The model that is none."""

import copy
import json
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, Field

from rollgrid.agent import Agent
from rollgrid.models.base import ModelReply, ModelRequest, OutputSchema, ToolSpec
from rollgrid.models.messages import Message
from rollgrid.models.simulated import SimulatedModel, simulated_for


class Answer(BaseModel):
    value: int


class Query(BaseModel):
    reasoning: str
    sql: str


class Bounded(BaseModel):
    value: int = Field(ge=0, le=3)


class Verdict(Enum):
    yes = "yes"
    no = "no"


class Judged(BaseModel):
    verdict: Verdict
    score: int = Field(ge=1, le=10)


NUMBERS = {f"task {n}": n * 111 for n in range(20)}
SEEDS = range(40)


def output(model: type[BaseModel]) -> OutputSchema:
    return OutputSchema(model.__name__, model.model_json_schema(), model)


def request(prompt: str, model: type[BaseModel] | None = None, seed: int | None = 0, **more: Any) -> ModelRequest:
    messages = [Message("system", "be brief"), Message("user", prompt), *more.pop("after", [])]
    return ModelRequest(messages, output=output(model) if model else None, seed=seed, **more)


async def values(model: SimulatedModel, prompt: str, seeds: Any = SEEDS) -> list[int]:
    return [json.loads((await model.respond(request(prompt, Answer, seed))).text)["value"] for seed in seeds]


async def test_the_same_prompt_and_seed_give_the_same_answer_in_any_order_and_any_instance():
    one, other = (simulated_for(NUMBERS.items(), latency=0) for _ in range(2))
    for prompt in NUMBERS:
        forward = await values(one, prompt)
        assert list(reversed(await values(copy.copy(other), prompt, reversed(SEEDS)))) == forward


async def test_pass_rates_spread_over_all_zones():
    model = simulated_for(NUMBERS.items(), latency=0)
    rates = {}
    for prompt, right in NUMBERS.items():
        rates[prompt] = sum(value == right for value in await values(model, prompt)) / len(SEEDS)
        assert abs(rates[prompt] - model.pass_rate(prompt)) < 0.3
    assert sum(rate == 1 for rate in rates.values()) == 6
    assert sum(rate == 0 for rate in rates.values()) == 4
    assert sum(0 < rate < 1 for rate in rates.values()) == 10


@pytest.mark.parametrize("n", [3, 4, 6, 10])
def test_a_handful_of_tasks_already_shows_every_zone(n: int):
    tasks = [(f"task {at}", at) for at in range(n)]
    rates = [simulated_for(tasks).pass_rate(prompt) for prompt, _ in tasks]
    assert 1.0 in rates
    assert 0.0 in rates
    assert any(0 < rate < 1 for rate in rates)


async def test_another_seed_of_the_model_is_another_model():
    first, second = (simulated_for(NUMBERS.items(), seed=seed, latency=0) for seed in (0, 1))
    assert [await values(first, prompt) for prompt in NUMBERS] != [await values(second, prompt) for prompt in NUMBERS]
    assert first.policy() != second.policy()


async def test_calls_without_a_seed_are_samples_not_copies():
    model = simulated_for(NUMBERS.items(), latency=0)
    prompt = next(prompt for prompt in NUMBERS if 0.3 < model.pass_rate(prompt) < 0.7)
    got = [json.loads((await copy.copy(model).respond(request(prompt, Answer, None))).text)["value"] for _ in SEEDS]
    assert len(set(got)) > 1
    assert got == await values(model, prompt)


def always(answers: dict[str, Any], **options: Any) -> SimulatedModel:
    """A model that answers its first prompt right with every seed."""
    for seed in range(1000):
        model = SimulatedModel(answers=answers, latency=0, seed=seed, **options)
        if model.pass_rate(next(iter(answers))) == 1:
            return model
    raise AssertionError("no seed makes this prompt easy")


def never(answers: dict[str, Any], **options: Any) -> SimulatedModel:
    for seed in range(1000):
        model = SimulatedModel(answers={**answers, "another": 1}, latency=0, seed=seed, **options)
        if model.pass_rate(next(iter(answers))) == 0:
            return model
    raise AssertionError("no seed makes this prompt hopeless")


FILLERS = {"b": 1, "c": 2, "d": 3}


async def test_a_reference_query_goes_into_the_query_field_and_misses_stay_queries():
    reference = "SELECT name FROM people WHERE dept = 'sales'"
    right = await always({"q": {"sql": reference}, **FILLERS}).respond(request("q", Query))
    assert Query.model_validate_json(right.text).sql == reference
    wrong = await never({"q": {"sql": reference}, **FILLERS}).respond(request("q", Query))
    assert Query.model_validate_json(wrong.text).sql != reference
    assert "SELECT" in Query.model_validate_json(wrong.text).sql


async def test_a_mapping_fills_the_fields_that_carry_its_names():
    model = always({"q": {"value": 9, "unknown": 1}, **FILLERS})
    assert json.loads((await model.respond(request("q", Answer))).text) == {"value": 9}
    class_like = always({"q": Answer(value=8), **FILLERS})
    assert json.loads((await class_like.respond(request("q", Answer))).text) == {"value": 8}


async def test_without_a_schema_the_answer_is_plain_text():
    assert (await always({"q": "Canberra", **FILLERS}).respond(request("q"))).text == "Canberra"
    assert (await always({"q": 10**30, **FILLERS}).respond(request("q"))).text == str(10**30)
    assert (await always({"q": {"sql": "SELECT 1"}, **FILLERS}).respond(request("q"))).text == "SELECT 1"
    assert (await always({"q": 5, **FILLERS}, output_schema=Answer).respond(request("q"))).text == '{"value": 5}'
    missed = (await never({"q": "Canberra", **FILLERS}).respond(request("q"))).text
    assert missed != "Canberra"
    assert missed.startswith("C")


@pytest.mark.parametrize("kind", [Answer, Query, Bounded, Judged])
async def test_every_answer_validates_whatever_was_expected(kind: type[BaseModel]):
    for expected in (5, "text", 1.5, None, True, [1], {"sql": "SELECT 1"}, {"other": 2}, {"value": "no number"}):
        model = simulated_for([("q", expected), *FILLERS.items()], latency=0)
        for seed in range(8):
            for prompt in ("q", "never heard of"):
                kind.model_validate_json((await model.respond(request(prompt, kind, seed))).text)


async def test_a_function_may_hold_the_answers():
    model = SimulatedModel(answers=len, latency=0)
    prompts = ["x" * n for n in range(30)]
    rates = [sum(value == n for value in await values(model, prompt)) for n, prompt in enumerate(prompts)]
    assert len(SEEDS) in rates
    assert 0 in rates
    assert model.policy()["answers"] is None


async def test_the_text_arrives_in_pieces_and_usage_is_told():
    pieces: list[str] = []
    reply = await always({"q": "a long enough answer", **FILLERS}).respond(request("q"), pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text == "a long enough answer"
    assert reply.finish == "stop"
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert reply.time_to_first_token is not None
    assert reply.model == "simulated/draws"


async def test_latency_is_drawn_from_its_range(monkeypatch: pytest.MonkeyPatch):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("rollgrid.models.simulated.asyncio.sleep", sleep)
    model, totals = SimulatedModel(latency=(2.0, 4.0)), set()
    for seed in range(20):
        await model.respond(request("q", seed=seed))
        totals.add(round(sum(slept), 6))
        slept.clear()
    assert len(totals) > 10
    assert all(2 <= total <= 4 for total in totals)


ADD = ToolSpec(
    "add", "adds", {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "note": {"type": "string"}}}
)
OTHER = ToolSpec("other", "", {"type": "object", "properties": {}})


async def ask_with_tools(choice: Any, after: list[Message] | None = None) -> ModelReply:
    return await SimulatedModel(latency=0).respond(
        request("Add 12 and 30.", tools=[OTHER, ADD], tool_choice=choice, after=after or [])
    )


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("required", "other"),
        ({"type": "function", "name": "add"}, "add"),
        ({"type": "function", "function": {"name": "add"}}, "add"),
        ("add", "add"),
    ],
)
async def test_a_required_tool_is_called_with_arguments_it_allows(choice: Any, name: str):
    reply = await ask_with_tools(choice)
    assert reply.finish == "tool_calls"
    assert [call.name for call in reply.tool_calls] == [name]
    assert json.loads(reply.tool_calls[0].arguments) == ({"a": 12, "b": 30, "note": "x"} if name == "add" else {})


@pytest.mark.parametrize("choice", [None, "auto", "none"])
async def test_a_tool_that_is_only_offered_is_left_alone(choice: Any):
    reply = await ask_with_tools(choice)
    assert reply.tool_calls == []
    assert reply.text


async def test_an_answer_follows_the_result_of_a_required_tool():
    call = (await ask_with_tools("required")).tool_calls[0]
    after = [Message("assistant", tool_calls=[call]), Message("tool", "42", tool_call_id=call.id)]
    assert (await ask_with_tools("required", after)).finish == "stop"


def test_its_id_says_what_it_is():
    assert SimulatedModel().id.startswith("simulated/")
    assert SimulatedModel.kind == "simulated"
    with pytest.raises(ValueError, match="simulated/"):
        SimulatedModel("gpt-5")


@pytest.mark.parametrize("latency", [-1, (2.0, 1.0), (-1.0, 1.0), float("nan")])
def test_an_impossible_latency_is_refused(latency: Any):
    with pytest.raises(ValueError, match="latency"):
        SimulatedModel(latency=latency)


def test_the_policy_tells_answer_keys_apart_and_ignores_latency():
    assert simulated_for([("q", 1)]).policy() == simulated_for([("q", 1)], latency=0).policy()
    assert simulated_for([("q", 1)]).policy() != simulated_for([("q", 2)]).policy()
    assert simulated_for([("q", object())]).policy()["answers"] is None
    json.dumps(simulated_for([("q", Answer(value=1))]).policy())


async def test_an_agent_runs_on_it():
    model = always({"q": 5, **FILLERS})
    run = await Agent(model=model, output_schema=Answer).arun("q")
    assert run.content == Answer(value=5)
    assert run.metrics.total_tokens > 0
