"""What a run writes to the log: one pydantic model per kind of event.

An event is a fact that happened; it is appended and never changed. The projection tables (`run`, `attempt`, `review`)
are the fold of the events and can be rebuilt from them. Events are validated where they are made, in the runner (a
review, where the person reviews); a reader works on the projection and never validates.

Keys: `run_id`, then `task` (0-based position in the run's task list), `attempt` (1-based, up to k) and `take`
(1-based: the first time this attempt is run is take 1; each retry or resume of it is a further take. At most one take
of an attempt counts, the newest that was not superseded).
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

EVENT_VERSION = 1


class Event(BaseModel):
    """What every event carries. `at` is seconds since the epoch, by the runner's wall clock."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    run_id: str
    at: float
    v: int = EVENT_VERSION


class TaskInfo(BaseModel):
    """A task as the log keeps it. `input` and `expected` are stored compressed, apart from the event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    input: str
    expected: Any = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class RunCreated(Event):
    kind: Literal["run_created"] = "run_created"
    env_name: str
    env_fingerprint: str | None
    policy_fingerprint: str | None
    fingerprint_parts: dict[str, str] = Field(default_factory=dict)
    """Digest of each part of the environment fingerprint by name (tasks, scorer, prompt, tools, ...)."""
    k: int
    tasks: tuple[TaskInfo, ...]
    model: str
    model_kind: Literal["real", "local", "simulated", "foreign"] = "real"
    timeout_seconds: float
    source: dict[str, Any] = Field(default_factory=dict)
    """How to start this run again: `ref` (as the user gave it), `cwd`, and the options that were given."""
    author: str
    host: str
    versions: dict[str, str] = Field(default_factory=dict)


class RunExtended(Event):
    """More attempts of each task were asked for. Found in older logs; `TargetsChanged` says it since."""

    kind: Literal["run_extended"] = "run_extended"
    k: int
    author: str


class TargetsChanged(Event):
    """These tasks want another number of attempts from now on.

    `targets` are pairs of a task's position and its number of attempts, of the tasks that change. `k` and `n_planned`
    are the run's from now on: what its tasks want when nothing else was said of one, and the sum of what all want.
    `author` None: a rule decided it, which `reason` names.
    """

    kind: Literal["targets_changed"] = "targets_changed"
    targets: tuple[tuple[int, int], ...]
    k: int
    n_planned: int
    reason: str
    author: str | None = None


class TaskSettled(Event):
    """The task at this position wants no more attempts: what was asked of it is decided.

    `claim` is one of `rollgrid.analysis.sequential.Claim`, and `says` is the same in words. `evidence` is an e-value.
    The counts are of the attempts that were looked at.
    """

    kind: Literal["task_settled"] = "task_settled"
    position: int
    claim: str
    says: str
    evidence: float
    n_passed: int
    n_scored: int


class SessionStarted(Event):
    """A runner process took the run on. A run that was resumed has several sessions."""

    kind: Literal["session_started"] = "session_started"
    session: int
    pid: int
    host: str
    boot_id: str
    author: str
    concurrency: int
    adaptive: bool = False
    """The concurrency is found out as the run goes on; `concurrency` is what it starts with."""
    limits: dict[str, float] = Field(default_factory=dict)
    """What the run may spend: `max_cost`, `max_tokens`, `max_seconds`."""


class SessionEnded(Event):
    kind: Literal["session_ended"] = "session_ended"
    session: int
    active_seconds: float
    """Time in this session during which the run was not paused."""


RunState = Literal["running", "paused", "stopping", "interrupted", "stopped", "finished"]


class RunStateChanged(Event):
    """`interrupted`: by a signal or a person, can be resumed. `stopped`: by a rule, which `stopped_early` names."""

    kind: Literal["run_state_changed"] = "run_state_changed"
    state: RunState
    stopped_early: str | None = None
    reason: str | None = None
    author: str | None = None


class ConcurrencyChanged(Event):
    kind: Literal["concurrency_changed"] = "concurrency_changed"
    limit: int
    reason: str
    author: str | None = None


class EndpointPaused(Event):
    """The server at `endpoint` asked for a pause; until it is over, no attempt of the run calls it."""

    kind: Literal["endpoint_paused"] = "endpoint_paused"
    endpoint: str
    seconds: float
    reason: str


class AttemptEvent(Event):
    task: int
    attempt: int
    take: int


class AttemptStarted(AttemptEvent):
    kind: Literal["attempt_started"] = "attempt_started"
    seed: int | None = None


class AttemptRetrying(AttemptEvent):
    """A model call failed and is made again after `wait_seconds`; `n` of `limit` retries."""

    kind: Literal["attempt_retrying"] = "attempt_retrying"
    n: int
    limit: int
    wait_seconds: float
    reason: str
    status: int | None = None


class AttemptPhase(AttemptEvent):
    """What a running attempt is doing: waiting for the model, running a tool (`detail` names it), being scored.

    `waiting`: its next call is held back, `detail` says why (a rate limit).
    """

    kind: Literal["attempt_phase"] = "attempt_phase"
    phase: Literal["model", "tool", "scoring", "waiting"]
    detail: str | None = None


StopReasonName = Literal["completed", "error", "timeout", "cancelled", "paused"]


class AttemptEnded(AttemptEvent):
    """The attempt is over. Its transcript is the body stored with this event.

    `passed`, `value` and `reason` are None when the attempt is unscored. `duration_seconds` is the true elapsed time.
    `limit` names the clock that fired on a timeout.
    """

    kind: Literal["attempt_ended"] = "attempt_ended"
    stop_reason: StopReasonName
    passed: bool | None = None
    value: float | None = None
    reason: str | None = None
    detail: dict[str, Any] | None = None
    error: str | None = None
    error_type: str | None = None
    error_signature: str | None = None
    status: int | None = None
    limit: str | None = None
    duration_seconds: float
    time_to_first_token: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    scorer_input_tokens: int = 0
    scorer_output_tokens: int = 0
    scorer_cost: float | None = None
    """What scoring it cost, where a model does that; not part of `cost`."""
    retries: int = 0
    n_tools: int = 0
    tool_call_limit_hit: bool = False


class AttemptSuperseded(AttemptEvent):
    """This take no longer counts; it stays visible. `why`: `storm`, `resume`, `retry`, `late`, `worker-lost`."""

    kind: Literal["attempt_superseded"] = "attempt_superseded"
    why: str
    author: str | None = None


class Reviewed(AttemptEvent):
    """A person judged the attempt. It holds all that this person says of it: their newest review replaces the others.

    `verdict` is about the score that the take has, None where it has none or nothing was said of it. `passed` is what
    the attempt deserves by this review, so that it can be held against any other scoring. `blind`: it was judged before
    the score was shown. Whoever reviews writes this event, not the runner; also when the run is long over.
    """

    kind: Literal["reviewed"] = "reviewed"
    verdict: Literal["agree", "disagree"] | None = None
    passed: bool | None = None
    label: str | None = None
    note: str | None = None
    blind: bool = False
    author: str


class ReviewUndone(AttemptEvent):
    """The author took a review of theirs back; `review` is the `seq` of its event. The one before counts again."""

    kind: Literal["review_undone"] = "review_undone"
    review: int
    author: str


class ScoringStarted(Event):
    """A scorer is about to be applied to the stored transcripts. Whoever does it writes the events, not the runner.

    `scoring` names this scoring. `digest` is that of the scorer (as in `fingerprint_parts`), None where it has none;
    the fingerprint and its parts are those of the run's environment with this scorer in it. `expected` are the expected
    values by task id that differ from the run's. It counts with its `ScoringEnded`.
    """

    kind: Literal["scoring_started"] = "scoring_started"
    scoring: str
    scorer: str
    digest: str | None
    env_fingerprint: str | None
    fingerprint_parts: dict[str, str] = Field(default_factory=dict)
    expected: dict[str, Any] = Field(default_factory=dict)
    source: dict[str, Any] = Field(default_factory=dict)
    author: str
    host: str


class AttemptRescored(AttemptEvent):
    """What a scoring says of a take. `passed`, `value` and `reason` are None when it has no score; `error` says why."""

    kind: Literal["attempt_rescored"] = "attempt_rescored"
    scoring: str
    passed: bool | None = None
    value: float | None = None
    reason: str | None = None
    detail: dict[str, Any] | None = None
    error: str | None = None
    error_type: str | None = None
    duration_seconds: float
    scorer_input_tokens: int = 0
    scorer_output_tokens: int = 0
    scorer_cost: float | None = None


class ScoringEnded(Event):
    """All attempts that could be scored were: from now on the scoring counts."""

    kind: Literal["scoring_ended"] = "scoring_ended"
    scoring: str


class StormCalled(Event):
    """The last `window` completions all failed with one signature."""

    kind: Literal["storm_called"] = "storm_called"
    signature: str
    sample: str
    count: int
    window: int


class StormCleared(Event):
    kind: Literal["storm_cleared"] = "storm_cleared"
    author: str | None = None


class CommandAnswered(Event):
    kind: Literal["command_answered"] = "command_answered"
    command_id: int
    command: str
    author: str
    accepted: bool
    answer: str


class Notice(Event):
    """Something a person should know that changes no count: a fingerprint that could not be made, a leaked scorer."""

    kind: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"]
    text: str


AnyEvent = Annotated[
    RunCreated
    | RunExtended
    | TargetsChanged
    | TaskSettled
    | SessionStarted
    | SessionEnded
    | RunStateChanged
    | ConcurrencyChanged
    | EndpointPaused
    | AttemptStarted
    | AttemptRetrying
    | AttemptPhase
    | AttemptEnded
    | AttemptSuperseded
    | Reviewed
    | ReviewUndone
    | ScoringStarted
    | AttemptRescored
    | ScoringEnded
    | StormCalled
    | StormCleared
    | CommandAnswered
    | Notice,
    Field(discriminator="kind"),
]

EVENT_ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
