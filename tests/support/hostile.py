"""A project whose every text attacks the terminal: a log on disk, and baseline files."""

import asyncio
import unicodedata
from pathlib import Path
from typing import Any, get_args, get_origin

from rollgrid.agent.run import Message
from rollgrid.store import events
from rollgrid.store.codec import encode
from rollgrid.store.commands import post_command
from rollgrid.store.writer import LogWriter
from support.results import attempt, result, run_output, task_result, tool

PAYLOADS = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "link": "\x1b]8;;http://evil.test\x1b\\here\x1b]8;;\x1b\\",
    "title": "\x1b]0;owned\x1b\\",
    "question": "\x1b[6n",
    "screen": "\x1b[2J\x1b[1;1H",
    "c1": "\x9b31m\x9d0;owned\x9c\x90\x85",
    "bidi": "\u202eabc\u2066\u2069\u200f\u061c",
    "hidden": "\u200b\u200d\u2060\ufeff\u00ad\U000e0041\u115f\u3164",
    "stack": "e" + "\u0301" * 60,
    "broken": "\ud800\udfff",
    "controls": "\x00\x01\x08\x0b\x0c\x0e\x7f",
    "lines": "a\r\nb\rc\nd\te\u2028f\u2029g",
    "markup": "[b][/INST][link=x][@click=app.bell]y[/] [bold",
    "wide": "漢字🚀👩\u200d💻🏳\ufe0f\u200d🌈🇩🇪",
}
PAYLOAD = "".join(PAYLOADS.values())
"""All of it in one text. Most widths cut it, so `payload` begins with another one each time."""

FINGERPRINT = "rgenv1:aa"
TASKS, K = 4, 4


def payload(number: int) -> str:
    parts = list(PAYLOADS.values())
    start = number % len(parts)
    return "".join((*parts[start:], *parts[:start]))


def forbidden(text: str) -> set[str]:
    """The characters of `text` that no terminal may get."""
    return {
        f"U+{ord(character):04X}"
        for character in text
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} or 0xFE00 <= ord(character) <= 0xFE0F
    }


class Hostile:
    """Makes events in which every text that is not structure is a payload, whatever fields they come to have."""

    def __init__(self) -> None:
        self.made = 0

    def text(self) -> str:
        self.made += 1
        return payload(self.made)

    def event(self, kind: type[Any], **given: Any) -> Any:
        fields: dict[str, Any] = {"run_id": RUN, "at": 1_700_000_000.0 + self.made}
        for name, field in kind.model_fields.items():
            if name in {"kind", "v", *fields} or name in given:
                continue
            kinds = [field.annotation]
            if get_origin(field.annotation) is not dict:
                kinds += get_args(field.annotation)
            if any(get_origin(one) is dict for one in kinds):
                fields[name] = {self.text(): self.text()}
            elif str in kinds:
                fields[name] = self.text()
        return kind(**(fields | given))

    def body(self) -> dict[str, Any]:
        text = self.text
        call = {"id": "c1", "type": "function", "function": {"name": text(), "arguments": text()}}
        return {
            "content": text(),
            "raw_text": text(),
            "model": text(),
            "messages": [
                {"role": "system", "content": text()},
                {"role": "user", "content": text()},
                {"role": text(), "content": [{"type": text(), "text": text()}]},
                {"role": "assistant", "content": text(), "reasoning": text(), "tool_calls": [call]},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c2", "name": text(), "arguments": "{"}]},
                {"role": "tool", "content": text(), "name": text(), "tool_call_id": "c1", "tool_call_error": True},
                {"role": "assistant", "content": text()},
            ],
            "tools": [
                {
                    "tool_name": text(),
                    "tool_args": {text(): text()},
                    "tool_call_id": "c3",
                    "result": text(),
                    "tool_call_error": True,
                }
            ],
            "reasoning": text(),
            "problem": text(),
            "problem_detail": text(),
            "error": text(),
            "metrics": {text(): text()},
        }


RUN = "hst2la"


def task_id(number: int) -> str:
    return f"{number}{payload(number)}"


async def write_log(path: Path) -> None:
    """A run that stands in a storm, with scored attempts, errors, takes, retries, reviews and a rescoring."""
    hostile = Hostile()
    event = hostile.event
    tasks = tuple(
        events.TaskInfo(
            id=task_id(n), input=hostile.text(), expected=hostile.text(), metadata={hostile.text(): hostile.text()}
        )
        for n in range(TASKS)
    )
    writer = await LogWriter.open(path)
    try:
        created = {"env_fingerprint": FINGERPRINT, "k": K, "tasks": tasks, "timeout_seconds": 9.0}
        writer.append(event(events.RunCreated, **created))
        writer.append(event(events.SessionStarted, session=1, pid=1, concurrency=4, limits={}))
        for task in range(TASKS):
            for number in range(1, K + 1):
                place = {"task": task, "attempt": number, "take": 1}
                writer.append(event(events.AttemptStarted, **place))
                writer.append(event(events.AttemptRetrying, **place, n=1, limit=3, wait_seconds=1.0, status=429))
                writer.append(event(events.AttemptPhase, **place, phase="tool"))
                if number == K:
                    continue
                passed = (True, False, None)[number - 1]
                ended = {"passed": passed, "value": None if passed is None else float(passed)}
                if passed is not None:
                    ended |= {"error": None, "error_type": None, "error_signature": None, "status": None}
                stop = "error" if passed is None else "completed"
                ended |= {"stop_reason": stop, "duration_seconds": 1.0}
                writer.append(event(events.AttemptEnded, **place, **ended), encode(hostile.body()))
                if passed is False:
                    writer.append(event(events.Reviewed, **place, verdict="disagree", passed=True))
        writer.append(event(events.AttemptSuperseded, task=0, attempt=3, take=1))
        writer.append(event(events.AttemptStarted, task=0, attempt=3, take=2))
        writer.append(event(events.ConcurrencyChanged, limit=2))
        writer.append(event(events.EndpointPaused, seconds=2.0))
        writer.append(event(events.Notice, level="warning"))
        writer.append(event(events.StormCalled, count=4, window=4))
        writer.append(event(events.RunStateChanged, state="paused"))
        await writer.flush()
        command = await post_command(path, RUN, "retry", {"signature": hostile.text()}, hostile.text())
        writer.append(event(events.CommandAnswered, command_id=command, accepted=True))
        await writer.flush()
        assert writer.fault is None, writer.fault
    finally:
        await writer.aclose()


def write_baselines(folder: Path) -> None:
    """One that can be compared with the run, one that cannot, one that is broken; their names are hostile too."""
    hostile = Hostile()
    text = hostile.text

    def made(outcome: str) -> Any:
        said = [Message(role="system", content=text()), Message(role="user", content=text())]
        said.append(Message(role="assistant", content=text()))
        run = run_output(text(), prompt=text(), messages=said, tools=[tool(text(), text(), args={text(): text()})])
        return attempt(outcome, run, error=text() if outcome == "!" else None)

    tasks = [task_result(task_id(n), [made(one) for one in "++-!"], metadata={text(): text()}) for n in range(TASKS)]
    tasks.append(task_result(text(), [made("+")]))
    about = {"model": text(), "created_at": 1_700_000_000.0}
    fields = {"env_name": text(), "policy_fingerprint": text(), "about": about}
    folder.mkdir()
    result(*tasks, env_fingerprint=FINGERPRINT, **fields).save(folder / "a\x1b]0;owned\x07\u202e.json")
    result(*tasks, env_fingerprint="rgenv1:other", **fields).save(folder / "b\x1b[6n\x9b\n.json")
    (folder / "c\x1b[2J.json").write_text('{"format_version": 1, "env_name": "\\u001b[6n', encoding="utf-8")


def write_project(folder: Path) -> Path:
    """The log's path."""
    (folder / "rollgrid.toml").touch()
    log = folder / "log.db"
    asyncio.run(write_log(log))
    write_baselines(folder / "baselines")
    return log
