"""The decision whether a run is good enough. Pure: a run, perhaps a baseline and rules in, a decision out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from rollgrid.analysis.comparison import Comparison, Verdict, compare
from rollgrid.analysis.critical import checked_confidence
from rollgrid.analysis.estimators import RunStatistics, statistics
from rollgrid.analysis.wilson import Interval

if TYPE_CHECKING:
    from rollgrid.environments.result import EnvironmentRunResult

__all__ = ["Finding", "GateDecision", "GateRules", "Outcome", "Scope", "decide"]

Scope = Literal["like-these", "these"]
"""Whom a bound or a significant drop answers for: tasks like these, or exactly these tasks run again."""

SETTLED = frozenset({"decided"})
"""Reasons for which a run may end before its plan and still be whole: it had seen enough."""


class Outcome(StrEnum):
    passed = "passed"
    failed = "failed"
    inconclusive = "inconclusive"

    @property
    def exit_code(self) -> int:
        return {"passed": 0, "failed": 1, "inconclusive": 3}[self.value]


@dataclass(frozen=True, slots=True)
class GateRules:
    """What a run must keep to. Rates and shares lie in [0, 1]; a rule that is None is not looked at.

    - `min_pass_rate`: the pooled pass rate as it is; `min_lower_bound`: the lower end of its interval.
    - `min_task_pass_rate`: the pass rate of every task; `task_floors`: of single ones, by id, which wins for them.
    - `max_drop`: how far the mean task rate may fall below the baseline's, as it is; `max_significant_drop`: the same,
      failing only when the whole interval of the delta lies below (0: any drop that is more than chance).
    - `no_regressed_tasks`: no task may have regressed by more than chance.
    - `max_unscored`: the share of planned attempts without a score above which the run says nothing either way.
    - `max_cost`: US dollars.

    `scope` says whom `min_lower_bound` and `max_significant_drop` answer for; `confidence` is of all intervals.
    """

    min_pass_rate: float | None = None
    min_lower_bound: float | None = None
    min_task_pass_rate: float | None = None
    task_floors: Mapping[str, float] = field(default_factory=dict[str, float])
    max_drop: float | None = None
    max_significant_drop: float | None = None
    no_regressed_tasks: bool = False
    max_unscored: float = 0.1
    max_cost: float | None = None
    scope: Scope = "like-these"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("min_pass_rate", "min_lower_bound", "min_task_pass_rate", "max_drop", "max_significant_drop"):
            _share(name, getattr(self, name))
        _share("max_unscored", self.max_unscored)
        for task, floor in self.task_floors.items():
            _share(f"the floor of task {task!r}", floor)
        if self.max_cost is not None and not self.max_cost >= 0:
            raise ValueError(f"max_cost must be at least 0, got {self.max_cost!r}")
        if self.scope not in ("like-these", "these"):
            raise ValueError(f"scope must be 'like-these' or 'these', got {self.scope!r}")
        checked_confidence(self.confidence)

    @property
    def needs_baseline(self) -> bool:
        """Whether a rule speaks of a baseline."""
        return self.max_drop is not None or self.max_significant_drop is not None or self.no_regressed_tasks

    @property
    def is_empty(self) -> bool:
        """Whether no rule could make a run fail."""
        return (
            not self.needs_baseline
            and not self.task_floors
            and all(
                one is None
                for one in (self.min_pass_rate, self.min_lower_bound, self.min_task_pass_rate, self.max_cost)
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"task_floors": dict(self.task_floors)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule, applied. `task` is the id of the task that it is about, None for the run."""

    rule: str
    outcome: Outcome
    message: str
    task: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"rule": self.rule, "outcome": self.outcome.value, "message": self.message, "task": self.task}


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The outcome, every rule with what it found, and the figures it was decided on."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    rules: GateRules
    statistics: RunStatistics
    comparison: Comparison | None

    @property
    def exit_code(self) -> int:
        return self.outcome.exit_code

    @property
    def simulated(self) -> bool:
        return self.statistics.simulated

    @property
    def summary(self) -> str:
        """One line: what was decided and on which ground."""
        told = [one for one in self.findings if one.outcome is self.outcome]
        if self.outcome is Outcome.passed:
            return f"{len(told)} rule{'' if len(told) == 1 else 's'} kept"
        first = told[0].message
        return first if len(told) == 1 else f"{first} (and {len(told) - 1} more)"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "outcome": self.outcome.value,
            "exit_code": self.exit_code,
            "summary": self.summary,
            "findings": [one.to_dict() for one in self.findings],
            "rules": self.rules.to_dict(),
            "statistics": self.statistics.to_dict(),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
        }

    def __str__(self) -> str:
        from rollgrid.analysis.text import decision_text

        return decision_text(self)


def decide(
    result: "EnvironmentRunResult", rules: GateRules, baseline: "EnvironmentRunResult | None" = None
) -> GateDecision:
    """Apply the rules.

    A run that an error storm or anything else ended before its plan, in which nothing was scored, or in which too much
    is unscored is inconclusive whatever else holds: broken infrastructure is no regression. Otherwise one failed rule
    fails the gate, and a rule that cannot be applied (no price is known, no task was scored on both sides) leaves it
    inconclusive. Raises `ValueError` for rules that fit nothing (no rule at all, one that needs a baseline without one,
    a floor for an unknown task) and `MismatchError` for a baseline of another environment.
    """
    if rules.is_empty and baseline is None:
        raise ValueError("the gate has no rule, so everything would pass it")
    if rules.needs_baseline and baseline is None:
        raise ValueError("a rule speaks of a drop or of regressed tasks, and there is no baseline to compare with")
    comparison = None if baseline is None else compare(baseline, result, confidence=rules.confidence)
    if baseline is not None and not rules.needs_baseline:
        rules = with_default_drop(rules)
    told = statistics(result, rules.confidence)
    unknown = set(rules.task_floors) - {one.id for one in told.tasks}
    if unknown:
        raise ValueError(f"there is a floor for {', '.join(map(repr, sorted(unknown)))}, which the run does not have")
    blind = _infrastructure(result, rules)
    findings = [*blind, *_rates(told, rules), *_tasks(told, rules), *_cost(told, rules)]
    if comparison is not None and baseline is not None:
        findings += _drop(comparison, baseline, rules)
    outcomes = {one.outcome for one in findings}
    if any(one.outcome is Outcome.inconclusive for one in blind):
        outcome = Outcome.inconclusive
    elif Outcome.failed in outcomes:
        outcome = Outcome.failed
    else:
        outcome = Outcome.inconclusive if Outcome.inconclusive in outcomes else Outcome.passed
    return GateDecision(outcome, tuple(findings), rules, told, comparison)


def with_default_drop(rules: GateRules) -> GateRules:
    """What a baseline asks for when no rule speaks of one: nothing may have got worse by more than chance."""
    from dataclasses import replace

    return replace(rules, max_significant_drop=0.0, no_regressed_tasks=True)


def _infrastructure(result: "EnvironmentRunResult", rules: GateRules) -> list[Finding]:
    """Whether the run says anything at all."""
    found: list[Finding] = []
    settled = result.stopped_early in SETTLED
    if result.stopped_early is not None and not settled:
        found.append(Finding("complete", Outcome.inconclusive, f"the run ended early: {result.stopped_early}"))
    planned = result.n_attempts if settled else max(result.n_attempts, result.k * len(result.task_results))
    missing = planned - result.n_scored
    if result.n_scored == 0:
        found.append(Finding("scored", Outcome.inconclusive, "no attempt was scored"))
        return found
    share = missing / planned
    outcome = Outcome.inconclusive if share > rules.max_unscored else Outcome.passed
    found.append(
        Finding(
            "max_unscored",
            outcome,
            f"{missing} of {planned} attempts are unscored ({_percent(share)}, at most {_percent(rules.max_unscored)})",
        )
    )
    return found


def _rates(told: RunStatistics, rules: GateRules) -> list[Finding]:
    found: list[Finding] = []
    rate = told.pass_rate
    if rules.min_pass_rate is not None and rate is not None:
        found.append(
            Finding(
                "min_pass_rate",
                _kept(rate >= rules.min_pass_rate),
                f"pass rate {_percent(rate)} ({told.n_passed}/{told.n_scored}), "
                f"at least {_percent(rules.min_pass_rate)}",
            )
        )
    interval = told.interval if rules.scope == "like-these" else told.interval_these_tasks
    if rules.min_lower_bound is not None and interval is not None:
        kept = interval.low >= rules.min_lower_bound
        other = told.interval_these_tasks
        message = (
            f"pass rate {_percent(rate)}, {_level(rules)} interval {_range(interval)} {_whom(rules)}, "
            f"at least {_percent(rules.min_lower_bound)}"
        )
        if not kept and rules.scope == "like-these" and other is not None and other.low >= rules.min_lower_bound:
            message += f"; for exactly these tasks it would be {_range(other)}"
        found.append(Finding("min_lower_bound", _kept(kept), message))
    return found


def _tasks(told: RunStatistics, rules: GateRules) -> list[Finding]:
    found: list[Finding] = []
    for task in told.tasks:
        own = rules.task_floors.get(task.id)
        floor = rules.min_task_pass_rate if own is None else own
        if floor is None:
            continue
        rule = "min_task_pass_rate" if own is None else "task_floors"
        rate = task.pass_rate
        if rate is None:
            found.append(Finding(rule, Outcome.inconclusive, f"{task.id}: no attempt was scored", task.id))
        else:
            message = f"{task.id}: {_percent(rate)} ({task.n_passed}/{task.n_scored}), at least {_percent(floor)}"
            found.append(Finding(rule, _kept(rate >= floor), message, task.id))
    return found


def _cost(told: RunStatistics, rules: GateRules) -> list[Finding]:
    if rules.max_cost is None:
        return []
    cost = told.total_cost
    limit = f"at most ${rules.max_cost:g}"
    if cost is not None and cost > rules.max_cost:
        return [Finding("max_cost", Outcome.failed, f"the run cost ${cost:.4f}, {limit}")]
    if cost is None or told.effort.n_unpriced:
        known = "no price is known" if cost is None else f"${cost:.4f} and attempts whose price is not known"
        return [Finding("max_cost", Outcome.inconclusive, f"{known}, {limit}")]
    return [Finding("max_cost", Outcome.passed, f"the run cost ${cost:.4f}, {limit}")]


def _drop(comparison: Comparison, baseline: "EnvironmentRunResult", rules: GateRules) -> list[Finding]:
    if comparison.delta is None:
        why = "no task was scored on both sides, so nothing can be said of a drop"
        return [Finding("max_drop" if rules.max_drop is not None else "no_regressed_tasks", Outcome.inconclusive, why)]
    found: list[Finding] = []
    if baseline.stopped_early is not None and baseline.stopped_early not in SETTLED:
        why = f"the baseline ended early ({baseline.stopped_early}): compared are the tasks that it scored"
        found.append(Finding("baseline", Outcome.passed, why))
    moved = (
        f"{_percent(comparison.baseline_rate)} -> {_percent(comparison.current_rate)} over "
        f"{comparison.n_shared} shared task{'' if comparison.n_shared == 1 else 's'}, "
        f"{100 * comparison.delta:+.1f} points"
    )
    if rules.max_drop is not None:
        kept = -comparison.delta <= rules.max_drop
        found.append(Finding("max_drop", _kept(kept), f"{moved}, at most {100 * rules.max_drop:g} down"))
    interval = comparison.interval if rules.scope == "like-these" else comparison.interval_these_tasks
    if rules.max_significant_drop is not None and interval is not None:
        kept = interval.high >= -rules.max_significant_drop
        limit = f"more than {100 * rules.max_significant_drop:g} down" if rules.max_significant_drop else "down"
        message = (
            f"{moved}, {_level(rules)} interval [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}] "
            f"{_whom(rules)}: " + ("not surely " if kept else "surely ") + limit
        )
        found.append(Finding("max_significant_drop", _kept(kept), message))
    if rules.no_regressed_tasks:
        found += [
            Finding(
                "no_regressed_tasks",
                Outcome.failed,
                f"{one.id}: {one.baseline} -> {one.current}, more than chance (q = {one.q_value or 0:.2g})",
                one.id,
            )
            for one in comparison.tasks
            if one.verdict is Verdict.regressed
        ]
        if not comparison.regressed:
            found.append(Finding("no_regressed_tasks", Outcome.passed, "no task regressed by more than chance"))
    return found


def _kept(kept: bool) -> Outcome:
    return Outcome.passed if kept else Outcome.failed


def _whom(rules: GateRules) -> str:
    return "for tasks like these" if rules.scope == "like-these" else "for exactly these tasks"


def _level(rules: GateRules) -> str:
    return f"{100 * rules.confidence:g} %"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{round(100 * rate, 1):g} %"


def _range(interval: Interval) -> str:
    return f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _share(name: str, value: Any) -> None:
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, such as 0.8, got {value!r}")
