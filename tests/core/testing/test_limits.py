"""Rate limits and outages, on a clock that the test moves."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import openai
import pytest
from openai import AsyncOpenAI

from rollgrid.testing import SimulatedServer
from rollgrid.testing.limits import Bucket, span
from support.server import running_server


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def served(spec: str) -> AsyncGenerator[tuple[Clock, AsyncOpenAI, SimulatedServer], None]:
    clock = Clock()
    async with (
        running_server(spec, clock=clock) as server,
        AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        yield clock, client, server


async def headers_of(client: AsyncOpenAI, text: str = "hello") -> dict[str, str]:
    reply = await client.responses.with_raw_response.create(model="m", input=text)
    return {name.removeprefix("x-ratelimit-"): value for name, value in reply.headers.items() if "ratelimit" in name}


async def test_a_limit_of_requests_is_told_and_kept():
    async with served("rpm=3") as (clock, client, server):
        remaining = [(await headers_of(client))["remaining-requests"] for _ in range(3)]
        assert remaining == ["2", "1", "0"]
        with pytest.raises(openai.RateLimitError, match="3 requests per minute") as caught:
            await headers_of(client)
        told = caught.value.response.headers
        assert caught.value.code == "rate_limit_exceeded"
        assert told["x-ratelimit-limit-requests"] == "3"
        assert told["x-ratelimit-remaining-requests"] == "0"
        assert told["x-ratelimit-reset-requests"] == "1m0s"
        assert 20_000 <= int(told["retry-after-ms"]) <= 20_001
        clock.now += 20.01
        assert (await headers_of(client))["remaining-requests"] == "0"
        assert server.stats()["kinds"] == {"ok": 4, "limit": 1}


async def test_waiting_as_long_as_the_server_says_is_enough():
    async with served("rpm=7") as (clock, client, _):
        for _ in range(7):
            await headers_of(client)
        for _ in range(5):
            with pytest.raises(openai.RateLimitError) as caught:
                await headers_of(client)
            clock.now += int(caught.value.response.headers["retry-after-ms"]) / 1000
            await headers_of(client)


async def test_a_limit_of_tokens_counts_what_goes_in_and_comes_out():
    async with served("tpm=100,text=1") as (clock, client, _):
        reply = await client.responses.with_raw_response.create(model="m", input="x" * 100)
        usage = reply.parse().usage
        assert usage is not None
        assert int(reply.headers["x-ratelimit-remaining-tokens"]) == 100 - usage.total_tokens
        await client.responses.create(model="m", input="x" * 100)
        with pytest.raises(openai.RateLimitError, match="tokens"):
            await client.responses.create(model="m", input="x" * 100)
        clock.now += 60
        await client.responses.create(model="m", input="x" * 100)


async def test_a_request_that_can_never_fit_gets_no_time_to_come_back():
    async with served("tpm=20") as (_, client, _):
        with pytest.raises(openai.RateLimitError, match="never fit") as caught:
            await client.responses.create(model="m", input="x" * 1000)
        assert "retry-after" not in caught.value.response.headers


async def test_no_limit_no_headers(connect):
    assert await headers_of(connect()) == {}


async def test_an_outage_refuses_everything_while_it_lasts():
    async with served("outage=10:20,ra=3") as (clock, client, server):
        await headers_of(client)
        clock.now += 10
        with pytest.raises(openai.InternalServerError) as caught:
            await headers_of(client)
        assert (caught.value.status_code, caught.value.response.headers["retry-after"]) == (503, "3")
        with pytest.raises(openai.InternalServerError):
            await client.models.list()
        clock.now += 10
        await headers_of(client)
        await client.models.list()
        assert server.stats()["kinds"] == {"ok": 2, "outage": 1}
        assert server.stats()["uptime"] == 20
        server.reset()
        clock.now += 10
        with pytest.raises(openai.InternalServerError):
            await headers_of(client)


def test_a_bucket_never_holds_more_than_its_limit():
    bucket = Bucket(60, 0)
    assert bucket.level(1000) == 60
    bucket.take(90, 1000)
    assert bucket.level(1000) == -30
    assert bucket.wait_for(1, 1000) == 31
    assert bucket.level(1010) == -20


def test_a_clock_that_goes_back_takes_nothing_away():
    bucket = Bucket(60, 100)
    bucket.take(30, 100)
    assert bucket.level(50) == 30


@pytest.mark.parametrize(("seconds", "text"), [(0, "0ms"), (0.02, "20ms"), (1.5, "1.5s"), (60, "1m0s"), (361, "6m1s")])
def test_spans_are_written_as_the_headers_write_them(seconds: float, text: str):
    assert span(seconds) == text
