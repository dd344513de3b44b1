"""Tools for a model that cannot call any: a forced action, translated both ways."""

import json

import pytest
from pydantic import BaseModel

from rollgrid.models.base import ModelRequest, ToolSpec
from rollgrid.models.local.forcing import calls_so_far, force_tools, plain_history
from rollgrid.models.messages import Message, ToolCall
from rollgrid.models.schema import output_schema

NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
MULTIPLY = ToolSpec("multiply", "Multiply.", NUMBERS)
LOOK_UP = ToolSpec("look_up", "", {"type": "object", "properties": {}})


class Answer(BaseModel):
    action: str
    number: int


class Inner(BaseModel):
    value: int


class Outer(BaseModel):
    inner: Inner
    more: list[Inner]


def request(*tools, choice=None, output=None, messages=()):
    return ModelRequest(
        messages=list(messages),
        tools=tools,
        tool_choice=choice,
        output=output_schema(output) if output is not None else None,
    )


def actions(forced):
    return [branch["properties"]["action"]["const"] for branch in forced.schema["anyOf"]]


def test_without_tools_nothing_is_forced():
    assert force_tools(request(output=Answer)) is None


@pytest.mark.parametrize(
    ("choice", "allowed"),
    [
        (None, ["multiply", "look_up", "answer"]),
        ("auto", ["multiply", "look_up", "answer"]),
        ("required", ["multiply", "look_up"]),
        ("none", ["answer"]),
        ("look_up", ["look_up"]),
        ({"type": "function", "function": {"name": "multiply"}}, ["multiply"]),
        ({"type": "function", "name": "multiply"}, ["multiply"]),
    ],
)
def test_the_tool_choice_decides_what_may_be_done(choice, allowed):
    assert actions(force_tools(request(MULTIPLY, LOOK_UP, choice=choice))) == allowed


def test_a_chosen_action_becomes_a_tool_call():
    forced = force_tools(request(MULTIPLY))
    text, calls = forced.read('{"action": "multiply", "arguments": {"a": 7, "b": "ü"}}', 3)
    assert text == ""
    assert calls == [ToolCall(id="call_3", name="multiply", arguments='{"a": 7, "b": "ü"}')]


def test_a_text_answer_is_taken_out_of_its_wrapping():
    assert force_tools(request(MULTIPLY)).read('{"action": "answer", "answer": "it is \\"7\\""}', 1) == (
        'it is "7"',
        [],
    )


def test_an_answer_in_the_agents_schema_is_kept_byte_for_byte():
    forced = force_tools(request(MULTIPLY, output=Answer))
    raw = '{ "action":"answer" ,"number" : 1e2}'
    assert forced.read(f'{{"action": "answer", "answer":  {raw} }}', 1) == (raw, [])


@pytest.mark.parametrize("text", ['{"action": "mult', "[1]", "words", '{"action": "unknown"}'])
def test_text_of_another_shape_stays_as_it_is(text):
    assert force_tools(request(MULTIPLY)).read(text, 1) == (text, [])


def test_a_tool_called_answer_is_told_from_the_answer():
    forced = force_tools(request(ToolSpec("answer", "A tool.", NUMBERS)))
    assert actions(forced) == ["answer", "final_answer"]
    assert forced.read('{"action": "answer", "arguments": {}}', 1)[1][0].name == "answer"
    assert forced.read('{"action": "final_answer", "answer": "x"}', 1) == ("x", [])


def test_references_still_point_at_their_definitions():
    schema = dict(output_schema(Outer).schema)
    parameters = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Inner"}}}
    tool = ToolSpec("use", "Use.", {**parameters, "$defs": {"Inner": {"type": "string"}}})
    forced = force_tools(request(tool, output=Outer))
    assert "$defs" in schema

    def references(value):
        if isinstance(value, dict):
            own = [value["$ref"]] if "$ref" in value else []
            return own + [name for inner in value.values() for name in references(inner)]
        return [name for inner in value for name in references(inner)] if isinstance(value, list) else []

    found = references(forced.schema)
    assert found
    assert all(name.removeprefix("#/$defs/") in forced.schema["$defs"] for name in found)
    assert forced.schema["$defs"]["t0_Inner"] == {"type": "string"}
    assert forced.schema["$defs"]["a_Inner"]["type"] == "object"


def test_the_history_is_told_in_the_forced_shape():
    history = [
        Message("system", "Be brief."),
        Message("user", "7 times 8?"),
        Message("assistant", "Let me see.", tool_calls=[ToolCall("call_1", "multiply", '{"a": 7}')]),
        Message("tool", "56", tool_call_id="call_1"),
        Message("assistant", "56"),
        Message("tool", "boom", tool_call_id="call_1", tool_call_error=True),
    ]
    forced = force_tools(request(MULTIPLY, messages=history))
    told = plain_history(history, forced)
    assert [message.role for message in told] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert told[0].content.startswith("Be brief.\n\n")
    assert '{"action": "multiply", "arguments": {"a": "<integer>"}}: Multiply.' in (told[0].content or "")
    assert told[2].content == 'Let me see.\n{"action": "multiply", "arguments": {"a": 7}}'
    assert told[3].content.startswith("multiply gave: 56\n")
    assert json.loads(told[4].content) == {"action": "answer", "answer": "56"}
    assert told[5].content.startswith("multiply failed: boom")
    assert history[0].content == "Be brief."
    assert calls_so_far(history) == 1


def test_a_history_without_a_system_message_gets_one():
    forced = force_tools(request(MULTIPLY))
    told = plain_history([Message("user", "hi")], forced)
    assert [message.role for message in told] == ["system", "user"]


def test_calls_in_the_history_are_told_even_when_there_are_no_tools():
    history = [Message("assistant", None, tool_calls=[ToolCall("1", "old", "not json")]), Message("tool", "r", "1")]
    told = plain_history(history, None)
    assert [message.role for message in told] == ["assistant", "user"]
    assert all(not message.tool_calls for message in told)
