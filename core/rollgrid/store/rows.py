"""The rows that readers of the log get: plain tuples, cheap to make by the hundred thousand."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class RunRow(NamedTuple):
    """One run as the projection has it.

    `state` is the last state written; `alive` says whether a runner holds the run's lease now. A run whose state is
    `running`, `paused` or `stopping` with `alive` false was killed; `effective_state` calls it `dead`.
    `k` is what a task wants when nothing else was said of it, `n_planned` the attempts that the finished run has, and
    `plan_seq` the event that last changed how many attempts the tasks want or settled one (0: none did).
    Times are seconds since the epoch, durations seconds, cost US dollars (None when no price is known).
    """

    run_id: str
    env_name: str
    env_fingerprint: str | None
    policy_fingerprint: str | None
    fingerprint_parts: dict[str, str]
    k: int
    n_tasks: int
    n_planned: int
    plan_seq: int
    model: str
    model_kind: str
    timeout_seconds: float
    source: dict[str, Any]
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
    alive: bool
    pid: int | None
    seq: int

    @property
    def effective_state(self) -> str:
        """`state`, or `dead` when the run was in progress and its runner is gone."""
        return "dead" if self.state in {"running", "paused", "stopping"} and not self.alive else self.state

    @property
    def until_decided(self) -> bool:
        """Whether attempts are made until something is settled of each task, instead of a fixed number."""
        return self.source.get("sampling") is not None

    @property
    def k_text(self) -> str:
        """`k`, with a sign where tasks want more (`8+`) or fewer (`8-`) than that."""
        usual = self.n_tasks * self.k
        return f"{self.k}{'+' if self.n_planned > usual else '-' if self.n_planned < usual else ''}"


NO_CLAIMS = frozenset({"out of reach", "too close", "unmeasured"})
"""That nothing is claimed of a task, and why not."""


class Settled(NamedTuple):
    """What was settled of a task by looking after every attempt; the fields are those of the event `TaskSettled`."""

    claim: str
    says: str
    evidence: float
    n_passed: int
    n_scored: int

    @property
    def is_claim(self) -> bool:
        """Whether something is known of the task, and not only that it will not be."""
        return self.claim not in NO_CLAIMS


class TaskRow(NamedTuple):
    """`k` is how many attempts this task wants; `settled` what is decided of it where that was asked for."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    id: str
    metadata: dict[str, Any]
    k: int
    settled: Settled | None = None


class AttemptRow(NamedTuple):
    """One take of one attempt.

    Phases of a running one: `model`, `tool`, `scoring`, `waiting`, `retrying`; ended: `ended`.

    While it waits to make a call again, `retry_at` says until when, `status` holds the HTTP status, and `detail` is
    `n/limit, reason`: retry n of at most limit.
    """

    task: int
    attempt: int
    take: int
    phase: str
    detail: str | None
    stop_reason: str | None
    passed: bool | None
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


class ReviewRow(NamedTuple):
    """What one person said of one take, at one time.

    `verdict` is `agree` or `disagree` with the score of the take, None where none was given; `passed` is what the take
    deserves by this review. `undone` is the event that took it back, `touched` the last event that changed the row.
    """

    seq: int
    task: int
    attempt: int
    take: int
    at: float
    author: str
    verdict: str | None
    passed: bool | None
    label: str | None
    note: str | None
    blind: bool
    undone: int | None
    touched: int


def standing_reviews(rows: Iterable[ReviewRow]) -> list[ReviewRow]:
    """The reviews that count, oldest first: of each take and author the newest that was not taken back."""
    standing: dict[tuple[int, int, int, str], ReviewRow] = {}
    for row in rows:
        if row.undone is None:
            key = (row.task, row.attempt, row.take, row.author)
            if key not in standing or standing[key].seq < row.seq:
                standing[key] = row
    return sorted(standing.values(), key=lambda row: row.seq)


class EventRow(NamedTuple):
    """`data` is the event's own JSON, not validated again."""

    seq: int
    run_id: str
    at: float
    kind: str
    task: int | None
    attempt: int | None
    take: int | None
    data: dict[str, Any]


class CommandRow(NamedTuple):
    command_id: int
    run_id: str
    at: float
    author: str
    command: str
    args: dict[str, Any]
    accepted: bool | None
    answer: str | None
