"""Passing attempts as training data: conversational JSONL for supervised fine-tuning."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rollgrid.agent.run import Message, RunOutput
from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.files import atomic_file, json_bytes
from rollgrid.environments.result import EnvironmentRunResult

__all__ = ["MAX_BYTES", "MAX_CONVERSATIONS", "ExportReport", "ato_sft_jsonl", "conversation", "to_sft_jsonl"]

MAX_CONVERSATIONS = 320
MAX_BYTES = 1024 * 1024

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


@dataclass
class ExportReport:
    """Where every scored attempt went; the counts sum to their number. Unscored attempts are no candidates."""

    n_written: int = 0
    n_skipped_failed: int = 0
    n_skipped_tool_runs: int = 0
    n_skipped_limit_hit: int = 0
    n_skipped_no_text: int = 0
    n_dropped_over_cap: int = 0


def to_sft_jsonl(
    result: EnvironmentRunResult,
    path: str | Path,
    only_passed: bool = True,
    *,
    include_tool_runs: bool = False,
    max_conversations: int | None = MAX_CONVERSATIONS,
    max_bytes: int | None = MAX_BYTES,
) -> ExportReport:
    """Write `{"messages": [{"role", "content"}]}` lines, and `<path>.meta.json` with where each came from.

    Task by task, attempt by attempt, so the same result gives the same bytes. An attempt is left out, and counted, for
    the first of these that holds: it failed (unless `only_passed` is False); it hit the tool call limit; it used tools,
    which this format cannot show; the model emitted no text. The assistant text is what the model emitted, byte for
    byte, never a re-serialised answer.

    `include_tool_runs` writes tool-using attempts too, with `tool_calls` and `tool` messages in the chat format, which
    not every trainer takes. From the first line on that would exceed `max_conversations` or `max_bytes` (None: no
    limit) nothing more is written; what that drops is counted.
    """
    report = ExportReport()
    origins: list[dict[str, Any]] = []
    room = float("inf") if max_bytes is None else max_bytes
    most = float("inf") if max_conversations is None else max_conversations
    with atomic_file(path) as file:
        for one in result.task_results:
            for position, attempt in enumerate(one.read_attempts()):
                messages = _candidate(attempt, only_passed, include_tool_runs, report)
                if messages is None:
                    continue
                line = json_bytes({"messages": messages}) + b"\n"
                if report.n_dropped_over_cap or report.n_written >= most or len(line) > room:
                    report.n_dropped_over_cap += 1
                    continue
                file.write(line)
                room -= len(line)
                report.n_written += 1
                origins.append(origin(one.task.id, position, attempt))
    options = {
        "only_passed": only_passed,
        "include_tool_runs": include_tool_runs,
        "max_conversations": max_conversations,
        "max_bytes": max_bytes,
    }
    write_sidecar(path, result, asdict(report), options, origins)
    return report


async def ato_sft_jsonl(
    result: EnvironmentRunResult,
    path: str | Path,
    only_passed: bool = True,
    *,
    include_tool_runs: bool = False,
    max_conversations: int | None = MAX_CONVERSATIONS,
    max_bytes: int | None = MAX_BYTES,
) -> ExportReport:
    """As `to_sft_jsonl`, off the event loop."""
    return await asyncio.to_thread(
        to_sft_jsonl,
        result,
        path,
        only_passed,
        include_tool_runs=include_tool_runs,
        max_conversations=max_conversations,
        max_bytes=max_bytes,
    )


def origin(task_id: str | None, position: int, attempt: AttemptResult) -> dict[str, Any]:
    """Where a line came from. `attempt_index` counts from 0, as the seed library's files do."""
    return {
        "task_id": task_id,
        "attempt_index": position,
        "score": None if attempt.score is None else attempt.score.value,
    }


def write_sidecar(
    path: str | Path,
    result: EnvironmentRunResult,
    report: dict[str, Any],
    options: dict[str, Any],
    lines: Sequence[dict[str, Any]],
) -> None:
    """`<path>.meta.json`: fingerprints, counts, options, and the origin of each line."""
    sidecar = {
        "env": result.env_name,
        "env_fingerprint": result.env_fingerprint,
        "policy_fingerprint": result.policy_fingerprint,
        "report": report,
        "options": options,
        "lines": list(lines),
    }
    with atomic_file(f"{path}.meta.json") as file:
        file.write(json.dumps(sidecar, indent=2).encode() + b"\n")


def _candidate(
    attempt: AttemptResult, only_passed: bool, include_tool_runs: bool, report: ExportReport
) -> list[dict[str, Any]] | None:
    """The messages to write, or None with the reason counted."""
    if attempt.score is None:
        return None
    if only_passed and not attempt.score.passed:
        report.n_skipped_failed += 1
        return None
    run = attempt.read_run()
    if attempt.tool_call_limit_hit or (run is not None and run.tool_call_limit_hit):
        # An answer after refused calls was given under duress.
        report.n_skipped_limit_hit += 1
        return None
    if run is not None and uses_tools(run) and not include_tool_runs:
        # The answer without the calls that led to it would teach the model to make things up.
        report.n_skipped_tool_runs += 1
        return None
    messages = None if run is None else conversation(run, with_tools=include_tool_runs)
    if messages is None:
        report.n_skipped_no_text += 1
    return messages


def uses_tools(run: RunOutput) -> bool:
    """Whether a run executed tools or asked for some."""
    return bool(run.tools) or any(message.tool_calls or message.role == "tool" for message in run.messages)


def conversation(run: RunOutput, *, with_tools: bool = False) -> list[dict[str, Any]] | None:
    """The run as chat messages up to its last assistant text; None when there is no such text or no user message.

    History of earlier runs is left out, and so are messages without text, except those that carry tool calls when
    `with_tools` is set.
    """
    own = [message for message in run.messages if not getattr(message, "from_history", False)]
    ends = [index for index, message in enumerate(own) if message.role == "assistant"]
    if not ends or not has_text(own[ends[-1]]):
        return None
    shown = [_shown(message, with_tools) for message in own[: ends[-1] + 1]]
    messages = [message for message in shown if message is not None]
    return messages if any(message["role"] == "user" for message in messages) else None


def has_text(message: Message) -> bool:
    return isinstance(message.content, str) and bool(message.content.strip())


def _shown(message: Message, with_tools: bool) -> dict[str, Any] | None:
    if with_tools and message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.content or ""}
    role = _ROLES.get(message.role)
    if role is None:
        return None
    if with_tools and message.tool_calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        return {"role": role, "content": message.content or "", "tool_calls": calls}
    return {"role": role, "content": message.content} if has_text(message) else None
