"""What is left of a run that was stopped, and how the log is put in order before it goes on."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.task import Task
from rollgrid.errors import RunError
from rollgrid.runner.prepare import Prepared
from rollgrid.runner.schedule import Slot
from rollgrid.scorer.base import Score
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded, AttemptSuperseded, Event, RunExtended
from rollgrid.store.reader import LogReader, read_transcript
from rollgrid.store.rows import AttemptRow, RunRow

Key = tuple[int, int]


async def prepare_resume(
    fresh: Prepared, reader: LogReader, log: Path, row: RunRow, *, author: str, k: int | None = None
) -> Prepared:
    """`fresh` is the environment as it is now; `row` the run as the log has it.

    Raises `RunError` when the environment is not the one that the run was started with: its attempts would not belong
    together. `k` may be larger than before: then every task gets more attempts.
    """
    _refuse_changed(fresh, row)
    new_k = max(row.k, k or row.k)
    tasks = _tasks_of_run(fresh.tasks, [task.id for task in await reader.tasks(row.run_id)])
    rows = await reader.attempts(row.run_id)
    current = current_takes(rows)
    kept = {
        key: _result_of(log, row.run_id, attempt)
        for key, attempt in current.items()
        if attempt.phase == "ended" and attempt.passed is not None
    }
    takes = {key: take for key, take in _last_takes(rows).items()}
    earlier: list[tuple[Event, bytes | None]] = []
    if new_k != row.k:
        earlier.append((RunExtended(run_id=row.run_id, at=time.time(), k=new_k, author=author), None))
    for key, attempt in current.items():
        if key not in kept:
            if attempt.phase != "ended":
                live = await reader.live(row.run_id, attempt.task, attempt.attempt, attempt.take)
                earlier.append(_lost(row.run_id, attempt, live))
            earlier.append((_superseded(row.run_id, attempt, author), None))
    slots = tuple(
        Slot(task, attempt, takes.get((task, attempt), 0) + 1)
        for task in range(len(tasks))
        for attempt in range(1, new_k + 1)
        if (task, attempt) not in kept
    )
    return replace(
        fresh,
        tasks=tasks,
        k=new_k,
        slots=slots,
        takes=takes,
        kept=kept,
        earlier=tuple(earlier),
        session=row.session + 1,
        active_seconds=row.active_seconds,
        seed=row.source.get("seed"),
    )


def current_takes(rows: Sequence[AttemptRow]) -> dict[Key, AttemptRow]:
    """The take of each attempt that counts: the newest that was not superseded."""
    current: dict[Key, AttemptRow] = {}
    for row in rows:
        key = (row.task, row.attempt)
        if row.superseded is None and (key not in current or current[key].take < row.take):
            current[key] = row
    return current


def _last_takes(rows: Sequence[AttemptRow]) -> dict[Key, int]:
    takes: dict[Key, int] = {}
    for row in rows:
        key = (row.task, row.attempt)
        takes[key] = max(row.take, takes.get(key, 0))
    return takes


def _refuse_changed(fresh: Prepared, row: RunRow) -> None:
    if fresh.env_fingerprint is not None and fresh.env_fingerprint == row.env_fingerprint:
        if fresh.policy_fingerprint == row.policy_fingerprint:
            return
        raise RunError(
            f"the model of run {row.run_id} has changed since it was started",
            "resume with the model it had, or start a new run",
        )
    if row.env_fingerprint is None or fresh.env_fingerprint is None:
        raise RunError(
            f"run {row.run_id} cannot be resumed: its environment has no fingerprint to show that it is the same",
            "start a new run; `rollgrid show RUN` says why there is none",
        )
    names = sorted({*fresh.fingerprint_parts, *row.fingerprint_parts})
    changed = [name for name in names if fresh.fingerprint_parts.get(name) != row.fingerprint_parts.get(name)]
    what = ", ".join(changed) or "something"
    raise RunError(
        f"the environment of run {row.run_id} has changed since it was started ({what})",
        "undo the change, or start a new run",
    )


def _tasks_of_run(tasks: Sequence[Task], ids: Sequence[str]) -> tuple[Task, ...]:
    by_id = {task.id: task for task in tasks}
    missing = [task_id for task_id in ids if task_id not in by_id]
    if missing:
        raise RunError(f"the environment has no task {missing[0]} any more", "undo the change, or start a new run")
    return tuple(by_id[task_id] for task_id in ids)


def _result_of(log: Path, run_id: str, row: AttemptRow) -> AttemptResult:
    def load() -> RunOutput | None:
        data = read_transcript(log, run_id, row.task, row.attempt, row.take)
        return RunOutput.from_dict(data) if data else None

    return AttemptResult(
        run=None,
        score=Score(row.value, row.passed, row.reason) if row.value is not None and row.passed is not None else None,
        stop_reason=StopReason(row.stop_reason or "error"),
        duration_seconds=row.duration_seconds or 0.0,
        error=row.error,
        error_type=row.error_type,
        status=row.status,
        index=row.attempt,
        take=row.take,
        load=load,
    )


def _lost(run_id: str, row: AttemptRow, live: Mapping[str, Any] | None) -> tuple[Event, bytes]:
    """End a take whose runner died under it, with what the log had last seen of it."""
    metrics: Mapping[str, Any] = (live or {}).get("metrics") or {}
    now = time.time()
    event = AttemptEnded(
        run_id=run_id,
        at=now,
        task=row.task,
        attempt=row.attempt,
        take=row.take,
        stop_reason="cancelled",
        error="the runner ended during this attempt",
        error_type="RunnerLost",
        duration_seconds=0.0,
        input_tokens=int(metrics.get("input_tokens") or 0),
        output_tokens=int(metrics.get("output_tokens") or 0),
        retries=row.retries,
    )
    return event, encode(dict(live or {}))


def _superseded(run_id: str, row: AttemptRow, author: str) -> AttemptSuperseded:
    return AttemptSuperseded(
        run_id=run_id,
        at=time.time(),
        task=row.task,
        attempt=row.attempt,
        take=row.take,
        why="resume",
        author=author,
    )
