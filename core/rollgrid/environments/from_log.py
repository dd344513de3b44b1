"""A result out of the log, with transcripts that are read when they are asked for."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, cast

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult, StopReason, Usage
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.environments.task import Task
from rollgrid.errors import RunError
from rollgrid.scorer.base import Score
from rollgrid.store.reader import LogReader, read_transcript
from rollgrid.store.rows import AttemptRow, RunRow

__all__ = ["aresult_from_log", "result_from_log"]


def result_from_log(path: Path, run_id: str) -> EnvironmentRunResult:
    """The run as it stands in the log: every attempt's newest take that was not superseded and has ended.

    A transcript is read when `run` of its attempt is first asked for; the score's `detail` comes with it. Raises
    `RunError` when there is no such run and `LogError` when the log cannot be read. Inside a running event loop this
    works too, but blocks it; await `aresult_from_log` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(aresult_from_log(path, run_id))
    return _in_thread(aresult_from_log(path, run_id))


async def aresult_from_log(path: Path, run_id: str) -> EnvironmentRunResult:
    """As `result_from_log`."""
    async with aclosing(await LogReader.open(path)) as reader:
        row = await reader.run(run_id)
        if row is None:
            raise RunError(f"no run {run_id} in {path}", "`rollgrid runs` lists them")
        tasks: list[Task] = []
        for one in await reader.tasks(run_id):
            text, expected = await reader.task_text(run_id, one.index)
            tasks.append(Task(text, expected, one.id, one.metadata))
        current = _current(await reader.attempts(run_id))
    return EnvironmentRunResult(
        env_name=row.env_name,
        k=row.k,
        env_fingerprint=row.env_fingerprint,
        policy_fingerprint=row.policy_fingerprint,
        task_results=tuple(
            TaskResult(
                task,
                tuple(
                    _attempt(path, run_id, current[index, number])
                    for number in range(1, row.k + 1)
                    if (index, number) in current
                ),
            )
            for index, task in enumerate(tasks)
        ),
        duration_seconds=row.active_seconds,
        stopped_early=_stopped_early(row),
        fingerprint_parts=row.fingerprint_parts,
        about=_about(row),
    )


def _current(rows: list[AttemptRow]) -> dict[tuple[int, int], AttemptRow]:
    """The take that counts of each attempt."""
    current: dict[tuple[int, int], AttemptRow] = {}
    for row in rows:
        if row.superseded is not None or row.stop_reason is None:
            continue
        key = (row.task, row.attempt)
        if key not in current or current[key].take < row.take:
            current[key] = row
    return current


def _attempt(path: Path, run_id: str, row: AttemptRow) -> AttemptResult:
    score = None
    if row.passed is not None and row.value is not None:
        score = Score(row.value, row.passed, row.reason)
    attempt = AttemptResult(
        run=None,
        score=score,
        stop_reason=StopReason(row.stop_reason or "error"),
        duration_seconds=row.duration_seconds or 0.0,
        error=row.error,
        error_type=row.error_type,
        index=row.attempt,
        take=row.take,
        status=row.status,
        usage=Usage(row.input_tokens, row.output_tokens, row.cost),
    )
    attempt._load = partial(_load, path, run_id, row, attempt)
    return attempt


def _load(path: Path, run_id: str, row: AttemptRow, attempt: AttemptResult) -> RunOutput | None:
    """The transcript, and with it what lies beside it: the score's detail and whether the tool limit was hit."""
    data = read_transcript(path, run_id, row.task, row.attempt, row.take)
    if data is None:
        return None
    kept = data.pop("score", None)
    if attempt.score is not None and isinstance(kept, dict):
        detail = cast("dict[str, Any]", kept).get("detail")
        attempt.score.detail = cast("dict[str, Any]", detail) if isinstance(detail, dict) else None
    run = RunOutput.from_dict(data)
    attempt.tool_call_limit_hit = attempt.tool_call_limit_hit or run.tool_call_limit_hit
    return run


def _in_thread(work: Coroutine[Any, Any, EnvironmentRunResult]) -> EnvironmentRunResult:
    """Run a coroutine to its end from inside another event loop, which waits."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


def _stopped_early(row: RunRow) -> str | None:
    if row.stopped_early is not None:
        return row.stopped_early
    return row.effective_state if row.effective_state in ("dead", "interrupted", "stopped") else None


def _about(row: RunRow) -> dict[str, Any]:
    about = {
        "run_id": row.run_id,
        "model": row.model,
        "model_kind": row.model_kind,
        "author": row.author,
        "created_at": row.created_at,
        "cost": row.cost,
    }
    return {key: value for key, value in about.items() if value is not None}
