"""The fold of the events: what the derived tables say after each event. Pure; no SQL is run here.

The writer and `rebuild` both call `fold` on the events of one transaction, with the rows that these events touch, and
write back the rows that come out. Rules that keep the counts honest:

- A take counts once. The first `attempt_ended` of a take is the one that holds; a later one stays in the log as an
  event (with its body) and changes no row.
- A superseded take counts in `n_superseded` and in nothing else of `n_*`, except that its retries happened; its tokens
  and cost were paid and stay counted, also when it ends only after it was superseded.
- `n_started` - `n_ended` is therefore the number of attempts in flight.
- `n_errors` counts takes that failed to give a verdict: the agent's run ended in an error, or it completed and the
  scorer gave no score. Timeouts and cancelled takes are unscored without being errors.
- What a model took that scored an attempt was paid too: it is part of the run's tokens and cost, and of no attempt's.
- A take that waits to make a call again has `n/limit, reason` as its `detail`: retry n of at most limit.
- Events of a take that was never started change nothing, except `attempt_ended`, which says all there is to know.
  Events of a run that was never created change nothing.
- Reviews and scorings touch no row of `run` or `attempt`: the `seq` of these tells how far a runner got, and people
  come when it is long gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollgrid.store.codec import storable, to_text
from rollgrid.store.entry import Entry
from rollgrid.store.review_fold import REVIEW_KINDS, fold_review
from rollgrid.store.scoring_fold import SCORING_KINDS, ScoringChanges
from rollgrid.store.states import AttemptState, Key, ReviewState, RunState

_COUNTED_INTEGER = 2**53


@dataclass(slots=True)
class Changes:
    """What one transaction writes to the derived tables. `over` are takes that no longer need a live snapshot."""

    runs: list[RunState] = field(default_factory=list[RunState])
    attempts: list[AttemptState] = field(default_factory=list[AttemptState])
    tasks: list[tuple[str, int, str, str, int]] = field(default_factory=list[tuple[str, int, str, str, int]])
    targets: list[tuple[bool, int, str, int]] = field(default_factory=list[tuple[bool, int, str, int]])
    """Whether a task keeps a higher k than the one that comes, that k, the run and the task."""
    claims: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    """What is settled as JSON, the run and the task."""
    answers: list[tuple[bool, str, int, str]] = field(default_factory=list[tuple[bool, str, int, str]])
    over: list[Key] = field(default_factory=list[Key])
    reviews: list[ReviewState] = field(default_factory=list[ReviewState])
    scorings: ScoringChanges = field(default_factory=ScoringChanges)


def touched(entries: Iterable[Entry]) -> tuple[set[str], set[Key]]:
    """Runs and takes whose rows `fold` needs to know."""
    runs: set[str] = set()
    keys: set[Key] = set()
    for entry in entries:
        runs.add(entry.run_id)
        key = entry.key
        if key is not None:
            keys.add(key)
    return runs, keys


def fold(
    entries: Sequence[Entry],
    runs: dict[str, RunState],
    attempts: dict[Key, AttemptState],
    reviews: dict[int, ReviewState],
) -> Changes:
    """The changes that `entries` make to the rows they touch. The given rows are changed in place."""
    changes = Changes()
    changed_reviews: dict[int, None] = {}
    changed_runs: dict[str, None] = {}
    changed_keys: dict[Key, None] = {}
    for entry in entries:
        run = runs.get(entry.run_id)
        if run is None:
            if entry.kind == "run_created":
                runs[entry.run_id] = _create_run(entry, changes)
                changed_runs[entry.run_id] = None
            continue
        if entry.kind in REVIEW_KINDS:
            review = fold_review(entry, attempts, reviews)
            if review is not None:
                changed_reviews[review.seq] = None
            continue
        if entry.kind in SCORING_KINDS:
            changes.scorings.fold(entry)
            continue
        run.seq = entry.seq
        changed_runs[entry.run_id] = None
        on_attempt = _ON_ATTEMPT.get(entry.kind)
        if on_attempt is not None:
            key = entry.key
            assert key is not None
            attempt = attempts.get(key)
            after = on_attempt(run, attempt, entry)
            if after is not None:
                after.seq = entry.seq
                attempts[key] = after
                changed_keys[key] = None
                if after.ended_seq is not None or after.superseded is not None:
                    changes.over.append(key)
        elif entry.kind == "command_answered":
            data = entry.data
            changes.answers.append((data["accepted"], data["answer"], data["command_id"], entry.run_id))
        elif entry.kind in _ON_PLAN:
            _ON_PLAN[entry.kind](run, entry, changes)
        else:
            on_run = _ON_RUN.get(entry.kind)
            if on_run is not None:
                on_run(run, entry)
    changes.runs = [runs[run_id] for run_id in changed_runs]
    changes.attempts = [attempts[key] for key in changed_keys]
    changes.reviews = [reviews[seq] for seq in changed_reviews]
    return changes


def bindable(data: Mapping[str, Any]) -> dict[str, Any]:
    """An event whose JSON is *exact*, as the columns of SQLite can take it: surrogates written out, integers bounded.

    The event itself keeps what it said.
    """
    return {name: _bindable(value) for name, value in data.items()}


def _bindable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-_COUNTED_INTEGER, min(value, _COUNTED_INTEGER))
    return value


def _create_run(entry: Entry, changes: Changes) -> RunState:
    data = entry.data
    tasks = data["tasks"]
    changes.tasks.extend(
        (entry.run_id, index, storable(task["id"]), to_text(task["metadata"]), data["k"])
        for index, task in enumerate(tasks)
    )
    return RunState(
        run_id=entry.run_id,
        env_name=data["env_name"],
        env_fingerprint=data["env_fingerprint"],
        policy_fingerprint=data["policy_fingerprint"],
        fingerprint_parts=to_text(data["fingerprint_parts"]),
        k=data["k"],
        n_tasks=len(tasks),
        n_planned=len(tasks) * data["k"],
        plan_seq=0,
        model=data["model"],
        model_kind=data["model_kind"],
        timeout_seconds=data["timeout_seconds"],
        source=to_text(data["source"]),
        author=data["author"],
        host=data["host"],
        state="running",
        stopped_early=None,
        reason=None,
        created_at=entry.at,
        started_at=None,
        ended_at=None,
        active_seconds=0.0,
        session=0,
        concurrency=0,
        storm=None,
        n_started=0,
        n_ended=0,
        n_scored=0,
        n_passed=0,
        n_errors=0,
        n_superseded=0,
        n_retries=0,
        input_tokens=0,
        output_tokens=0,
        cost=None,
        pid=None,
        seq=entry.seq,
        created_seq=entry.seq,
    )


def _run_extended(run: RunState, entry: Entry, changes: Changes) -> None:
    run.k = entry.data["k"]
    run.n_planned = max(run.n_planned, run.n_tasks * run.k)
    run.plan_seq = entry.seq
    changes.targets.extend((True, run.k, entry.run_id, task) for task in range(run.n_tasks))


def _targets_changed(run: RunState, entry: Entry, changes: Changes) -> None:
    data = entry.data
    run.k, run.n_planned, run.plan_seq = data["k"], data["n_planned"], entry.seq
    changes.targets.extend((False, k, entry.run_id, task) for task, k in data["targets"])


def _task_settled(run: RunState, entry: Entry, changes: Changes) -> None:
    data = entry.data
    run.plan_seq = entry.seq
    claim = {name: data[name] for name in ("claim", "says", "evidence", "n_passed", "n_scored")}
    changes.claims.append((to_text(claim), entry.run_id, data["position"]))


def _session_started(run: RunState, entry: Entry) -> None:
    data = entry.data
    run.session = data["session"]
    run.concurrency = data["concurrency"]
    run.pid = data["pid"]
    run.host = data["host"]
    if run.started_at is None:
        run.started_at = entry.at
    run.state = "running"
    run.stopped_early = run.reason = run.ended_at = run.storm = None


def _session_ended(run: RunState, entry: Entry) -> None:
    run.active_seconds += entry.data["active_seconds"]


def _run_state_changed(run: RunState, entry: Entry) -> None:
    data = entry.data
    run.state = data["state"]
    run.stopped_early = data["stopped_early"]
    run.reason = data["reason"]
    run.ended_at = entry.at if run.state in ("interrupted", "stopped", "finished") else None


def _concurrency_changed(run: RunState, entry: Entry) -> None:
    run.concurrency = entry.data["limit"]


def _storm_called(run: RunState, entry: Entry) -> None:
    run.storm = entry.data["signature"]


def _storm_cleared(run: RunState, entry: Entry) -> None:
    run.storm = None


def _new_attempt(run: RunState, entry: Entry, started_at: float) -> AttemptState:
    run.n_started += 1
    data = entry.data
    return AttemptState(
        run_id=entry.run_id,
        task=data["task"],
        attempt=data["attempt"],
        take=data["take"],
        phase="model",
        detail=None,
        stop_reason=None,
        passed=None,
        value=None,
        reason=None,
        error=None,
        error_type=None,
        error_signature=None,
        status=None,
        started_at=started_at,
        ended_at=None,
        duration_seconds=None,
        retry_at=None,
        input_tokens=0,
        output_tokens=0,
        cost=None,
        retries=0,
        n_tools=0,
        superseded=None,
        seq=entry.seq,
        ended_seq=None,
    )


def _attempt_started(run: RunState, attempt: AttemptState | None, entry: Entry) -> AttemptState | None:
    return _new_attempt(run, entry, entry.at) if attempt is None else None


def _attempt_retrying(run: RunState, attempt: AttemptState | None, entry: Entry) -> AttemptState | None:
    if attempt is None or attempt.ended_seq is not None:
        return None
    data = entry.data
    attempt.phase = "retrying"
    attempt.detail = f"{data['n']}/{data['limit']}, {data['reason']}"
    attempt.status = data["status"]
    attempt.retry_at = entry.at + data["wait_seconds"]
    attempt.retries += 1
    run.n_retries += 1
    return attempt


def _attempt_phase(run: RunState, attempt: AttemptState | None, entry: Entry) -> AttemptState | None:
    if attempt is None or attempt.ended_seq is not None:
        return None
    attempt.phase = entry.data["phase"]
    attempt.detail = entry.data["detail"]
    attempt.status = attempt.retry_at = None
    return attempt


def _attempt_ended(run: RunState, attempt: AttemptState | None, entry: Entry) -> AttemptState | None:
    data = entry.data
    if attempt is None:
        attempt = _new_attempt(run, entry, entry.at - data["duration_seconds"])
    elif attempt.ended_seq is not None:
        return None
    attempt.phase = "ended"
    attempt.detail = attempt.retry_at = None
    attempt.stop_reason = data["stop_reason"]
    passed = data["passed"]
    attempt.passed = None if passed is None else int(passed)
    attempt.value = data["value"]
    attempt.reason = data["reason"]
    attempt.error = data["error"]
    attempt.error_type = data["error_type"]
    attempt.error_signature = data["error_signature"]
    attempt.status = data["status"]
    attempt.ended_at = entry.at
    attempt.duration_seconds = data["duration_seconds"]
    attempt.input_tokens = data["input_tokens"]
    attempt.output_tokens = data["output_tokens"]
    attempt.cost = data["cost"]
    # A runner that told of each retry has them counted already.
    untold = max(0, data["retries"] - attempt.retries)
    attempt.retries += untold
    attempt.n_tools = data["n_tools"]
    attempt.ended_seq = entry.seq
    run.n_retries += untold
    # Logs from before scorers were counted do not have their fields.
    run.input_tokens += attempt.input_tokens + data.get("scorer_input_tokens", 0)
    run.output_tokens += attempt.output_tokens + data.get("scorer_output_tokens", 0)
    for cost in (attempt.cost, data.get("scorer_cost")):
        if cost is not None:
            run.cost = (run.cost or 0.0) + cost
    if attempt.superseded is None:
        _count_ended(run, attempt, 1)
    return attempt


def _attempt_superseded(run: RunState, attempt: AttemptState | None, entry: Entry) -> AttemptState | None:
    if attempt is None or attempt.superseded is not None:
        return None
    attempt.superseded = entry.data["why"]
    run.n_superseded += 1
    run.n_started -= 1
    if attempt.ended_seq is not None:
        _count_ended(run, attempt, -1)
    return attempt


def _count_ended(run: RunState, attempt: AttemptState, by: int) -> None:
    run.n_ended += by
    if attempt.passed is not None:
        run.n_scored += by
        if attempt.passed:
            run.n_passed += by
    elif attempt.stop_reason in ("error", "completed"):
        run.n_errors += by


_ON_RUN = {
    "session_started": _session_started,
    "session_ended": _session_ended,
    "run_state_changed": _run_state_changed,
    "concurrency_changed": _concurrency_changed,
    "storm_called": _storm_called,
    "storm_cleared": _storm_cleared,
}

_ON_PLAN = {"run_extended": _run_extended, "targets_changed": _targets_changed, "task_settled": _task_settled}

_ON_ATTEMPT = {
    "attempt_started": _attempt_started,
    "attempt_retrying": _attempt_retrying,
    "attempt_phase": _attempt_phase,
    "attempt_ended": _attempt_ended,
    "attempt_superseded": _attempt_superseded,
}
