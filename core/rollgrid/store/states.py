"""The rows of the derived tables while they are being folded."""

from dataclasses import dataclass
from operator import attrgetter

Key = tuple[str, int, int, int]
"""run_id, task, attempt, take."""


@dataclass(slots=True)
class RunState:
    """A row of table `run`. The fields are its columns, in order."""

    run_id: str
    env_name: str
    env_fingerprint: str | None
    policy_fingerprint: str | None
    fingerprint_parts: str
    k: int
    n_tasks: int
    n_planned: int
    plan_seq: int
    model: str
    model_kind: str
    timeout_seconds: float
    source: str
    author: str
    host: str
    state: str
    stopped_early: str | None
    reason: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    active_seconds: float
    session: int
    concurrency: int
    storm: str | None
    n_started: int
    n_ended: int
    n_scored: int
    n_passed: int
    n_errors: int
    n_superseded: int
    n_retries: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    pid: int | None
    seq: int
    created_seq: int


@dataclass(slots=True)
class AttemptState:
    """A row of table `attempt`. The fields are its columns, in order. `passed` is 0, 1 or None."""

    run_id: str
    task: int
    attempt: int
    take: int
    phase: str
    detail: str | None
    stop_reason: str | None
    passed: int | None
    value: float | None
    reason: str | None
    error: str | None
    error_type: str | None
    error_signature: str | None
    status: int | None
    started_at: float
    ended_at: float | None
    duration_seconds: float | None
    retry_at: float | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    retries: int
    n_tools: int
    superseded: str | None
    seq: int
    ended_seq: int | None


@dataclass(slots=True)
class ReviewState:
    """A row of table `review`. The fields are its columns, in order. `passed` is 0, 1 or None, `blind` 0 or 1."""

    seq: int
    run_id: str
    task: int
    attempt: int
    take: int
    at: float
    author: str
    verdict: str | None
    passed: int | None
    label: str | None
    note: str | None
    blind: int
    undone: int | None
    touched: int


RUN_COLUMNS = tuple(RunState.__slots__)
ATTEMPT_COLUMNS = tuple(AttemptState.__slots__)
REVIEW_COLUMNS = tuple(ReviewState.__slots__)
run_values = attrgetter(*RUN_COLUMNS)
attempt_values = attrgetter(*ATTEMPT_COLUMNS)
review_values = attrgetter(*REVIEW_COLUMNS)
