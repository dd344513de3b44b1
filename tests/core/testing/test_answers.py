"""Which answers are right, and what they say when nobody told what is right."""

import asyncio
import json
from enum import Enum
from typing import Literal

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

from rollgrid.testing import SimulatedServer
from rollgrid.testing.draws import rate_at, unit
from support.server import running_server


async def values(client: AsyncOpenAI, mark: int, n: int) -> list[int]:
    async def one() -> int:
        reply = await client.responses.create(model="m", input=f"ANS={mark};")
        return json.loads(reply.output_text)["value"]

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(one()) for _ in range(n)]
    return [task.result() for task in asked]


async def test_a_task_gets_the_same_number_of_right_answers_whatever_the_order(connect):
    counts = []
    for jitter in (0, 20):
        client = connect(f"p=0.5,jitter={jitter}")
        got = await values(client, 7, 24)
        assert set(got) == {7, 8}
        counts.append(got.count(7))
    assert counts[0] == counts[1]


async def test_p_and_seed_decide(connect):
    assert await values(connect("p=1"), 3, 5) == [3] * 5
    assert await values(connect("p=0"), 3, 5) == [4] * 5
    one, other = connect("p=0.5,seed=1"), connect("p=0.5,seed=2")
    assert [await values(one, 3, 1) for _ in range(16)] != [await values(other, 3, 1) for _ in range(16)]


async def test_reset_starts_the_draws_anew(connect, server: SimulatedServer):
    client = connect("p=0.5")
    first = [await values(client, 3, 1) for _ in range(12)]
    server.reset()
    assert [await values(client, 3, 1) for _ in range(12)] == first


async def test_negative_marks_and_the_first_of_several_count(connect):
    reply = await connect("p=1,text=1").responses.create(model="m", input="ANS=-5; and ANS=9;")
    assert reply.output_text == "The answer is -5."


async def test_a_marked_value_goes_into_the_field_of_the_schema_that_fits(connect):
    class Reasoned(BaseModel):
        why: str
        total: int
        sure: bool

    reply = await connect("p=1").responses.parse(model="m", input="ANS=12;", text_format=Reasoned)
    assert reply.output_parsed is not None
    assert reply.output_parsed.total == 12


class Colour(Enum):
    red = "red"
    blue = "blue"


class Inner(BaseModel):
    score: float = Field(ge=0.5, lt=1)
    tags: list[str] = Field(min_length=2)


class Wide(BaseModel):
    colour: Colour
    kind: Literal["a"]
    inner: Inner
    others: list[Inner]
    maybe: int | None
    either: str | Inner
    count: int = Field(gt=3, le=5)


@pytest.mark.parametrize("passed", [0, 1])
async def test_an_answer_to_a_schema_that_nobody_explained_is_a_valid_instance(connect, passed: int):
    for n in range(4):
        reply = await connect(f"p={passed}").responses.parse(model="m", input=f"question {n}", text_format=Wide)
        assert reply.output_parsed is not None
    chat = await connect(f"p={passed}").chat.completions.parse(
        model="m", messages=[{"role": "user", "content": "x"}], response_format=Wide
    )
    assert chat.choices[0].message.parsed is not None


async def test_a_right_answer_to_a_prompt_is_always_the_same_and_a_wrong_one_differs(connect):
    async def text(spec: str) -> str:
        return (await connect(spec).responses.create(model="m", input="no mark")).output_text

    assert await text("p=1") == await text("p=1,seed=2")
    assert await text("p=1") != await text("p=0")


async def test_an_oracle_gives_the_answers(connect):
    asked = []

    def oracle(prompt: str, n: int, passed: bool) -> str:
        asked.append((prompt, n, passed))
        return f"{prompt}/{n}/{passed}"

    async with (
        running_server("p=1", answers=oracle) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        for n in range(2):
            reply = await client.responses.create(
                model="m",
                instructions="not this",
                input=[
                    {"role": "user", "content": "nor this"},
                    {"role": "assistant", "content": "nor that"},
                    {"role": "user", "content": [{"type": "input_text", "text": "the prompt"}]},
                ],
            )
            assert reply.output_text == f"the prompt/{n}/True"
        chat = await client.chat.completions.create(model="m+p=0", messages=[{"role": "user", "content": "other"}])
        assert chat.choices[0].message.content == "other/0/False"
    assert asked == [("the prompt", 0, True), ("the prompt", 1, True), ("other", 0, False)]


async def test_an_oracle_that_raises_is_a_server_error_that_says_so():
    def oracle(prompt: str, n: int, passed: bool) -> str:
        raise KeyError(prompt)

    async with (
        running_server(answers=oracle) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        with pytest.raises(openai.InternalServerError, match="KeyError"):
            await client.responses.create(model="m", input="x")
        assert server.stats()["kinds"] == {"answers raised": 1}
        assert server.stats()["in_flight"] == 0


async def test_spread_gives_every_prompt_a_rate_of_its_own(connect):
    client = connect("spread=1")
    rates = [(await values(client, mark, 12)).count(mark) for mark in range(20)]
    assert 12 in rates
    assert 0 in rates
    assert any(0 < rate < 12 for rate in rates)


def test_draws_are_numbers_below_one_that_depend_on_every_part():
    assert unit("a", 1) == unit("a", 1)
    assert len({unit("a", 1), unit("a", 2), unit("b", 1), unit("a", "1", ""), unit("a1")}) == 5
    assert all(0 <= unit("x", n) < 1 for n in range(1000))
    assert 400 < sum(unit("x", n) < 0.5 for n in range(1000)) < 600
    assert unit("\ud800") != unit("\ud801")


def test_rates_fall_from_always_to_never():
    rates = [rate_at(n / 100) for n in range(100)]
    assert rates == sorted(rates, reverse=True)
    assert rates.count(1.0) == 30
    assert rates.count(0.0) == 20
