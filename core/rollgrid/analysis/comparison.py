"""Two runs of one environment: what moved, and whether it is more than chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from rollgrid.analysis.critical import checked_confidence, false_discovery, t_point, z_point
from rollgrid.analysis.estimators import is_simulated
from rollgrid.analysis.exact import exact_p
from rollgrid.analysis.wilson import Interval, clustered, newcombe, wilson

if TYPE_CHECKING:
    from rollgrid.environments.result import EnvironmentRunResult

__all__ = ["Comparison", "Count", "TaskComparison", "Verdict", "compare", "compare_counts", "refuse_unlike"]


class Verdict(StrEnum):
    """What a comparison comes to. `within noise` is no proof of equality: it says that chance alone explains this."""

    improved = "improved"
    regressed = "regressed"
    within_noise = "within noise"
    not_comparable = "not comparable"


class Count(NamedTuple):
    """Passed of scored attempts."""

    passed: int
    scored: int

    @property
    def rate(self) -> float | None:
        return self.passed / self.scored if self.scored else None

    def __str__(self) -> str:
        return f"{self.passed}/{self.scored}"


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task on both sides; a side that does not have the task is None.

    `delta` is current minus baseline with Newcombe's interval. `p_value` is of the exact test, `q_value` the same
    adjusted for the number of tasks looked at (false-discovery rate), and the verdict is a change when `q_value` is at
    most one minus the confidence.
    """

    id: str
    baseline: Count | None
    current: Count | None
    delta: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    q_value: float | None = None
    verdict: Verdict = Verdict.not_comparable
    why: str | None = None
    """Why it is not comparable."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "id": self.id,
            "baseline": _counted(self.baseline),
            "current": _counted(self.current),
            "delta": self.delta,
            "interval": None if self.interval is None else list(self.interval),
            "p_value": self.p_value,
            "q_value": self.q_value,
            "verdict": self.verdict.value,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Baseline and current run of one environment.

    The overall figures are over the `n_shared` tasks that both sides scored, each task weighing the same:
    `baseline_rate` and `current_rate` are means of task rates, so that a task with more scored attempts on one side
    cannot move `delta`. `interval` is paired and clustered by task and answers for tasks like these;
    `interval_these_tasks` answers for exactly these tasks run again. `verdict` follows `interval`.
    """

    env_name: str
    confidence: float
    policy_changed: bool
    n_shared: int
    baseline_rate: float | None
    current_rate: float | None
    delta: float | None
    interval: Interval | None
    interval_these_tasks: Interval | None
    verdict: Verdict
    tasks: tuple[TaskComparison, ...]

    @property
    def improved(self) -> tuple[str, ...]:
        """Ids of the tasks that improved by more than chance."""
        return self._with(Verdict.improved)

    @property
    def regressed(self) -> tuple[str, ...]:
        """Ids of the tasks that regressed by more than chance."""
        return self._with(Verdict.regressed)

    @property
    def not_comparable(self) -> tuple[str, ...]:
        return self._with(Verdict.not_comparable)

    def _with(self, verdict: Verdict) -> tuple[str, ...]:
        return tuple(one.id for one in self.tasks if one.verdict is verdict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "env": self.env_name,
            "confidence": self.confidence,
            "policy_changed": self.policy_changed,
            "n_shared": self.n_shared,
            "baseline_rate": self.baseline_rate,
            "current_rate": self.current_rate,
            "delta": self.delta,
            "interval": None if self.interval is None else list(self.interval),
            "interval_these_tasks": None if self.interval_these_tasks is None else list(self.interval_these_tasks),
            "verdict": self.verdict.value,
            "improved": list(self.improved),
            "regressed": list(self.regressed),
            "not_comparable": list(self.not_comparable),
            "tasks": [one.to_dict() for one in self.tasks],
        }

    def __str__(self) -> str:
        from rollgrid.analysis.text import comparison_text

        return comparison_text(self)


def compare(
    baseline: "EnvironmentRunResult", current: "EnvironmentRunResult", *, confidence: float = 0.95
) -> Comparison:
    """`current` against `baseline`, task by task and overall.

    Per task the exact test of `exact_p`, then Benjamini and Hochberg's false-discovery control over the tasks of both
    sides (`false_discovery`); overall the paired delta of `overall_delta`. Different numbers of attempts are fine, and
    tasks that only one side has, or only one side scored, are listed as not comparable. Raises `MismatchError` when the
    two come from different environments, or one of them is simulated and the other is not.
    """
    from rollgrid.environments.fingerprint import same_fingerprint

    refuse_unlike(baseline, current)
    old = {str(one.task.id): Count(one.n_passed, one.n_scored) for one in baseline.task_results}
    new = {str(one.task.id): Count(one.n_passed, one.n_scored) for one in current.task_results}
    return compare_counts(
        old,
        new,
        env_name=current.env_name,
        policy_changed=not same_fingerprint(current.policy_fingerprint, baseline.policy_fingerprint),
        confidence=confidence,
    )


def refuse_unlike(baseline: "EnvironmentRunResult", current: "EnvironmentRunResult") -> None:
    """Raises `MismatchError` for runs whose rates cannot be compared."""
    from rollgrid.environments.diff import diff_results
    from rollgrid.scorer.base import MismatchError

    if is_simulated(baseline) != is_simulated(current):
        side = "baseline" if is_simulated(baseline) else "current run"
        raise MismatchError(f"the {side} is simulated and the other is real: made-up answers compare with nothing")
    diff_results(current, baseline)


def compare_counts(
    old: dict[str, Count],
    new: dict[str, Count],
    *,
    env_name: str,
    policy_changed: bool,
    confidence: float = 0.95,
    overall_confidence: float | None = None,
) -> Comparison:
    """As `compare`, from the counts alone. `overall_confidence` is that of the overall intervals where it differs."""
    z = z_point(checked_confidence(confidence))
    tasks = tuple(judged([_task(name, old.get(name), new.get(name), z) for name in _names(old, new)], confidence))
    pairs = [(one.baseline, one.current) for one in tasks if one.baseline and one.current and one.delta is not None]
    overall = overall_delta(pairs, overall_confidence or confidence)
    return Comparison(
        env_name=env_name,
        confidence=confidence,
        policy_changed=policy_changed,
        n_shared=len(pairs),
        baseline_rate=overall.old,
        current_rate=overall.new,
        delta=overall.delta,
        interval=overall.interval,
        interval_these_tasks=overall.interval_these_tasks,
        verdict=_overall_verdict(overall.interval, [one.verdict for one in tasks if one.delta is not None]),
        tasks=tasks,
    )


def judged(tasks: Sequence[TaskComparison], confidence: float) -> list[TaskComparison]:
    """The same tasks with adjusted p-values and verdicts; those without a p-value stay not comparable."""
    from dataclasses import replace

    tested = [(place, one.p_value) for place, one in enumerate(tasks) if one.p_value is not None]
    found = list(tasks)
    for (place, _), q in zip(tested, false_discovery([p for _, p in tested]), strict=True):
        one = tasks[place]
        verdict = Verdict.within_noise
        # The complement is rounded, so that a confidence of 0.95 means 0.05 and not a bit less.
        if q <= round(1 - confidence, 12) and one.delta:
            verdict = Verdict.improved if one.delta > 0 else Verdict.regressed
        found[place] = replace(one, q_value=q, verdict=verdict)
    return found


class Overall(NamedTuple):
    """Means of the task rates, their difference, and how surely it is known."""

    old: float | None
    new: float | None
    delta: float | None
    interval: Interval | None
    interval_these_tasks: Interval | None


def overall_delta(pairs: Sequence[tuple[Count, Count]], confidence: float = 0.95) -> Overall:
    """The mean over tasks of current minus baseline rate, with its intervals; `pairs` are scored on both sides.

    For tasks like these: the t interval of the mean of paired differences, which is the cluster-robust one when every
    task is a cluster that weighs the same. Assumes that the tasks are a random sample of those one cares about; pairing
    takes out how hard a task is. When every task moved by the same amount, as when nothing failed anywhere, the
    differences show no spread that could be measured; then Newcombe's interval of the two clustered ones is given,
    which knows how few tasks there are. For these tasks: Newcombe's interval of the two mean rates at the effective
    numbers of attempts, exact for one common rate and on the careful side when tasks differ.
    """
    if not pairs:
        return Overall(None, None, None, None, None)
    m = len(pairs)
    z = z_point(confidence)
    # In whole fractions, so that equal movements are equal and a drop of exactly the limit is not above it.
    olds = [Fraction(a.passed, a.scored) for a, _ in pairs]
    news = [Fraction(b.passed, b.scored) for _, b in pairs]
    moves = [new - old for old, new in zip(olds, news, strict=True)]
    old, new = float(sum(olds) / m), float(sum(news) / m)
    mean = sum(moves) / m
    these = newcombe(old, _around(old, [a for a, _ in pairs], z), new, _around(new, [b for _, b in pairs], z))
    if m == 1:
        return Overall(old, new, float(mean), these, these)
    t = t_point(confidence, m - 1)
    if all(move == moves[0] for move in moves):
        a, b = clustered([a for a, _ in pairs], z), clustered([b for _, b in pairs], z)
        return Overall(old, new, float(mean), newcombe(old, a, new, b) if a and b else None, these)
    centre = float(mean)
    error = math.sqrt(math.fsum((float(move) - centre) ** 2 for move in moves) / (m - 1) / m)
    interval = Interval(max(-1.0, centre - t * error), min(1.0, centre + t * error))
    return Overall(old, new, centre, interval, these)


def _around(rate: float, counts: Sequence[Count], z: float) -> Interval:
    """Wilson's interval of a mean of task rates: each task's attempts weigh by how few there are."""
    m = len(counts)
    effective = m * m / sum(1 / one.scored for one in counts)
    interval = wilson(rate * effective, effective, z)
    if interval is None:
        raise ValueError("an interval of nothing was asked for")
    return interval


def _overall_verdict(interval: Interval | None, tasks: Sequence[Verdict]) -> Verdict:
    if interval is None:
        return Verdict.not_comparable
    if len(tasks) == 1:
        # Of a single task the exact test knows more than an interval does.
        return tasks[0]
    if interval.low > 0:
        return Verdict.improved
    return Verdict.regressed if interval.high < 0 else Verdict.within_noise


def _names(old: dict[str, Count], new: dict[str, Count]) -> list[str]:
    """Tasks in the current run's order, then those that only the baseline has."""
    return [*new, *(name for name in old if name not in new)]


def _task(name: str, old: Count | None, new: Count | None, z: float) -> TaskComparison:
    if old is None or new is None:
        return TaskComparison(name, old, new, why=f"only in the {'baseline' if new is None else 'current run'}")
    around_old, around_new = wilson(*old, z), wilson(*new, z)
    if old.rate is None or new.rate is None or around_old is None or around_new is None:
        sides = [side for side, count in (("baseline", old), ("current run", new)) if not count.scored]
        return TaskComparison(name, old, new, why=f"nothing scored in the {' and the '.join(sides)}")
    delta = float(Fraction(new.passed, new.scored) - Fraction(old.passed, old.scored))
    return TaskComparison(
        name,
        old,
        new,
        delta=delta,
        interval=newcombe(old.rate, around_old, new.rate, around_new),
        p_value=exact_p(*old, *new),
    )


def _counted(count: Count | None) -> dict[str, Any] | None:
    return None if count is None else {"n_passed": count.passed, "n_scored": count.scored, "pass_rate": count.rate}
