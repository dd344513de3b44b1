"""The messages that a run begins with."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from rollgrid.agent import Agent, Message
from rollgrid.agent.prompt import opening_messages, system_text
from support.models import ScriptedModel

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def agent(**settings: Any) -> Agent:
    return Agent(ScriptedModel("ok"), **settings)


class Answer(BaseModel):
    value: int


def test_nothing_said_is_no_system_message():
    assert [message.role for message in opening_messages(agent(), "hi")] == ["user"]


def test_instructions_alone_are_the_system_message():
    assert system_text(agent(instructions="Be brief.")) == "Be brief."
    assert system_text(agent(instructions=["Be brief."])) == "Be brief."
    assert system_text(agent(instructions=["Be brief.", "Be kind."])) == "- Be brief.\n- Be kind."
    assert system_text(agent(instructions=lambda a: f"Hello {a.name}.", name="x")) == "Hello x."


def test_the_parts_stand_in_a_fixed_order():
    text = system_text(
        agent(
            description="You count.",
            role="counter",
            instructions="Count.",
            use_instruction_tags=True,
            expected_output="A number.",
            additional_context="Today is quiet.",
            markdown=True,
            name="Counter",
            add_name_to_context=True,
            add_datetime_to_context=True,
            timezone_identifier="Asia/Shanghai",
            datetime_format="%H:%M",
        ),
        NOW,
    )
    assert text == (
        "You count.\n\n<your_role>\ncounter\n</your_role>\n\n<instructions>\nCount.\n</instructions>\n\n"
        "<additional_information>\n- Format your answer in markdown.\n- The current time is 11:04.\n"
        "- Your name is Counter.\n</additional_information>\n\n"
        "<expected_output>\nA number.\n</expected_output>\n\nToday is quiet."
    )


def test_a_typed_answer_is_not_asked_for_in_markdown():
    assert system_text(agent(markdown=True, output_schema=Answer)) == ""


def test_a_system_message_of_ones_own_replaces_the_rest():
    assert system_text(agent(system_message="Mine.", instructions="Yours.")) == "Mine."
    assert system_text(agent(system_message=Message("system", "Mine."), description="Yours.")) == "Mine."
    assert system_text(agent(system_message=lambda a: f"For {a.name}", name="n")) == "For n"
    assert system_text(agent(build_context=False, instructions="Yours.")) == ""


def test_the_session_state_fills_named_braces_and_no_others():
    state = {"who": "Ann", "items": [1], "trap": "{who}"}
    text = system_text(agent(instructions="{who} {items} {nobody} {} {trap}", session_state=state))
    assert text == "Ann [1] {nobody} {} {who}"
    assert system_text(agent(instructions="{who}", session_state=state, resolve_in_context=False)) == "{who}"


def test_the_session_state_can_be_shown_whole():
    text = system_text(agent(instructions="x", session_state={"a": 1}, add_session_state_to_context=True))
    assert text == 'x\n\n<session_state>\n{"a":1}\n</session_state>'


def test_additional_input_stands_between_system_and_user():
    given = ["first", {"role": "assistant", "content": "second"}, Message("user", "third"), Answer(value=4)]
    messages = opening_messages(agent(instructions="sys", additional_input=given), "last")
    assert [(message.role, message.content) for message in messages] == [
        ("system", "sys"),
        ("user", "first"),
        ("assistant", "second"),
        ("user", "third"),
        ("user", '{"value":4}'),
        ("user", "last"),
    ]


def test_roles_can_be_chosen():
    messages = opening_messages(agent(instructions="s", system_message_role="developer"), "u")
    assert [message.role for message in messages] == ["developer", "user"]


def test_prompt_fields_hold_what_was_set_and_nothing_else():
    assert agent().prompt_fields() == {}
    assert agent(name="cosmetic").prompt_fields() == {}
    assert agent(name="told", add_name_to_context=True).prompt_fields() == {"name": "told"}
    fields = agent(instructions=("a", "b"), add_datetime_to_context=True, additional_input=[Message("user", "x")])
    assert fields.prompt_fields() == {
        "instructions": ["a", "b"],
        "add_datetime_to_context": True,
        "additional_input": [{"role": "user", "content": "x"}],
    }


def test_prompt_fields_hold_the_flag_of_a_clock_never_its_time():
    one = agent(add_datetime_to_context=True)
    assert one.prompt_fields() == agent(add_datetime_to_context=True).prompt_fields()
    assert system_text(one, NOW) != system_text(one, NOW.replace(year=2027))
