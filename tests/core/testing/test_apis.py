"""What the openai package sees of a server that works."""

import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from rollgrid.testing import SimulatedServer
from support.server import stats_when


class Answer(BaseModel):
    value: int


QUESTION = "How much? ANS=41;"
MESSAGES = [{"role": "user", "content": QUESTION}]
ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "minimum": 3}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "name": "add", "description": "adds", "strict": True, "parameters": ADD}
CHAT_TOOL = {"type": "function", "function": {"name": "add", "description": "adds", "strict": True, "parameters": ADD}}
OTHER = {"type": "function", "name": "other", "parameters": {"type": "object", "properties": {}}}


async def text_of_stream(client: AsyncOpenAI, **asked: Any) -> tuple[list[str], list[str]]:
    """(event types, text deltas) of a Responses stream."""
    kinds, deltas = [], []
    async for event in await client.responses.create(model="m", input=QUESTION, stream=True, **asked):
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            deltas.append(event.delta)
    return kinds, deltas


async def test_a_response_carries_text_usage_and_the_model_that_was_asked(connect):
    reply = await connect("p=1").responses.create(model="some-model", input=QUESTION, instructions="be brief")
    assert json.loads(reply.output_text) == {"value": 41}
    assert (reply.status, reply.model, reply.instructions) == ("completed", "some-model", "be brief")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens > 0


async def test_a_response_parses_into_the_model_of_the_request(connect):
    reply = await connect("p=1").responses.parse(model="m", input=QUESTION, text_format=Answer)
    assert reply.output_parsed == Answer(value=41)


async def test_a_completion_parses_into_the_model_of_the_request(connect):
    reply = await connect("p=1").chat.completions.parse(model="m", messages=MESSAGES, response_format=Answer)
    assert reply.choices[0].message.parsed == Answer(value=41)
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


async def test_a_response_stream_opens_sends_deltas_and_ends_with_the_whole_response(connect):
    kinds, deltas = await text_of_stream(connect("p=1,chunks=3"))
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert len(deltas) == 3
    assert json.loads("".join(deltas)) == {"value": 41}


async def test_the_sdk_accumulates_a_response_stream_into_a_parsed_response(connect):
    async with connect("p=1").responses.stream(model="m", input=QUESTION, text_format=Answer) as stream:
        async for _ in stream:
            pass
        reply = await stream.get_final_response()
    assert reply.output_parsed == Answer(value=41)


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_chat_stream_tells_usage_only_when_asked(connect, wanted: bool):
    options = {"stream_options": {"include_usage": True}} if wanted else {}
    text, usage, finishes = "", [], []
    stream = await connect("p=1,chunks=5").chat.completions.create(model="m", messages=MESSAGES, stream=True, **options)
    async for chunk in stream:
        usage += [chunk.usage] if chunk.usage else []
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finishes += [choice.finish_reason] if choice.finish_reason else []
    assert json.loads(text) == {"value": 41}
    assert finishes == ["stop"]
    assert len(usage) == (1 if wanted else 0)


async def test_a_slow_stream_arrives_in_pieces_and_can_be_left_half_way(connect, server: SimulatedServer):
    client = connect("p=1,slow=60000")
    stream = await client.responses.create(model="m", input=QUESTION, stream=True)
    first = await anext(aiter(stream))
    assert first.type == "response.created"
    assert server.stats()["in_flight"] == 1
    await stream.close()
    await client.close()
    stats = await stats_when(server, lambda stats: stats["open_connections"] == 0)
    assert stats["kinds"] == {"gone": 1}


async def test_a_slow_stream_carries_the_same_events_as_a_fast_one(connect):
    assert await text_of_stream(connect("p=1,slow=1")) == await text_of_stream(connect("p=1"))


async def test_a_stream_that_is_slower_than_the_clients_timeout_times_out_midway(connect):
    client = connect("p=1,slow=60000", timeout=0.2)
    events = aiter(await client.responses.create(model="m", input=QUESTION, stream=True))
    assert (await anext(events)).type == "response.created"
    with pytest.raises(openai.APITimeoutError):
        await anext(events)


async def test_a_tool_is_called_for_as_many_rounds_as_the_spec_says(connect):
    client = connect("p=1,tool=2")
    history: list = [{"role": "user", "content": QUESTION}]
    for _ in range(2):
        reply = await client.responses.create(model="m", input=history, tools=[TOOL])
        call = reply.output[0]
        assert call.type == "function_call"
        assert call.name == "add"
        assert set(json.loads(call.arguments)) == {"a", "b"}
        assert json.loads(call.arguments)["b"] >= 3
        history += [call.model_dump(exclude_none=True)]
        history += [{"type": "function_call_output", "call_id": call.call_id, "output": "7"}]
    reply = await client.responses.create(model="m", input=history, tools=[TOOL])
    assert json.loads(reply.output_text) == {"value": 41}


async def test_a_completion_calls_a_tool_and_then_answers(connect):
    client = connect("p=1,tool=1")
    history: list = list(MESSAGES)
    reply = await client.chat.completions.create(model="m", messages=history, tools=[CHAT_TOOL])
    assert reply.choices[0].finish_reason == "tool_calls"
    calls = reply.choices[0].message.tool_calls
    assert calls is not None
    history += [reply.choices[0].message.model_dump(exclude_none=True)]
    history += [{"role": "tool", "tool_call_id": calls[0].id, "content": "7"}]
    reply = await client.chat.completions.create(model="m", messages=history, tools=[CHAT_TOOL])
    assert json.loads(reply.choices[0].message.content or "") == {"value": 41}


async def test_the_tool_that_the_request_names_is_the_one_called(connect):
    choice = {"type": "function", "name": "add"}
    reply = await connect("tool=1").responses.create(model="m", input=QUESTION, tools=[OTHER, TOOL], tool_choice=choice)
    assert [item.name for item in reply.output if item.type == "function_call"] == ["add"]


async def test_no_tool_is_called_when_the_request_forbids_it(connect):
    reply = await connect("tool=1").responses.create(model="m", input=QUESTION, tools=[TOOL], tool_choice="none")
    assert [item.type for item in reply.output] == ["message"]


async def test_a_streamed_tool_call_reaches_the_sdk_whole(connect):
    async with connect("tool=1").responses.stream(model="m", input=QUESTION, tools=[TOOL]) as stream:
        async for _ in stream:
            pass
        reply = await stream.get_final_response()
    assert [item.name for item in reply.output if item.type == "function_call"] == ["add"]
    async with connect("tool=1").chat.completions.stream(model="m", messages=MESSAGES, tools=[CHAT_TOOL]) as chat:
        async for _ in chat:
            pass
        completion = await chat.get_final_completion()
    calls = completion.choices[0].message.tool_calls
    assert calls is not None
    assert set(json.loads(calls[0].function.arguments)) == {"a", "b"}


@pytest.mark.parametrize("stream", [False, True])
async def test_think_gives_a_reasoning_summary_before_the_answer(connect, stream: bool):
    client = connect("think=1,p=1")
    if stream:
        kinds, _ = await text_of_stream(client)
        assert "response.reasoning_summary_text.delta" in kinds
        return
    reply = await client.responses.create(model="m", input=QUESTION)
    assert [item.type for item in reply.output] == ["reasoning", "message"]
    assert reply.usage is not None
    assert reply.usage.output_tokens_details.reasoning_tokens > 0


async def test_text_and_pad_shape_the_answer(connect):
    plain = await connect("text=1,p=1").responses.create(model="m", input=QUESTION)
    assert plain.output_text == "The answer is 41."
    padded = await connect("pad=1000,p=1").responses.create(model="m", input=QUESTION)
    assert len(padded.output_text) > 1000
    assert json.loads(padded.output_text) == {"value": 41}
    prose = await connect("pad=1000,text=1,p=1").responses.create(model="m", input=QUESTION)
    assert prose.output_text.endswith("The answer is 41.")
    assert len(prose.output_text) == 1000 + len("The answer is 41.")


async def test_models_can_be_listed_and_looked_up(connect):
    client = connect()
    assert [model.id async for model in client.models.list()] == ["simulated"]
    assert (await client.models.retrieve("anything")).id == "anything"
    with pytest.raises(openai.NotFoundError, match="anything"):
        await connect("e404=1").models.retrieve("anything")
    with pytest.raises(openai.AuthenticationError):
        await connect("e401=1").models.list()


async def test_what_the_request_lacks_is_named(connect):
    with pytest.raises(openai.BadRequestError, match="model"):
        await connect().responses.create(model="", input="x")
    with pytest.raises(openai.BadRequestError, match="input"):
        await connect().responses.create(model="m")
    with pytest.raises(openai.BadRequestError, match="messages"):
        await connect().chat.completions.create(model="m", messages="no list")


async def test_stats_count_what_was_asked_and_how_it_was_answered(connect, server: SimulatedServer):
    client = connect()
    await client.responses.create(model="m", input=QUESTION)
    await text_of_stream(client)
    await client.chat.completions.create(model="m", messages=MESSAGES)
    with pytest.raises(openai.RateLimitError):
        await client.responses.create(model="m+e429=1", input=QUESTION)
    stats = server.stats()
    assert (stats["requests"], stats["streamed"], stats["in_flight"], stats["connections"]) == (4, 1, 0, 1)
    assert stats["kinds"] == {"ok": 3, "e429": 1}
    assert stats["routes"] == {"responses": 3, "chat": 1}
    assert stats["bytes_in"] > 0
    assert stats["bytes_out"] > stats["bytes_in"]
    server.reset()
    assert server.stats()["requests"] == 0
    assert server.stats()["connections"] == 1
    assert server.requests == []


async def test_the_last_requests_are_kept_with_their_headers(connect, server: SimulatedServer):
    await connect().responses.create(model="m", input="first")
    await connect().chat.completions.create(model="m", messages=MESSAGES, temperature=0.5)
    assert [body["model"] for body in server.requests] == ["m", "m"]
    assert server.requests[1]["temperature"] == 0.5
    assert [recorded.api for recorded in server.recorded] == ["responses", "chat"]
    assert server.recorded[0].headers["authorization"] == "Bearer none"


async def test_a_request_may_go_on_from_an_earlier_response(server: SimulatedServer, connect: Any) -> None:
    client = connect("p=1,tool=1")
    first = await client.responses.create(model="m", input=QUESTION, tools=[TOOL])
    call = first.output[0]
    assert call.type == "function_call"
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "41"}
    second = await client.responses.create(model="m", input=[result], tools=[TOOL], previous_response_id=first.id)
    assert second.output_text == '{"value":41}'
    assert second.previous_response_id == first.id


@pytest.mark.parametrize("stored", [True, False])
async def test_a_response_that_is_not_kept_cannot_be_gone_on_from(
    server: SimulatedServer, connect: Any, stored: bool
) -> None:
    client = connect("p=1")
    first = await client.responses.create(model="m", input=QUESTION, store=stored)
    if stored:
        server.reset()
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="m", input=[], previous_response_id=first.id)
    assert refused.value.code == "previous_response_not_found"
    assert refused.value.param == "previous_response_id"


@pytest.mark.parametrize("kept", [0, 1])
async def test_an_answer_that_must_be_a_call_is_one_of_the_last_tool(connect: Any, kept: int) -> None:
    final = {
        "type": "function",
        "name": "final_result",
        "parameters": {"type": "object", "properties": {"response": {"type": "integer"}}, "required": ["response"]},
    }
    client = connect(f"p=1,tool={kept}")
    reply = await client.responses.create(model="m", input=QUESTION, tools=[TOOL, final], tool_choice="required")
    (call,) = reply.output
    assert call.type == "function_call"
    if kept:  # a round of tools was asked for before the answer
        assert call.name == "add"
    else:
        assert (call.name, json.loads(call.arguments)) == ("final_result", {"response": 41})
