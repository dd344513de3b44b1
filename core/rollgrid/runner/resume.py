"""What is left of a run that was stopped, and how the log is put in order before it goes on."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rollgrid.analysis.sequential import Claim
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.from_log import LogTranscripts
from rollgrid.environments.task import Task
from rollgrid.errors import RunError
from rollgrid.runner.budget import Spent
from rollgrid.runner.prepare import Prepared
from rollgrid.runner.sampling import SamplingPlan
from rollgrid.runner.schedule import Slot
from rollgrid.runner.targets import Targets, more_of, refuse_more
from rollgrid.scorer.base import Score
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded, AttemptSuperseded, Event, SessionEnded, TargetsChanged
from rollgrid.store.logged import LoggedRun
from rollgrid.store.reader import LogReader
from rollgrid.store.rows import AttemptRow, RunRow, TaskRow

Key = tuple[int, int]


async def prepare_resume(
    fresh: Prepared,
    reader: LogReader,
    log: Path,
    row: RunRow,
    *,
    author: str,
    k: int | None = None,
    more: int | None = None,
    only: Collection[str] | None = None,
    sampling: SamplingPlan | None = None,
) -> Prepared:
    """`fresh` is the environment as it is now; `row` the run as the log has it.

    `only` are ids of the tasks to go on with, None for all. They want at least `k` attempts from now on, where that is
    given. `more`: so many attempts of each further to what it has, and nothing else is run. `sampling`: attempts are
    made until that is decided, and tasks of which it is are left alone. Raises `RunError` when the environment is not
    the one that the run was started with (its attempts would not belong together), for a smaller `k` and for a task
    that the run does not have.
    """
    _refuse_changed(fresh, row)
    known = await reader.tasks(row.run_id)
    tasks = _tasks_of_run(fresh.tasks, [task.id for task in known])
    claims = {} if sampling is None else _claims(row, known, sampling)
    before = tuple(task.k for task in known)
    rows = await reader.attempts(row.run_id)
    current = current_takes(rows)
    done = set(claims) - {attempt.task for attempt in current.values() if attempt.phase != "ended"}
    wanted = _indices(row, tasks, only) - done
    targets = _grown(row, before, None if only is None else sorted(wanted), k, more)
    transcripts = LogTranscripts(LoggedRun(log, row.run_id))
    kept = {
        key: _result_of(transcripts, attempt)
        for key, attempt in current.items()
        if attempt.phase == "ended" and (attempt.passed is not None or more is not None or attempt.task not in wanted)
    }
    takes = _last_takes(rows)
    earlier: list[tuple[Event, bytes | None]] = []
    unclosed = await unclosed_session(reader, row)
    if unclosed is not None:
        earlier.append((unclosed, None))
    if targets.k != row.k or tuple(targets) != before:
        earlier.append((_targets_changed(row.run_id, targets, before, author), None))
    lost: list[AttemptEnded] = []
    for key, attempt in current.items():
        if key not in kept:
            if attempt.phase != "ended":
                live = await reader.live(row.run_id, attempt.task, attempt.attempt, attempt.take)
                event, body = _lost(row.run_id, attempt, live)
                lost.append(event)
                earlier.append((event, body))
            earlier.append((_superseded(row.run_id, attempt, author), None))
    missing = [
        (task, attempt)
        for task in range(len(tasks))
        for attempt in range(1, targets[task] + 1)
        if (task, attempt) not in kept or kept[task, attempt].score is None
    ]
    now = {key for key in missing if key[0] in wanted and (more is None or key[1] > before[key[0]])}
    slots = tuple(Slot(*key, takes.get(key, 0) + 1) for key in missing if key in now)
    return replace(
        fresh,
        tasks=tasks,
        k=targets.k,
        slots=slots,
        targets=tuple(targets),
        takes=takes,
        kept=kept,
        earlier=tuple(earlier),
        session=row.session + 1,
        as_of=row.seq,
        active_seconds=row.active_seconds + (unclosed.active_seconds if unclosed is not None else 0.0),
        seed=row.source.get("seed"),
        spent=_spent(row, lost),
        known=tuple(
            (one.task, Spent(one.cost or 0.0, one.input_tokens + one.output_tokens, one.duration_seconds or 0.0))
            for one in rows
            if one.phase == "ended"
        ),
        sampling=sampling,
        claims=claims,
        is_restricted=any(
            key not in now and key[0] not in done and (more is None or key not in kept) for key in missing
        ),
    )


def _claims(row: RunRow, tasks: Sequence[TaskRow], sampling: SamplingPlan) -> dict[int, Claim]:
    """What is decided, without what a larger number of attempts than the run was started with may still decide."""
    found = {task.index: Claim(task.settled.claim) for task in tasks if task.settled is not None}
    if sampling.max_k > SamplingPlan.from_dict(row.source.get("sampling") or {}).max_k:
        return {task: claim for task, claim in found.items() if claim is not Claim.too_close}
    return found


def _grown(row: RunRow, before: Sequence[int], tasks: Sequence[int] | None, k: int | None, more: int | None) -> Targets:
    """How many attempts each task wants from now on, when at least `k` or `more` of these `tasks` (None: all) do."""
    targets = Targets(row.k, before)
    if more is not None:
        refusal = refuse_more(more)
        if refusal is not None:
            raise RunError(refusal)
        targets.change(*more_of(before, row.k, more, tasks))
    elif k is not None:
        has = row.k if tasks is None else max((before[task] for task in tasks), default=row.k)
        if k < has:
            raise RunError(f"run {row.run_id} has k={has} already, and k can only grow", f"give -k {has} or more")
        chosen = range(len(before)) if tasks is None else tasks
        targets.change({task: max(k, before[task]) for task in chosen}, k if tasks is None else None)
    return targets


def _targets_changed(run_id: str, targets: Targets, before: Sequence[int], author: str) -> TargetsChanged:
    return TargetsChanged(
        run_id=run_id,
        at=time.time(),
        targets=tuple((task, n) for task, n in enumerate(targets) if n != before[task]),
        k=targets.k,
        n_planned=targets.total,
        reason="asked for",
        author=author,
    )


async def unclosed_session(reader: LogReader, row: RunRow) -> SessionEnded | None:
    """The end of the last session, where its runner was killed before it could write it.

    It lasted until the last sign of life in the log: an event, or a heartbeat of the lease that it left behind.
    """
    marks = await reader.events(
        row.run_id, kinds=("session_started", "session_ended", "run_state_changed"), limit=1_000_000
    )
    started = next((event for event in reversed(marks) if event.kind == "session_started"), None)
    if started is None or any(event.kind == "session_ended" and event.seq > started.seq for event in marks):
        return None
    until = max(started.at, await reader.last_sign(row.run_id))
    paused_at: float | None = None
    paused = 0.0
    for event in marks:
        if event.seq < started.seq or event.kind != "run_state_changed":
            continue
        if event.data["state"] == "paused" and paused_at is None:
            paused_at = event.at
        elif event.data["state"] != "paused" and paused_at is not None:
            paused, paused_at = paused + event.at - paused_at, None
    if paused_at is not None:
        paused += until - paused_at
    return SessionEnded(
        run_id=row.run_id,
        at=until,
        session=int(started.data["session"]),
        active_seconds=max(0.0, until - started.at - paused),
    )


def _indices(row: RunRow, tasks: Sequence[Task], only: Collection[str] | None) -> set[int]:
    if only is None:
        return set(range(len(tasks)))
    known = {task.id: index for index, task in enumerate(tasks)}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise RunError(f"run {row.run_id} has no task {unknown[0]}", f"rollgrid show {row.run_id} lists its tasks")
    return {known[name] for name in only}


def _spent(row: RunRow, lost: Sequence[AttemptEnded]) -> Spent:
    """What was paid so far, with what is known of takes whose end the log does not have yet."""
    cost = (row.cost or 0.0) + sum(event.cost or 0.0 for event in lost)
    tokens = row.input_tokens + row.output_tokens + sum(event.input_tokens + event.output_tokens for event in lost)
    return Spent(cost, tokens)


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
        now = fresh.model.id if fresh.model is not None else None
        what = f"it was {row.model}, it is {now}" if now not in (None, row.model) else "its address or its parameters"
        raise RunError(
            f"the model of run {row.run_id} has changed since it was started ({what})",
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


def _result_of(transcripts: LogTranscripts, row: AttemptRow) -> AttemptResult:
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
        source=transcripts,
        place=row.task,
    )


def _lost(run_id: str, row: AttemptRow, live: Mapping[str, Any] | None) -> tuple[AttemptEnded, bytes]:
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
        cached_tokens=int(metrics.get("cache_read_tokens") or 0),
        reasoning_tokens=int(metrics.get("reasoning_tokens") or 0),
        cost=metrics.get("cost"),
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
