"""How many attempts each task wants, when a run samples until something is decided. Pure: no clock, no I/O.

Evidence is looked at in the order of the attempts' numbers, not in that in which they end: an attempt counts once all
before it have ended. Attempts that fail fast would otherwise be seen first, and a rule that stops on what it sees would
be stopped by speed. It also makes decisions the same whatever the timing: a run that was killed and resumed decides as
if nothing had happened.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rollgrid.analysis.plan import LOOKAHEAD, Need, need, questions_of
from rollgrid.analysis.sequential import NO_CLAIMS, Claim, Question, ZoneQuestion

if TYPE_CHECKING:
    from rollgrid.environments.result import EnvironmentRunResult

__all__ = ["DEFAULT_MAX_K", "FIRST_WAVE", "Decision", "Sampling", "SamplingPlan", "sampling_against"]

FIRST_WAVE = 4
"""So many attempts of every task are made breadth-first, before any task is preferred."""

DEFAULT_MAX_K = 64

UNSCORED_IN_A_ROW = 8
"""A task whose attempts give no score so many times in a row is left alone: more of them are paid for nothing."""

_WORTH_IT = 0.1
"""A task that is settled within `max_k` with a smaller chance than this is not worth its attempts."""

_REOPENED = frozenset({Claim.too_close, Claim.unmeasured})
"""What further attempts, asked for by a person or run again, may still turn into a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """What is asked of each task: its zone, or with a `baseline` (passed and scored by task id) whether it changed.

    No task has more than `max_k` attempts. `alpha` is the chance of a wrong claim about a task, `delta` the change
    that is looked for, `baseline_fingerprint` that of the baseline's environment. Tasks that the baseline did not score
    are asked for their zone.
    """

    max_k: int = DEFAULT_MAX_K
    alpha: float = 0.05
    delta: float = 0.2
    baseline: Mapping[str, tuple[int, int]] | None = None
    baseline_fingerprint: str | None = None

    def __post_init__(self) -> None:
        if self.max_k < 1:
            raise ValueError(f"max_k must be at least 1, got {self.max_k}")
        for name, value in (("alpha", self.alpha), ("delta", self.delta)):
            if not 0 < value < 1:
                raise ValueError(f"{name} must lie between 0 and 1, such as 0.05, got {value!r}")

    @property
    def first_wave(self) -> int:
        return min(FIRST_WAVE, self.max_k)

    def questions(self, ids: Sequence[str]) -> tuple[Question, ...]:
        asked = questions_of(ids, self.baseline, delta=self.delta, alpha=self.alpha)
        return tuple(asked.get(name) or ZoneQuestion(alpha=self.alpha) for name in ids)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for the log."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        given = dict(data)
        if given.get("baseline") is not None:
            given["baseline"] = {name: (passed, scored) for name, (passed, scored) in given["baseline"].items()}
        return cls(**given)


def sampling_against(
    baseline: "EnvironmentRunResult | None", *, max_k: int = DEFAULT_MAX_K, delta: float = 0.2, alpha: float = 0.05
) -> SamplingPlan:
    """The plan that asks how tasks changed since `baseline`, or without one, in which zone each is."""
    counts: dict[str, tuple[int, int]] | None = None
    if baseline is not None:
        counts = {str(one.task.id): (one.n_passed, one.n_scored) for one in baseline.task_results}
    return SamplingPlan(
        max_k=max_k,
        alpha=alpha,
        delta=delta,
        baseline=counts,
        baseline_fingerprint=None if baseline is None else baseline.env_fingerprint,
    )


class Decision(NamedTuple):
    """A task is settled, or there is no more to be had of it."""

    task: int
    claim: Claim
    says: str
    evidence: float
    n_passed: int
    n_scored: int


@dataclass(slots=True)
class _Task:
    question: Question
    outcomes: dict[int, bool | None] = field(default_factory=dict[int, bool | None])
    """By attempt: passed or not, None where it is unscored."""
    looked_at: int = 0
    n_passed: int = 0
    n_scored: int = 0
    unscored_in_a_row: int = 0
    claim: Claim | None = None

    def forget(self) -> None:
        self.looked_at = self.n_passed = self.n_scored = self.unscored_in_a_row = 0


class Sampling:
    """Takes in how attempts ended, and says what is decided, what each task wants, and which is to be preferred."""

    def __init__(self, plan: SamplingPlan, ids: Sequence[str], claims: Mapping[int, Claim] | None = None) -> None:
        self._plan = plan
        self._tasks = [_Task(question) for question in plan.questions(ids)]
        for task, claim in (claims or {}).items():
            self._tasks[task].claim = claim

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def n_settled(self) -> int:
        """Tasks of which something is claimed."""
        return sum(one.claim is not None and one.claim not in NO_CLAIMS for one in self._tasks)

    def is_settled(self, task: int) -> bool:
        """Whether the task wants no more attempts: it is settled, or there is no more to be had of it."""
        return self._tasks[task].claim is not None

    def warm(self) -> None:
        """Make what decisions are looked up in, some tenths of a second for each different baseline. Any thread may."""
        for question in {one.question for one in self._tasks}:
            need(question, 0, 0, min(self._plan.max_k, LOOKAHEAD))

    def known(self, task: int, attempt: int, passed: bool | None) -> None:
        """How an attempt of an earlier session ended, before any decision is asked for."""
        self._tasks[task].outcomes[attempt] = passed

    def ended(self, task: int, attempt: int, passed: bool | None) -> Decision | None:
        """How an attempt ended: passed or not, None where it is unscored."""
        one = self._tasks[task]
        one.outcomes[attempt] = passed
        if attempt <= one.looked_at:
            one.forget()  # it was run again, and what it said before counts no more
        return self.look(task)

    def look(self, task: int) -> Decision | None:
        """What is decided of the task now, if anything new is."""
        one = self._tasks[task]
        if one.claim is not None and one.claim not in _REOPENED:
            return None
        decision: Decision | None = None
        for passed in self._next_of(one):
            if passed is not None:
                found = one.question.judge(one.n_passed, one.n_scored)
                if found.settled and found.claim is not None:
                    return self._decided(task, found.claim, one.question.says(found.claim), found.evidence)
            # Asked after each attempt, so that what is given up, and where, does not hang on how many come in at once.
            decision = decision or self._given_up(task, one)
            if decision is not None and decision.claim not in _REOPENED:
                break
        if decision is None or decision.claim is one.claim:
            return None
        one.claim = decision.claim
        return decision

    def wants(self, task: int, target: int) -> int:
        """How many attempts the task wants, where it wants `target` now.

        Beyond what was looked at it gets so many at once that it is settled by fewer with a chance below one in ten, so
        that hardly an attempt is in the air for nothing.
        """
        one = self._tasks[task]
        if one.claim is not None:
            return one.looked_at
        soon = self._need(one).soon
        if target - one.looked_at > soon // 2:
            return target
        return max(target, min(self._plan.max_k, one.looked_at + soon))

    def urgency(self, task: int) -> float:
        """The task with the least is to be preferred: that which needs the fewest attempts more, on average.

        Shortest expected first leaves, whenever the budget ends, the most tasks settled on average (W. E. Smith, Naval
        Research Logistics Quarterly 3, 1956).
        """
        return self._need(self._tasks[task]).expected

    # -- inside -------------------------------------------------------------------------------------------------------

    def _next_of(self, one: _Task) -> Iterator[bool | None]:
        """Look at further attempts in order, as long as there is none missing."""
        while one.looked_at < self._plan.max_k and one.looked_at + 1 in one.outcomes:
            one.looked_at += 1
            passed = one.outcomes[one.looked_at]
            one.unscored_in_a_row = one.unscored_in_a_row + 1 if passed is None else 0
            one.n_scored += passed is not None
            one.n_passed += passed is True
            yield passed

    def _decided(self, task: int, claim: Claim, says: str, evidence: float) -> Decision:
        one = self._tasks[task]
        one.claim = claim
        return Decision(task, claim, says, evidence, one.n_passed, one.n_scored)

    def _given_up(self, task: int, one: _Task) -> Decision | None:
        """What there is to say of a task that more attempts would not settle, None where they may."""
        counts = (one.n_passed, one.n_scored)
        if one.unscored_in_a_row >= UNSCORED_IN_A_ROW or (one.looked_at >= self._plan.max_k and not one.n_scored):
            says = f"unmeasured: the last {one.unscored_in_a_row} attempts gave no score"
            return Decision(task, Claim.unmeasured, says, 1.0, *counts)
        if one.looked_at < self._plan.max_k and (
            one.looked_at < self._plan.first_wave or self._need(one).chance >= _WORTH_IT
        ):
            return None
        found = one.question.judge(*counts)
        if found.claim is not None:
            return Decision(task, found.claim, one.question.says(found.claim), found.evidence, *counts)
        says = f"too close to call with {self._plan.max_k} attempts at most"
        return Decision(task, Claim.too_close, says, found.evidence, *counts)

    def _need(self, one: _Task) -> Need:
        left = self._plan.max_k - one.looked_at
        return need(one.question, one.n_passed, one.n_scored, max(1, min(left, LOOKAHEAD)))
