"""Every fault as the openai package reports it, through both APIs, streamed and not."""

import asyncio
import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from rollgrid.testing import SimulatedServer
from rollgrid.testing.spec import FAULTS
from support.server import stats_when

ERRORS = {
    "e429": openai.RateLimitError,
    "quota": openai.RateLimitError,
    "e500": openai.InternalServerError,
    "e401": openai.AuthenticationError,
    "e403": openai.PermissionDeniedError,
    "e404": openai.NotFoundError,
    "e400": openai.BadRequestError,
    "hang": openai.APITimeoutError,
    "drop": openai.APIConnectionError,
    "trunc": openai.APIConnectionError,
    "malformed": json.JSONDecodeError,
}
# What a reply that is no exception ends with: (Responses status or last event, finish reason of a completion).
ENDS = {
    "refusal": ("completed", "stop"),
    "incomplete": ("incomplete", "length"),
    "filter": ("incomplete", "content_filter"),
}
MESSAGES: Any = [{"role": "user", "content": "ANS=4"}]
WAYS = [(api, stream) for api in ("responses", "chat") for stream in (False, True)]


async def ask(client: AsyncOpenAI, api: str, stream: bool, model: str = "m") -> str | None:
    """The status or finish reason, or for a stream the type or finish reason of its last event."""
    last: str | None = None
    if api == "responses" and stream:
        async for event in await client.responses.create(model=model, input="ANS=4", stream=True):
            last = event.type.removeprefix("response.")
    elif api == "responses":
        last = (await client.responses.create(model=model, input="ANS=4")).status
    elif stream:
        async for chunk in await client.chat.completions.create(model=model, messages=MESSAGES, stream=True):
            last = chunk.choices[0].finish_reason
    else:
        last = (await client.chat.completions.create(model=model, messages=MESSAGES)).choices[0].finish_reason
    return last


def test_every_fault_has_a_test():
    assert {*ERRORS, *ENDS, "failed", "cutstream"} == set(FAULTS)


@pytest.mark.parametrize(("api", "stream"), WAYS)
@pytest.mark.parametrize("fault", ERRORS)
async def test_a_fault_is_the_exception_that_the_sdk_knows_it_as(connect, server, fault: str, api: str, stream: bool):
    timeout = 0.2 if fault == "hang" else 30
    with pytest.raises(ERRORS[fault]) as caught:
        await ask(connect(f"{fault}=1", timeout=timeout), api, stream)
    assert type(caught.value) is ERRORS[fault]
    assert server.stats()["kinds"] == {fault: 1}


@pytest.mark.parametrize(("api", "stream"), WAYS)
@pytest.mark.parametrize("fault", ENDS)
async def test_an_answer_that_was_cut_or_refused_is_a_reply(connect, fault: str, api: str, stream: bool):
    assert await ask(connect(f"{fault}=1"), api, stream) == ENDS[fault][api == "chat"]


async def test_a_refusal_has_its_own_words(connect):
    reply = await connect("refusal=1").responses.create(model="m", input="ANS=4")
    part = reply.output[0].content[0]
    assert part.type == "refusal"
    assert part.refusal
    chat = await connect("refusal=1").chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert chat.choices[0].message.content is None
    assert chat.choices[0].message.refusal == part.refusal


async def test_a_cut_off_answer_keeps_its_first_half_and_says_why(connect):
    reply = await connect("incomplete=1,text=1,p=1").responses.create(model="m", input="ANS=4")
    assert "The answer is 4.".startswith(reply.output_text)
    assert reply.output_text
    assert reply.incomplete_details.reason == "max_output_tokens"
    assert reply.usage is not None
    filtered = await connect("filter=1").responses.create(model="m", input="ANS=4")
    assert filtered.incomplete_details.reason == "content_filter"


async def test_a_failed_response_says_so_in_its_status(connect):
    reply = await connect("failed=1").responses.create(model="m", input="ANS=4")
    assert (reply.status, reply.error.code) == ("failed", "server_error")
    assert await ask(connect("failed=1"), "responses", True) == "failed"
    with pytest.raises(openai.InternalServerError):
        await ask(connect("failed=1"), "chat", False)
    with pytest.raises(openai.APIError, match="failed while it answered"):
        await ask(connect("failed=1"), "chat", True)


async def test_a_cut_stream_ends_without_its_terminal_event_and_without_an_error(connect, server: SimulatedServer):
    assert await ask(connect("cutstream=1"), "responses", True) == "output_item.done"
    assert await ask(connect("cutstream=1"), "chat", True) is None
    assert server.stats()["kinds"] == {"cutstream": 2}
    assert await ask(connect("cutstream=1"), "responses", False) == "completed"


@pytest.mark.parametrize(
    ("wish", "header", "value"),
    [("7", "retry-after", "7"), ("0.5", "retry-after", "0.5"), ("250ms", "retry-after-ms", "250")],
)
async def test_a_rate_limit_tells_when_to_come_back(connect, wish: str, header: str, value: str):
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(connect(f"e429=1,ra={wish}"), "responses", False)
    assert caught.value.response.headers[header] == value
    assert caught.value.code == "rate_limit_exceeded"


async def test_a_rate_limit_can_tell_a_date_or_nothing(connect):
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(connect("e429=1,ra=date:120"), "responses", False)
    ahead = parsedate_to_datetime(caught.value.response.headers["retry-after"]).timestamp() - time.time()
    assert 60 < ahead <= 121
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(connect("e429=1,ra=none"), "responses", False)
    assert not [name for name in caught.value.response.headers if name.startswith("retry-after")]


async def test_a_used_up_quota_is_told_apart_from_a_rate_limit_by_its_code(connect):
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(connect("quota=1"), "responses", False)
    assert caught.value.code == "insufficient_quota"
    assert "retry-after" not in caught.value.response.headers


async def test_an_unknown_model_is_named(connect):
    with pytest.raises(openai.NotFoundError, match="gpt-nope") as caught:
        await ask(connect("e404=1"), "responses", False, model="gpt-nope")
    assert caught.value.code == "model_not_found"


async def test_faults_keep_to_their_window_of_requests(connect):
    client = connect("e500=1,since=2,upto=4")
    seen = []
    for _ in range(6):
        try:
            seen.append(await ask(client, "responses", False))
        except openai.InternalServerError:
            seen.append("e500")
    assert seen == ["completed", "completed", "e500", "e500", "completed", "completed"]


async def test_the_sdks_own_retries_get_past_a_passing_fault(connect, server: SimulatedServer):
    assert await ask(connect("e500=1,upto=1", max_retries=1), "responses", False) == "completed"
    assert server.stats()["kinds"] == {"e500": 1, "ok": 1}


async def test_shares_of_faults_are_the_same_in_every_run_and_about_what_was_asked(connect, server: SimulatedServer):
    counts = []
    for _ in range(2):
        server.reset()
        client = connect("e500=0.3,e429=0.2")
        for _ in range(60):
            try:
                await ask(client, "responses", False)
            except openai.APIStatusError:
                continue
        counts.append(server.stats()["kinds"])
    assert counts[0] == counts[1]
    assert 8 <= counts[0]["e500"] <= 28
    assert 4 <= counts[0]["e429"] <= 22


async def test_a_faulted_request_does_not_use_up_a_draw(connect, server: SimulatedServer):
    async def right(spec: str) -> list[bool]:
        client, seen = connect(spec), []
        while len(seen) < 12:
            try:
                reply = await client.responses.create(model="m", input="ANS=4")
            except openai.APIStatusError:
                continue
            seen.append(json.loads(reply.output_text)["value"] == 4)
        return seen

    calm = await right("p=0.5")
    assert await right("p=0.5,e500=0.4") == calm
    assert True in calm
    assert False in calm


async def test_a_hung_request_is_in_flight_until_the_client_leaves(connect, server: SimulatedServer):
    client = connect("hang=1")
    asking = asyncio.create_task(ask(client, "responses", False))
    stats = await stats_when(server, lambda stats: stats["kinds"])
    assert stats["in_flight"] == 1
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await client.close()
    stats = await stats_when(server, lambda stats: stats["open_connections"] == 0)
    assert (stats["in_flight"], stats["kinds"]) == (0, {"hang": 1})
