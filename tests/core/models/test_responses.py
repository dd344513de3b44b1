"""The Responses API: bodies and replies."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from rollgrid.errors import ModelError
from rollgrid.models._responses import ResponseStream, parse_response
from rollgrid.models.base import ModelRequest, ToolSpec
from rollgrid.models.messages import Message, ToolCall
from rollgrid.models.openai import OpenAIResponses
from rollgrid.models.schema import output_schema


class Answer(BaseModel):
    value: int


TOOL = ToolSpec("add", "Add.", {"type": "object", "properties": {}})
USER = [Message("user", "hi")]


def body(request: ModelRequest | None = None, id: str = "m", **settings: Any) -> dict[str, Any]:
    return OpenAIResponses(id, **settings).body(request or ModelRequest(USER))


def response(*output: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"id": "resp_1", "model": "m-1", "status": "completed", "error": None, "output": list(output), **changes}


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def text(value: str) -> dict[str, Any]:
    return {"type": "output_text", "text": value}


def test_a_body_holds_what_was_set_and_nothing_else():
    assert body() == {"model": "m", "input": [{"role": "user", "content": "hi"}], "store": False, "stream": True}
    assert "stream" not in body(stream=False)


def test_every_parameter_reaches_the_body():
    sent = body(
        reasoning_effort="low",
        reasoning_summary="auto",
        verbosity="low",
        max_output_tokens=100,
        temperature=0.5,
        top_p=0.9,
        truncation="auto",
        service_tier="flex",
        top_logprobs=2,
        metadata={"a": "b"},
        user="u",
        store=True,
        max_tool_calls=3,
        extra_body={"seed": 7},
        request_params={"top_k": 4},
    )
    assert sent["reasoning"] == {"effort": "low", "summary": "auto"}
    assert sent["text"] == {"verbosity": "low"}
    for name, value in {
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "truncation": "auto",
        "service_tier": "flex",
        "top_logprobs": 2,
        "metadata": {"a": "b"},
        "user": "u",
        "store": True,
        "max_tool_calls": 3,
        "seed": 7,
        "top_k": 4,
    }.items():
        assert sent[name] == value


def test_a_typed_answer_is_asked_for_with_its_strict_schema():
    sent = body(ModelRequest(USER, output=output_schema(Answer)))
    form = sent["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "Answer", True)
    assert form["schema"]["additionalProperties"] is False
    assert (
        body(ModelRequest(USER, output=output_schema(Answer)), strict_output=False)["text"]["format"]["strict"] is False
    )


def test_tools_and_their_history_are_sent_flat():
    history = [
        Message("system", "be good"),
        Message("user", "hi"),
        Message("assistant", "let me see", tool_calls=[ToolCall("c1", "add", "{}")]),
        Message("tool", "4", tool_call_id="c1", name="add"),
        Message("assistant", ""),
    ]
    sent = body(ModelRequest(history, [TOOL], {"type": "function", "function": {"name": "add"}}))
    assert sent["tools"] == [
        {"type": "function", "name": "add", "description": "Add.", "parameters": TOOL.parameters, "strict": False}
    ]
    assert sent["tool_choice"] == {"type": "function", "name": "add"}
    assert sent["input"] == [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "let me see"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
        {"role": "assistant", "content": ""},
    ]


def test_encrypted_reasoning_is_asked_for_when_it_has_to_travel_and_only_then():
    tools = ModelRequest(USER, [TOOL])
    assert body(tools, id="gpt-5.5")["include"] == ["reasoning.encrypted_content"]
    assert body(tools, id="served-here", reasoning_effort="low")["include"] == ["reasoning.encrypted_content"]
    assert "include" not in body(tools, id="gpt-4o")
    assert "include" not in body(tools, id="gpt-5.5", store=True)
    assert "include" not in body(id="gpt-5.5")


def test_reasoning_that_belongs_to_a_call_is_sent_back_as_it_came():
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz", "status": None}
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "add",
        "arguments": "{}",
        "status": "completed",
    }
    reply = parse_response(response(thought, call))
    assert reply.tool_calls == [ToolCall("c1", "add", "{}")]
    history = [*USER, Message("assistant", tool_calls=reply.tool_calls, provider_items=reply.provider_items)]
    assert body(ModelRequest(history))["input"][1:] == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{}"},
    ]


def test_reasoning_that_cannot_travel_stays_behind():
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    assert parse_response(response(thought, call)).provider_items is None


def test_a_reply_is_taken_apart():
    reply = parse_response(
        response(
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
            },
            message(text("one "), text("two")),
            usage={
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 2},
            },
        )
    )
    assert (reply.text, reply.finish, reply.reasoning) == ("one two", "stop", "a\n\nb")
    assert (reply.model, reply.response_id) == ("m-1", "resp_1")
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens) == (10, 5, 4, 2)


@pytest.mark.parametrize(
    ("value", "finish", "refusal"),
    [
        (response(message({"type": "refusal", "refusal": "no"})), "refusal", "no"),
        (
            response(message(text("x")), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "length",
            None,
        ),
        (
            response(message(), status="incomplete", incomplete_details={"reason": "content_filter"}),
            "content_filter",
            None,
        ),
        (response(message(text("x")), status="incomplete", incomplete_details=None), "length", None),
    ],
)
def test_how_a_reply_ended(value: dict[str, Any], finish: str, refusal: str | None):
    reply = parse_response(value)
    assert (reply.finish, reply.refusal) == (finish, refusal)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "protocol"),
        ({"status": "completed"}, "protocol"),
        (response(status="in_progress"), "protocol"),
        (response(status="failed", error={"code": "server_error", "message": "m"}), "server"),
        (response({"type": "function_call", "call_id": "c"}), "protocol"),
        (response(message("text")), "protocol"),
        (response({"type": "message", "content": 3}), "protocol"),
    ],
)
def test_what_is_no_reply_is_an_error(value: Any, kind: str):
    with pytest.raises(ModelError) as caught:
        parse_response(value)
    assert caught.value.kind == kind
    assert caught.value.retryable


def event(kind: str, **fields: Any) -> tuple[bytes, bytes]:
    return kind.encode(), json.dumps({"type": kind, **fields}).encode()


def test_a_stream_gives_its_text_in_pieces_and_ends_with_its_reply():
    pieces: list[str] = []
    stream = ResponseStream(pieces.append)
    assert stream.on_event(*event("response.created")) is False
    assert stream.on_event(b"response.output_item.added", b"never looked at {") is False
    assert stream.on_event(*event("response.output_text.delta", delta="one ")) is False
    assert stream.on_event(*event("response.output_text.delta", delta="two")) is False
    assert not stream.is_complete()
    assert stream.on_event(*event("response.completed", response=response(message(text("one two"))))) is True
    assert pieces == ["one ", "two"]
    assert stream.reply is not None
    assert stream.reply.text == "one two"
    assert stream.reply.time_to_first_token is not None


def test_events_without_names_are_told_by_their_type():
    stream = ResponseStream(None)
    for kind in ("response.created", "response.output_text.delta"):
        assert stream.on_event(b"", event(kind, delta="x")[1]) is False
    # This server leaves the output out of the last event.
    assert stream.on_event(b"", event("response.completed", response=response())[1]) is True
    assert stream.reply is not None
    assert stream.reply.text == "x"


@pytest.mark.parametrize(
    ("happening", "kind"),
    [
        (event("error", code="rate_limit_exceeded", message="m"), "rate_limit"),
        (event("response.failed", response=response(status="failed", error={"code": "server_error"})), "server"),
        ((b"response.completed", b'{"response": '), "protocol"),
    ],
)
def test_a_stream_that_fails_is_an_error(happening: tuple[bytes, bytes], kind: str):
    with pytest.raises(ModelError) as caught:
        ResponseStream(None).on_event(*happening)
    assert caught.value.kind == kind
