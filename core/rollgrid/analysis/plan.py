# numpy's stubs are partly unknown to pyright, other parts of them in each version.
# pyright: reportUnknownMemberType=false

"""What it would still take to settle a run's questions: attempts, tokens, money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rollgrid.analysis.estimators import is_simulated
from rollgrid.analysis.sequential import NO_CLAIMS, Claim, Finding, Question, ZoneQuestion, false_discovery_e
from rollgrid.analysis.sequential_change import ChangeQuestion

if TYPE_CHECKING:
    from rollgrid.environments.attempt import Usage
    from rollgrid.environments.result import EnvironmentRunResult, TaskResult

__all__ = ["LOOKAHEAD", "Need", "Plan", "Price", "TaskPlan", "need", "plan_run", "questions_of"]

LOOKAHEAD = 128
"""So many attempts of a task are looked ahead at most."""

_SOON = 0.1


class Need(NamedTuple):
    """How many more scored attempts a task takes to be settled.

    `chance` of being settled within `horizon` more; `expected` is the mean, with the horizon where it takes longer, so
    that it is a lower bound when `chance` is below one. `likely` suffices with a chance of 90 %, None where the horizon
    does not. With fewer than `soon` it is settled with a chance below 10 %. `shares[n - 1]` is the chance of being
    settled by exactly the n-th.
    """

    expected: float
    likely: int | None
    soon: int
    chance: float
    horizon: int
    shares: tuple[float, ...]


SETTLED = Need(0.0, 0, 0, 1.0, 0, ())


@lru_cache(maxsize=1 << 14)
def need(question: Question, passed: int, scored: int, horizon: int = LOOKAHEAD) -> Need:
    """What a task with `passed` of `scored` needs; all paths of the next `horizon` attempts are added up exactly.

    The rate of the attempts to come is what was seen of it: a beta posterior from Jeffreys's prior, renewed along each
    path (G. Pólya's urn). Assumes nothing else of the task; a run whose other tasks are much alike could know more.
    """
    if question.judge(passed, scored).settled:
        return SETTLED
    open_paths = {passed: 1.0}
    shares: list[float] = []
    for n in range(scored, scored + horizon):
        ahead: dict[int, float] = {}
        ended = 0.0
        for good, weight in open_paths.items():
            up = weight * (good + 0.5) / (n + 1)
            for after, share in ((good + 1, up), (good, weight - up)):
                if question.judge(after, n + 1).settled:
                    ended += share
                else:
                    ahead[after] = ahead.get(after, 0.0) + share
        shares.append(ended)
        open_paths = ahead
        if not open_paths:
            break
    chance = min(1.0, sum(shares))
    expected = sum(n * share for n, share in enumerate(shares, start=1)) + (1 - chance) * horizon
    return Need(
        expected, _reached(shares, 0.9), _reached(shares, _SOON) or max(1, horizon), chance, horizon, tuple(shares)
    )


def _reached(shares: Sequence[float], level: float) -> int | None:
    total = 0.0
    for n, share in enumerate(shares, start=1):
        total += share
        # A sum of hundreds of shares may miss a level by its rounding.
        if total >= level - 1e-9:
            return n
    return None


class Price(NamedTuple):
    """What so many attempts take. None where nothing is known."""

    attempts: float
    tokens: float | None
    cost: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task. `finding` says how it stands; `need` counts scored attempts, the prices attempts as they come.

    `holds_overall`: a claim of a change that also holds when all tasks are looked at together (`false_discovery_e`);
    None for other claims.
    """

    id: str
    n_passed: int
    n_scored: int
    n_attempts: int
    baseline: tuple[int, int] | None
    finding: Finding | None
    says: str
    need: Need
    expected: Price
    likely: Price | None
    holds_overall: bool | None = None

    @property
    def is_settled(self) -> bool:
        return self.finding is not None and self.finding.settled

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        finding = self.finding
        return {
            "id": self.id,
            "n_passed": self.n_passed,
            "n_scored": self.n_scored,
            "n_attempts": self.n_attempts,
            "baseline": None if self.baseline is None else {"n_passed": self.baseline[0], "n_scored": self.baseline[1]},
            "settled": self.is_settled,
            "claim": None if finding is None or finding.claim is None else finding.claim.value,
            "says": self.says,
            "evidence": None if finding is None else finding.evidence,
            "holds_overall": self.holds_overall,
            "chance_within_horizon": self.need.chance,
            "expected": self.expected.to_dict(),
            "likely": None if self.likely is None else self.likely.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run has settled, and what the rest takes.

    `expected` and `likely` (enough with a chance of 90 %) are of all open tasks that more attempts can settle, None
    for the latter when a task may need more than the horizon. `out_of_reach` are tasks that no more attempts settle;
    `not_asked` those that the baseline does not have.
    """

    env_name: str
    delta: float | None
    """The change that is asked for; None where the question is in which zone a task is."""
    alpha: float
    horizon: int
    simulated: bool
    unscored_share: float
    expected: Price
    likely: Price | None
    tasks: tuple[TaskPlan, ...]

    @property
    def settled(self) -> tuple[TaskPlan, ...]:
        return tuple(one for one in self.tasks if one.is_settled and one.finding and one.finding.claim not in NO_CLAIMS)

    @property
    def out_of_reach(self) -> tuple[TaskPlan, ...]:
        return tuple(one for one in self.tasks if one.is_settled and one.finding and one.finding.claim in NO_CLAIMS)

    @property
    def open(self) -> tuple[TaskPlan, ...]:
        return tuple(one for one in self.tasks if one.finding is not None and not one.is_settled)

    @property
    def not_asked(self) -> tuple[TaskPlan, ...]:
        return tuple(one for one in self.tasks if one.finding is None)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "env": self.env_name,
            "question": "zone" if self.delta is None else "change",
            "delta": self.delta,
            "alpha": self.alpha,
            "horizon": self.horizon,
            "simulated": self.simulated,
            "n_tasks": len(self.tasks),
            "n_settled": len(self.settled),
            "n_open": len(self.open),
            "n_out_of_reach": len(self.out_of_reach),
            "unscored_share": self.unscored_share,
            "expected": self.expected.to_dict(),
            "likely": None if self.likely is None else self.likely.to_dict(),
            "tasks": [one.to_dict() for one in self.tasks],
        }

    def __str__(self) -> str:
        from rollgrid.analysis.plan_text import plan_text

        return plan_text(self)


_ZONES = frozenset({Claim.saturated, Claim.learning, Claim.hopeless})
_CHANGES = frozenset({Claim.better, Claim.worse})


def questions_of(
    ids: Sequence[str],
    baseline: "Mapping[str, tuple[int, int]] | None" = None,
    *,
    delta: float = 0.2,
    alpha: float = 0.05,
) -> dict[str, Question]:
    """The question of each task: its zone, or with a `baseline` (passed and scored by id) whether it changed.

    Tasks that the baseline did not score have none.
    """
    if baseline is None:
        zone = ZoneQuestion(alpha=alpha)
        return {name: zone for name in ids}
    return {
        name: ChangeQuestion(*baseline[name], delta=delta, alpha=alpha)
        for name in ids
        if name in baseline and baseline[name][1]
    }


def plan_run(
    result: "EnvironmentRunResult",
    baseline: "EnvironmentRunResult | None" = None,
    *,
    delta: float = 0.2,
    alpha: float = 0.05,
    horizon: int = LOOKAHEAD,
) -> Plan:
    """What `result` has settled, and what it takes to settle the rest.

    Attempts are priced at what the task's own attempts took on average, or the run's where the task has none. The share
    of attempts that stay unscored is taken to go on. Raises `MismatchError` for a baseline of another environment, and
    `ValueError` for a `delta` or `alpha` outside (0, 1).
    """
    before: dict[str, tuple[int, int]] | None = None
    if baseline is not None:
        from rollgrid.analysis.comparison import refuse_unlike

        refuse_unlike(baseline, result)
        before = {str(one.task.id): (one.n_passed, one.n_scored) for one in baseline.task_results}
    questions = questions_of([str(one.task.id) for one in result.task_results], before, delta=delta, alpha=alpha)
    scored, attempts = result.n_scored, result.n_attempts
    yield_share = scored / attempts if scored else 1.0
    taken = [[usage for a in one.read_attempts() if (usage := a.usage) is not None] for one in result.task_results]
    usual = _mean_usage([usage for usages in taken for usage in usages], _Usage(None, None))
    kept = _kept_claims(result) if baseline is None else {}
    plans = [
        _task(
            one,
            kept.get(str(one.task.id)),
            questions.get(str(one.task.id)),
            before,
            horizon,
            yield_share,
            _mean_usage(usages, usual),
        )
        for one, usages in zip(result.task_results, taken, strict=True)
    ]
    return Plan(
        env_name=result.env_name,
        delta=None if baseline is None else delta,
        alpha=alpha,
        horizon=horizon,
        simulated=is_simulated(result),
        unscored_share=1 - yield_share,
        expected=_total([one.expected for one in plans]),
        likely=_likely_total(plans, yield_share),
        tasks=_checked_overall(plans, alpha),
    )


def _task(
    one: "TaskResult",
    kept: Finding | None,
    question: Question | None,
    before: "Mapping[str, tuple[int, int]] | None",
    horizon: int,
    yield_share: float,
    mean: "_Usage",
) -> TaskPlan:
    name = str(one.task.id)
    finding = None if question is None else kept or question.judge(one.n_passed, one.n_scored)
    told = SETTLED if question is None or kept else need(question, one.n_passed, one.n_scored, horizon)
    says = "not in the baseline, or not scored there"
    if question is not None and finding is not None:
        says = "open" if finding.claim is None else question.says(finding.claim)
        if finding.claim is not None and not finding.settled:
            says = f"open; {says}"
    return TaskPlan(
        id=name,
        n_passed=one.n_passed,
        n_scored=one.n_scored,
        n_attempts=one.n_attempts,
        baseline=None if before is None else before.get(name),
        finding=finding,
        says=says,
        need=told,
        expected=mean.of(told.expected / yield_share),
        likely=None if told.likely is None else mean.of(told.likely / yield_share),
    )


def _kept_claims(result: "EnvironmentRunResult") -> dict[str, Finding]:
    """Zones that were settled as the run went on. Attempts that came after take nothing away from such a claim."""
    found: dict[str, Finding] = {}
    for name, one in result.about.get("settled", {}).items():
        if one["claim"] in _ZONES:
            found[name] = Finding(Claim(one["claim"]), one["evidence"], True)
    return found


class _Usage(NamedTuple):
    tokens: float | None
    cost: float | None

    def of(self, attempts: float) -> Price:
        return Price(
            attempts,
            None if self.tokens is None else attempts * self.tokens,
            None if self.cost is None else attempts * self.cost,
        )


def _mean_usage(usages: "Sequence[Usage]", otherwise: _Usage) -> _Usage:
    counted = [one.input_tokens + one.output_tokens for one in usages]
    costs = [one.cost for one in usages if one.cost is not None]
    return _Usage(
        sum(counted) / len(counted) if any(counted) else otherwise.tokens,
        sum(costs) / len(costs) if costs else otherwise.cost,
    )


def _total(prices: Sequence[Price]) -> Price:
    """Sums; what is known of none of those that take attempts is not known."""
    asked = [one for one in prices if one.attempts]
    tokens = [one.tokens for one in asked if one.tokens is not None]
    costs = [one.cost for one in asked if one.cost is not None]
    return Price(
        sum(one.attempts for one in asked),
        sum(tokens) if tokens or not asked else None,
        sum(costs) if costs or not asked else None,
    )


def _likely_total(plans: Sequence[TaskPlan], yield_share: float) -> Price | None:
    """What is enough for all tasks together with a chance of 90 %, less than the sum of what is enough for each.

    The chances of the tasks are folded into that of their sum; tasks are independent. None when it is beyond the
    horizons.
    """
    asked = [one for one in plans if one.need.horizon]
    if not asked:
        return Price(0.0, 0.0, 0.0)
    import numpy as np

    total = np.ones(1)
    for one in asked:
        total = np.convolve(total, np.array([0.0, *one.need.shares]))
    reached = _reached([float(share) for share in total[1:]], 0.9)
    expected = _total([one.expected for one in asked])
    if reached is None:
        return None
    more = reached / yield_share / expected.attempts
    return Price(
        reached / yield_share,
        None if expected.tokens is None else more * expected.tokens,
        None if expected.cost is None else more * expected.cost,
    )


def _checked_overall(plans: Sequence[TaskPlan], alpha: float) -> tuple[TaskPlan, ...]:
    """The same, with each claimed change looked at among all tasks."""
    from dataclasses import replace

    asked = [one for one in plans if one.finding is not None]
    values = [
        one.finding.evidence / 2 if one.finding is not None and one.finding.claim in _CHANGES else 0.0 for one in asked
    ]
    # Two directions were looked at for each task, hence half of the evidence.
    holds = {one.id: held for one, held in zip(asked, false_discovery_e(values, alpha), strict=True)} if asked else {}
    return tuple(
        replace(one, holds_overall=holds[one.id]) if one.finding and one.finding.claim in _CHANGES else one
        for one in plans
    )
