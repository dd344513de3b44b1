"""Chat completions: bodies and replies."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from rollgrid.errors import ModelError
from rollgrid.models._chat import ChatStream, parse_completion
from rollgrid.models.base import ModelRequest, ToolSpec
from rollgrid.models.messages import Message, ToolCall
from rollgrid.models.openai import OpenAIChat
from rollgrid.models.schema import output_schema


class Answer(BaseModel):
    value: int


TOOL = ToolSpec("add", "Add.", {"type": "object", "properties": {}})
USER = [Message("user", "hi")]


def body(request: ModelRequest | None = None, **settings: Any) -> dict[str, Any]:
    return OpenAIChat("m", **settings).body(request or ModelRequest(USER))


def completion(message: Any, finish: str | None = "stop", **changes: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **changes,
    }


def chunk(delta: Any = None, finish: str | None = None, **changes: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return json.dumps({"id": "c", "model": "m-1", "choices": choices, **changes}).encode()


def test_a_body_holds_what_was_set_and_nothing_else():
    assert body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert body(stream=False) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert "stream_options" not in body(stream_usage=False)


def test_every_parameter_reaches_the_body():
    values = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 10,
        "max_completion_tokens": 20,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "seed": 7,
        "stop": ["x"],
        "logit_bias": {"50256": -100},
        "logprobs": True,
        "top_logprobs": 3,
        "reasoning_effort": "low",
        "verbosity": "low",
        "service_tier": "flex",
        "store": True,
        "user": "u",
        "metadata": {"a": "b"},
    }
    sent = body(**values, extra_body={"top_k": 4})
    assert {name: sent[name] for name in values} == values
    assert sent["top_k"] == 4


def test_the_seed_of_an_attempt_is_not_sent():
    assert "seed" not in body(ModelRequest(USER, seed=5))


def test_a_typed_answer_is_asked_for_with_its_strict_schema():
    form = body(ModelRequest(USER, output=output_schema(Answer)))["response_format"]
    assert form["type"] == "json_schema"
    assert (form["json_schema"]["name"], form["json_schema"]["strict"]) == ("Answer", True)


def test_tools_and_their_history_are_sent():
    history = [
        Message("system", "be good"),
        Message("user", "hi", name="ann"),
        Message("assistant", tool_calls=[ToolCall("c1", "add", "{}")]),
        Message("tool", "4", tool_call_id="c1", name="add"),
        Message("assistant", None),
    ]
    sent = body(ModelRequest(history, [TOOL], {"type": "function", "name": "add"}), parallel_tool_calls=False)
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert sent["messages"] == [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "hi", "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "c1"},
        {"role": "assistant", "content": ""},
    ]
    function = {"name": "add", "description": "Add.", "parameters": TOOL.parameters}
    assert sent["tools"] == [{"type": "function", "function": function}]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "add"}}
    assert sent["parallel_tool_calls"] is False


def test_a_reply_is_taken_apart():
    reply = parse_completion(
        completion(
            {"role": "assistant", "content": "two", "reasoning_content": "one plus one"},
            usage={
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": None,
            },
        )
    )
    assert (reply.text, reply.finish, reply.reasoning, reply.model) == ("two", "stop", "one plus one", "m-1")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (10, 5, 4)


@pytest.mark.parametrize(
    ("message", "reason", "finish"),
    [
        ({"content": "x"}, "length", "length"),
        ({"content": "x"}, "content_filter", "content_filter"),
        ({"content": None, "refusal": "no"}, "stop", "refusal"),
        ({"content": [{"type": "text", "text": "x"}]}, None, "stop"),
        (
            {"content": None, "tool_calls": [{"id": "c", "function": {"name": "add", "arguments": "{}"}}]},
            "stop",
            "tool_calls",
        ),
    ],
)
def test_how_a_reply_ended(message: Any, reason: str | None, finish: str):
    assert parse_completion(completion(message, reason)).finish == finish


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({}, "protocol"),
        ({"choices": []}, "protocol"),
        ({"choices": ["x"]}, "protocol"),
        (completion("text"), "protocol"),
        (completion({"tool_calls": [{"function": {}}]}), "protocol"),
        ({"error": {"message": "overloaded", "code": 503}}, "server"),
    ],
)
def test_what_is_no_reply_is_an_error(value: Any, kind: str):
    with pytest.raises(ModelError) as caught:
        parse_completion(value)
    assert caught.value.kind == kind


def test_a_stream_gives_its_text_in_pieces_and_ends_with_its_reply():
    pieces: list[str] = []
    stream = ChatStream(pieces.append)
    assert not stream.on_event(b"", chunk({"role": "assistant", "content": ""}))
    assert not stream.on_event(b"", chunk({"reasoning_content": "hm"}))
    assert not stream.on_event(b"", chunk({"content": "one "}))
    assert not stream.on_event(b"", chunk({"content": "two"}))
    assert not stream.is_complete()
    assert not stream.on_event(b"", chunk({}, "stop"))
    assert stream.is_complete()
    assert not stream.on_event(b"", chunk(usage={"prompt_tokens": 3, "completion_tokens": 2}))
    assert stream.on_event(b"", b"[DONE]")
    reply = stream.reply()
    assert pieces == ["one ", "two"]
    assert (reply.text, reply.reasoning, reply.finish, reply.usage.input_tokens) == ("one two", "hm", "stop", 3)
    assert reply.time_to_first_token is not None


def test_calls_that_come_in_pieces_are_put_together():
    stream = ChatStream(None)
    for part in (
        {"index": 1, "id": "c2", "function": {"name": "sub", "arguments": ""}},
        {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a"'}},
        {"index": 0, "function": {"arguments": ": 1}"}},
        {"index": 1, "function": {"name": "sub", "arguments": "{}"}},
    ):
        stream.on_event(b"", chunk({"tool_calls": [part]}))
    stream.on_event(b"", chunk({}, "tool_calls"))
    reply = stream.reply()
    assert reply.tool_calls == [ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "sub", "{}")]
    assert reply.finish == "tool_calls"


def test_a_refusal_in_a_stream():
    stream = ChatStream(None)
    stream.on_event(b"", chunk({"refusal": "I will "}))
    stream.on_event(b"", chunk({"refusal": "not."}, "stop"))
    assert (stream.reply().refusal, stream.reply().finish) == ("I will not.", "refusal")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"error": {"message": "m", "code": "rate_limit_exceeded"}}', "rate_limit"),
        (b'{"choices": [', "protocol"),
        (b'{"choices": [{"delta": {"tool_calls": [3]}}]}', "protocol"),
    ],
)
def test_a_stream_that_fails_is_an_error(data: bytes, kind: str):
    with pytest.raises(ModelError) as caught:
        ChatStream(None).on_event(b"", data)
    assert caught.value.kind == kind


def test_a_stream_without_any_answer_is_an_error():
    with pytest.raises(ModelError, match="held no answer"):
        ChatStream(None).reply()


def test_a_listener_that_fails_is_not_taken_for_a_fault_of_the_server():
    def broken(piece: str):
        raise KeyError(piece)

    with pytest.raises(KeyError):
        ChatStream(broken).on_event(b"", chunk({"content": "x"}))


def test_calls_without_an_index_are_told_apart_by_their_ids():
    stream = ChatStream(None)
    for part in (
        {"id": "c1", "function": {"name": "add", "arguments": '{"a":'}},
        {"function": {"arguments": " 1}"}},
        {"id": "c2", "function": {"name": "sub", "arguments": "{"}},
        {"id": "c2", "function": {"arguments": "}"}},
    ):
        stream.on_event(b"", chunk({"tool_calls": [part]}))
    stream.on_event(b"", chunk({}, "tool_calls"))
    assert stream.reply().tool_calls == [ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "sub", "{}")]


def test_arguments_that_come_as_an_object_are_made_text():
    call = {"id": "c", "function": {"name": "add", "arguments": {"a": 1}}}
    assert parse_completion(completion({"tool_calls": [call]})).tool_calls[0].arguments == '{"a":1}'
    stream = ChatStream(None)
    stream.on_event(b"", chunk({"tool_calls": [{"index": 0, **call}]}, "tool_calls"))
    assert stream.reply().tool_calls[0].arguments == '{"a":1}'


@pytest.mark.parametrize("given", [2**62, 10**30, -5, True, 5.0, "7", None])
def test_a_usage_that_is_no_count_counts_nothing(given: Any):
    usage = {"prompt_tokens": given, "completion_tokens": 3}
    reply = parse_completion(completion({"content": "x"}, usage=usage))
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 3)


def test_a_reason_to_finish_of_a_wrong_kind_is_a_fault_of_the_server():
    stream = ChatStream(None)
    stream.on_event(b"", b'{"choices": [{"delta": {"content": "x"}, "finish_reason": ["stop"]}]}')
    with pytest.raises(ModelError) as caught:
        stream.reply()
    assert caught.value.kind == "protocol"
