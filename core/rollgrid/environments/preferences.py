"""Passing against failing attempts of one task as preference data."""

import asyncio
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.export import conversation, origin, uses_tools, write_sidecar
from rollgrid.environments.files import atomic_file, json_bytes
from rollgrid.environments.result import EnvironmentRunResult, TaskResult

__all__ = ["PreferenceReport", "ato_preference_jsonl", "to_preference_jsonl"]

_Side = tuple[int, AttemptResult, list[dict[str, Any]], dict[str, Any]]


@dataclass
class PreferenceReport:
    """What was written and what was not. The `n_skipped_...` count scored attempts that cannot be in a pair."""

    n_written: int = 0
    n_tasks_without_pair: int = 0
    n_skipped_tool_runs: int = 0
    n_skipped_limit_hit: int = 0
    n_skipped_no_text: int = 0
    n_skipped_same_text: int = 0
    n_dropped_over_cap: int = 0


def to_preference_jsonl(
    result: EnvironmentRunResult, path: str | Path, *, max_pairs_per_task: int | None = None
) -> PreferenceReport:
    """Write `{"prompt": [...], "chosen": [...], "rejected": [...]}` lines, each a list of chat messages.

    `prompt` is what both attempts were asked, `chosen` the answer of one that passed, `rejected` that of one that
    failed. The first passing attempt of a task is paired with its first failing one, the second with the second, and
    so on, so no attempt stands in two pairs. Attempts that used tools, hit the tool call limit or gave no text are
    left out, and so is a pair whose texts are equal or whose prompts differ. `<path>.meta.json` tells where each line
    came from.
    """
    report = PreferenceReport()
    lines: list[dict[str, Any]] = []
    with atomic_file(path) as file:
        for one in result.task_results:
            written = 0
            for chosen, rejected in _pairs(one, report):
                if max_pairs_per_task is not None and written >= max_pairs_per_task:
                    report.n_dropped_over_cap += 1
                    continue
                row = {"prompt": chosen[2], "chosen": [chosen[3]], "rejected": [rejected[3]]}
                file.write(json_bytes(row) + b"\n")
                written += 1
                sides = {"chosen": chosen, "rejected": rejected}
                lines.append({name: origin(one.task.id, side[0], side[1]) for name, side in sides.items()})
            report.n_written += written
            report.n_tasks_without_pair += not written
    write_sidecar(path, result, asdict(report), {"max_pairs_per_task": max_pairs_per_task}, lines)
    return report


async def ato_preference_jsonl(
    result: EnvironmentRunResult, path: str | Path, *, max_pairs_per_task: int | None = None
) -> PreferenceReport:
    """As `to_preference_jsonl`, off the event loop."""
    return await asyncio.to_thread(to_preference_jsonl, result, path, max_pairs_per_task=max_pairs_per_task)


def _pairs(one: TaskResult, report: PreferenceReport) -> list[tuple[_Side, _Side]]:
    passed: list[_Side] = []
    failed: list[_Side] = []
    for position, attempt in enumerate(one.read_attempts()):
        if attempt.score is None:
            continue
        side = _side(position, attempt, report)
        if side is not None:
            (passed if attempt.score.passed else failed).append(side)
    pairs: list[tuple[_Side, _Side]] = []
    for chosen, rejected in zip(passed, failed, strict=False):
        if chosen[2] != rejected[2] or chosen[3] == rejected[3]:
            report.n_skipped_same_text += chosen[3] == rejected[3]
            continue
        pairs.append((chosen, rejected))
    return pairs


def _side(position: int, attempt: AttemptResult, report: PreferenceReport) -> _Side | None:
    run = attempt.read_run()
    if attempt.tool_call_limit_hit or (run is not None and run.tool_call_limit_hit):
        report.n_skipped_limit_hit += 1
        return None
    if run is not None and uses_tools(run):
        report.n_skipped_tool_runs += 1
        return None
    messages = None if run is None else conversation(run)
    if messages is None:
        report.n_skipped_no_text += 1
        return None
    return position, attempt, messages[:-1], messages[-1]
