"""What a run writes into files, and what it reads from them."""

import json
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from rollgrid.agent.run import Message, Metrics, RunOutput, RunStatus, ToolCall, ToolExecution


class Answer(BaseModel):
    value: int
    note: str | None = None


def whole_run() -> RunOutput:
    return RunOutput(
        content="four",
        messages=[
            Message("system", "be good"),
            Message("user", "two and two", name="ann"),
            Message(
                "assistant", tool_calls=[ToolCall("c1", "add", '{"a": 2}')], provider_items=[{"type": "reasoning"}]
            ),
            Message("tool", "4", tool_call_id="c1", name="add", tool_call_error=False),
            Message("assistant", "four", reasoning="easy"),
        ],
        tools=[ToolExecution("add", {"a": 2}, "c1", "4", duration=0.5)],
        reasoning="easy",
        metrics=Metrics(100, 20, 10, 5, 0.25, 0.1, 1.5, 2, 1),
        model="m",
        model_provider="p",
        agent_name="a",
        run_id="r",
        session_id="s",
        user_id="u",
        input="two and two",
        session_state={"seen": ["x"]},
        status=RunStatus.completed,
        raw_text="four",
        created_at=1700000000.25,
        tool_call_limit_hit=True,
        extra={"agent_id": "other library"},
    )


def of_the_seed_library() -> dict[str, Any]:
    """The shape that the seed library writes, with the keys that it fills."""
    return {
        "run_id": "r1",
        "agent_id": "n",
        "agent_name": "n",
        "session_id": "s1",
        "content": {"value": 4},
        "content_type": "Answer",
        "model_provider_data": {"response_id": "resp_2"},
        "model": "m",
        "model_provider": "OpenAI",
        "session_state": {"current_run_id": "r1"},
        "created_at": 1796087104,
        "status": "COMPLETED",
        "metrics": {
            "input_tokens": 240,
            "output_tokens": 24,
            "total_tokens": 264,
            "cache_read_tokens": 7,
            "time_to_first_token": 0.7,
            "duration": 0.8,
            "details": {"model": [{"input_tokens": 240, "id": "m", "provider": "OpenAI Responses"}]},
        },
        "messages": [
            {"id": "m1", "content": "x", "from_history": False, "role": "system", "created_at": 1796087104},
            {"id": "m2", "content": [{"type": "text", "text": "look"}], "role": "user", "created_at": 1796087104},
            {
                "id": "m3",
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "fc_1",
                        "call_id": "call_1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"value": 7}'},
                    }
                ],
                "provider_data": {"response_id": "resp_1"},
            },
            {
                "id": "m4",
                "content": "7",
                "role": "tool",
                "tool_call_id": "fc_1",
                "tool_name": "add",
                "tool_args": {"value": 7},
                "tool_call_error": False,
            },
            {"id": "m5", "content": '{"value": 4}', "role": "assistant", "metrics": {"duration": 0.005}},
        ],
        "tools": [
            {
                "tool_call_id": "fc_1",
                "tool_name": "add",
                "tool_args": {"value": 7},
                "tool_call_error": None,
                "result": "7",
                "metrics": {"start_time": 1.0, "end_time": 2.0, "duration": 1.0},
                "child_run_id": None,
                "external_execution_required": None,
                "created_at": 1796087104,
            }
        ],
        "input": {"input_content": "ANS=4"},
    }


def test_a_run_survives_the_way_into_a_file_and_back():
    run = whole_run()
    again = RunOutput.from_dict(json.loads(json.dumps(run.to_dict())))
    assert again == run


def test_reading_changes_nothing_in_what_is_read():
    data = of_the_seed_library()
    RunOutput.from_dict(data)
    assert data == of_the_seed_library()


def test_a_file_of_the_seed_library_is_read_whole():
    run = RunOutput.from_dict(of_the_seed_library())
    assert run.status is RunStatus.completed
    assert run.content == {"value": 4}
    assert run.get_content_as_string() == '{"value":4}'
    assert run.input == "ANS=4"
    assert run.metrics.input_tokens == 240
    assert run.metrics.cached_tokens == 7
    assert [message.role for message in run.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert run.messages[1].content == "look"
    assert run.messages[2].tool_calls == [ToolCall("fc_1", "add", '{"value": 7}')]
    assert run.messages[3].name == "add"
    assert run.tools[0].tool_args == {"value": 7}
    assert run.tools[0].duration == 1.0
    assert run.tools[0].tool_call_error is False


def test_what_this_version_has_no_name_for_is_written_back():
    written = RunOutput.from_dict(of_the_seed_library()).to_dict()
    original = of_the_seed_library()
    assert written["agent_id"] == "n"
    assert written["content_type"] == "Answer"
    assert written["metrics"] == original["metrics"]
    assert written["messages"] == original["messages"]
    for key, value in original["tools"][0].items():
        assert written["tools"][0][key] == (False if key == "tool_call_error" else value)


def test_our_own_facts_are_under_a_key_of_their_own():
    data = RunOutput(problem="refusal", problem_detail="no", raw_text="no", partial_text="n").to_dict()
    assert data["rollgrid"] == {
        "problem": "refusal",
        "problem_detail": "no",
        "raw_text": "no",
        "partial_text": "n",
    }
    assert "problem" not in data


def test_a_model_instance_is_written_as_json_and_named():
    data = RunOutput(content=Answer(value=1)).to_dict()
    assert data["content"] == {"value": 1, "note": None}
    assert data["content_type"] == "Answer"


def test_a_paused_execution_stays_paused():
    run = RunOutput(tools=[ToolExecution("ask", {}, "c", is_paused=True)])
    assert RunOutput.from_dict(run.to_dict()).tools[0].is_paused is True
    assert RunOutput.from_dict({"tools": [{"tool_name": "x", "requires_user_input": True}]}).tools[0].is_paused is True


def test_a_run_inside_a_run_key_is_found():
    assert RunOutput.from_dict({"run": {"run_id": "r", "messages": []}}).run_id == "r"


def test_the_content_as_text():
    assert RunOutput().get_content_as_string() == ""
    assert RunOutput(content="a\ud800b").get_content_as_string() == "a\ud800b"
    assert RunOutput(content=Answer(value=1)).get_content_as_string() == '{"value":1,"note":null}'
    assert RunOutput(content=["ä", 1]).get_content_as_string() == '["ä",1]'


def test_content_that_json_cannot_hold_is_an_error_that_names_it():
    with pytest.raises(TypeError, match="content of type object"):
        RunOutput(content=object()).to_dict()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"status": "LOST"}, "status 'LOST' is not one of"),
        ({"messages": "hello"}, "messages must be a list of objects"),
        ({"tools": ["add"]}, "tools must be a list of objects"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_key(data: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        RunOutput.from_dict(data)


def test_every_status_of_the_seed_library_is_known():
    for value in ("PENDING", "RUNNING", "COMPLETED", "PAUSED", "CANCELLED", "ERROR", "REGENERATED"):
        assert RunOutput.from_dict({"status": value}).status.value == value


def test_what_is_written_needs_no_help_to_become_json():
    assert orjson.loads(orjson.dumps(whole_run().to_dict())) == whole_run().to_dict()
