"""From an agent's settings to the messages that a run begins with."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

from pydantic import BaseModel
from pydantic_core import to_json

from rollgrid.agent.run import content_as_string
from rollgrid.models.messages import Message, Role

if TYPE_CHECKING:
    from rollgrid.agent.agent import Agent

Instructions = str | Sequence[str] | Callable[..., str | Sequence[str]] | None
AdditionalInput = Sequence["str | Mapping[str, Any] | BaseModel | Message"]

PROMPT_FIELDS: dict[str, Any] = {
    "description": None,
    "role": None,
    "instructions": None,
    "use_instruction_tags": False,
    "system_message": None,
    "system_message_role": "system",
    "user_message_role": "user",
    "build_context": True,
    "expected_output": None,
    "additional_context": None,
    "additional_input": None,
    "markdown": False,
    "add_datetime_to_context": False,
    "datetime_format": None,
    "timezone_identifier": None,
    "add_session_state_to_context": False,
    "resolve_in_context": True,
}
"""The settings that shape a prompt, and what each is when it is not set."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def prompt_fields(agent: "Agent") -> dict[str, Any]:
    """The settings that shape the prompt and differ from their defaults: values of flags, never rendered text.

    A setting that is at its default is left out, so that one added in a later version changes no fingerprint. A
    callable stays what it is, which no fingerprint can be made of.
    """
    fields: dict[str, Any] = {}
    for name, default in PROMPT_FIELDS.items():
        value = getattr(agent, name)
        if value != default:
            fields[name] = _canonical(value)
    if agent.add_name_to_context and agent.name is not None:
        fields["name"] = agent.name
    return fields


def opening_messages(agent: "Agent", text: str, now: datetime | None = None) -> list[Message]:
    """The system message, if there is anything to say, then the additional input, then the user's message."""
    messages: list[Message] = []
    system = system_text(agent, now)
    if system:
        messages.append(Message(cast("Role", agent.system_message_role), system))
    for item in agent.additional_input or ():
        messages.append(_as_message(item))
    messages.append(Message(cast("Role", agent.user_message_role), text))
    return messages


def system_text(agent: "Agent", now: datetime | None = None) -> str:
    """What the system message says. A `system_message` of the user's own replaces everything else."""
    own = agent.system_message
    if own is not None:
        said = own(agent) if callable(own) else own
        return _resolved(agent, said.content or "" if isinstance(said, Message) else said)
    if not agent.build_context:
        return ""
    parts: list[str] = []
    if agent.description:
        parts.append(agent.description)
    if agent.role:
        parts.append(f"<your_role>\n{agent.role}\n</your_role>")
    instructions = _instructions(agent)
    if instructions:
        parts.append(f"<instructions>\n{instructions}\n</instructions>" if agent.use_instruction_tags else instructions)
    facts = _facts(agent, now)
    if facts:
        parts.append(
            "<additional_information>\n" + "\n".join(f"- {fact}" for fact in facts) + "\n</additional_information>"
        )
    if agent.expected_output:
        parts.append(f"<expected_output>\n{agent.expected_output.strip()}\n</expected_output>")
    if agent.additional_context:
        parts.append(agent.additional_context)
    text = _resolved(agent, "\n\n".join(parts)) if parts else ""
    if agent.add_session_state_to_context and agent.session_state:
        # After the placeholders were filled: values of the state are not looked at for placeholders again.
        state = to_json(agent.session_state, fallback=str).decode()
        text = f"{text}\n\n<session_state>\n{state}\n</session_state>".lstrip()
    return text


def _instructions(agent: "Agent") -> str:
    given = agent.instructions
    if given is None:
        return ""
    if not isinstance(given, str) and callable(given):
        given = given(agent)
    if isinstance(given, str):
        return given
    lines = list(given)
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def _facts(agent: "Agent", now: datetime | None) -> list[str]:
    facts: list[str] = []
    if agent.markdown and agent.output_schema is None:
        facts.append("Format your answer in markdown.")
    if agent.add_datetime_to_context:
        zone = ZoneInfo(agent.timezone_identifier) if agent.timezone_identifier else None
        moment = (now or datetime.now(UTC)).astimezone(zone)
        shown = moment.strftime(agent.datetime_format) if agent.datetime_format else moment.isoformat(" ", "seconds")
        facts.append(f"The current time is {shown}.")
    if agent.add_name_to_context and agent.name is not None:
        facts.append(f"Your name is {agent.name}.")
    return facts


def _resolved(agent: "Agent", text: str) -> str:
    """Put values of the session state where the text names them in braces; other braces stay."""
    state = agent.session_state
    if not state or not agent.resolve_in_context or "{" not in text:
        return text
    return _PLACEHOLDER.sub(lambda m: content_as_string(state[m[1]]) if m[1] in state else m[0], text)


def _as_message(item: Any) -> Message:
    if isinstance(item, Message):
        return item
    if isinstance(item, str):
        return Message("user", item)
    if isinstance(item, Mapping) and "role" in item:
        row = cast("Mapping[str, Any]", item)
        content = row.get("content")
        return Message(row["role"], content if content is None else content_as_string(content))
    return Message("user", content_as_string(item))


def _canonical(value: Any) -> Any:
    """JSON values where the setting has them; whatever else there is stays and is the fingerprint's to refuse."""
    if isinstance(value, Message):
        return {"role": value.role, "content": value.content}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_canonical(item) for item in cast("Sequence[Any]", value)]
    return value
