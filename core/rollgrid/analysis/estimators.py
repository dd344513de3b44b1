"""The figures of one run, each with how surely it is known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rollgrid.analysis.critical import checked_confidence, z_point
from rollgrid.analysis.passk import pass_at, pass_hat
from rollgrid.analysis.quantiles import Quantiles, quantiles
from rollgrid.analysis.wilson import Interval, clustered, wilson
from rollgrid.environments.report_text import scoring_text

if TYPE_CHECKING:
    from rollgrid.environments.attempt import StopReason, Usage
    from rollgrid.environments.result import EnvironmentRunResult, TaskResult

__all__ = ["AtJ", "Effort", "RunStatistics", "TaskStatistics", "is_simulated", "statistics"]


class AtJ(NamedTuple):
    """The means of pass@j and pass^j over the `n_tasks` tasks that have at least `j` scored attempts."""

    j: int
    pass_at: float
    pass_hat: float
    n_tasks: int


@dataclass(frozen=True, slots=True)
class Effort:
    """What attempts took. A part is None when nothing of it is known.

    `latency` is in seconds and of the attempts that completed or timed out, the latter as lower bounds; an attempt that
    failed or was cancelled says nothing about how long an answer takes. `tokens` (in and out together) and `cost` (US
    dollars) are of every attempt that reports them, since a failed one is paid for too; `n_unpriced` counts those that
    used tokens without a known price.
    """

    latency: Quantiles | None
    tokens: Quantiles | None
    cost: Quantiles | None
    n_unpriced: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "latency_seconds": None if self.latency is None else self.latency.to_dict(),
            "tokens": None if self.tokens is None else self.tokens.to_dict(),
            "cost": None if self.cost is None else self.cost.to_dict(),
            "n_unpriced": self.n_unpriced,
        }


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """One task. Rates divide by scored attempts; `interval` is Wilson's.

    `bounds` is where the rate would lie if every unscored attempt had failed, and if every one had passed: with many
    unscored attempts the interval alone would claim too much. `pass_at[j - 1]` and `pass_hat[j - 1]` are pass@j and
    pass^j for j from 1 to the number of scored attempts.
    """

    id: str
    n_attempts: int
    n_scored: int
    n_passed: int
    mean_value: float | None
    interval: Interval | None
    bounds: Interval | None
    pass_at: tuple[float, ...]
    pass_hat: tuple[float, ...]
    effort: Effort

    @property
    def n_unscored(self) -> int:
        return self.n_attempts - self.n_scored

    @property
    def pass_rate(self) -> float | None:
        return self.n_passed / self.n_scored if self.n_scored else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "id": self.id,
            "n_attempts": self.n_attempts,
            "n_scored": self.n_scored,
            "n_passed": self.n_passed,
            "n_unscored": self.n_unscored,
            "pass_rate": self.pass_rate,
            "mean_value": self.mean_value,
            "interval": _listed(self.interval),
            "bounds": _listed(self.bounds),
            "pass_at": list(self.pass_at),
            "pass_hat": list(self.pass_hat),
            **self.effort.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """A whole run.

    `interval` answers for tasks like these: it is clustered by task and takes the tasks as a sample (`clustered`).
    `interval_these_tasks` answers for exactly these tasks run again, where only the attempts are chance: Wilson's of
    the pooled counts, which is on the careful side when tasks differ. `bounds` are as for a task. `total_cost` is in US
    dollars and has the attempts that were run again, None when no price is known.
    """

    env_name: str
    model: str | None
    simulated: bool
    k: int
    confidence: float
    stopped_early: str | None
    n_attempts: int
    n_scored: int
    n_passed: int
    mean_value: float | None
    interval: Interval | None
    interval_these_tasks: Interval | None
    bounds: Interval | None
    at_j: tuple[AtJ, ...]
    effort: Effort
    total_cost: float | None
    tasks: tuple[TaskStatistics, ...]
    scoring: str | None = None
    """Which later scoring of the run this is, in words; None for the run's own scores."""

    @property
    def n_unscored(self) -> int:
        return self.n_attempts - self.n_scored

    @property
    def pass_rate(self) -> float | None:
        return self.n_passed / self.n_scored if self.n_scored else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "env": self.env_name,
            "model": self.model,
            "simulated": self.simulated,
            "k": self.k,
            "confidence": self.confidence,
            "stopped_early": self.stopped_early,
            "scoring": self.scoring,
            "n_tasks": len(self.tasks),
            "n_attempts": self.n_attempts,
            "n_scored": self.n_scored,
            "n_passed": self.n_passed,
            "n_unscored": self.n_unscored,
            "pass_rate": self.pass_rate,
            "mean_value": self.mean_value,
            "interval": _listed(self.interval),
            "interval_these_tasks": _listed(self.interval_these_tasks),
            "bounds": _listed(self.bounds),
            "at_j": [one._asdict() for one in self.at_j],
            **self.effort.to_dict(),
            "total_cost": self.total_cost,
            "tasks": [one.to_dict() for one in self.tasks],
        }

    def __str__(self) -> str:
        from rollgrid.analysis.text import statistics_text

        return statistics_text(self)


def statistics(result: "EnvironmentRunResult", confidence: float = 0.95) -> RunStatistics:
    """The figures of a run with intervals at `confidence`.

    What each one assumes and where its method comes from is said at `wilson`, `clustered`, `pass_at`, `pass_hat` and
    `quantiles` of this package. Raises `ValueError` for a confidence outside (0, 1).
    """
    z = z_point(checked_confidence(confidence))
    # Of a large result the attempts lie in the log; they are read once, and only what is looked at here is kept.
    taken = [
        [_Taken(a.duration_seconds, a.stop_reason, a.usage) for a in t.read_attempts()] for t in result.task_results
    ]
    tasks = tuple(_task(one, mine, z) for one, mine in zip(result.task_results, taken, strict=True))
    counts = [(one.n_passed, one.n_scored) for one in tasks]
    passed, scored, attempts = result.n_passed, result.n_scored, result.n_attempts
    effort = _effort([one for mine in taken for one in mine])
    return RunStatistics(
        env_name=result.env_name,
        model=_model(result),
        simulated=is_simulated(result),
        k=result.k,
        confidence=confidence,
        stopped_early=result.stopped_early,
        n_attempts=attempts,
        n_scored=scored,
        n_passed=passed,
        mean_value=result.mean_value,
        interval=clustered(counts, z),
        interval_these_tasks=wilson(passed, scored, z),
        bounds=_bounds(passed, scored, attempts),
        at_j=tuple(_at_j(tasks)),
        effort=effort,
        total_cost=_total_cost(result, effort),
        tasks=tasks,
        scoring=scoring_text(result.about),
    )


def is_simulated(result: "EnvironmentRunResult") -> bool:
    """Whether the answers are made up by the simulated model. They say nothing about an agent."""
    return result.about.get("model_kind") == "simulated"


def _model(result: "EnvironmentRunResult") -> str | None:
    model = result.about.get("model")
    return model if isinstance(model, str) else None


def _total_cost(result: "EnvironmentRunResult", effort: Effort) -> float | None:
    """What the log counted, superseded attempts included, else the sum over the attempts that are there."""
    counted = result.about.get("cost")
    if isinstance(counted, (int, float)):
        return float(counted)
    return None if effort.cost is None else effort.cost.total


class _Taken(NamedTuple):
    """What an attempt took."""

    duration_seconds: float
    stop_reason: "StopReason"
    usage: "Usage | None"


def _task(one: "TaskResult", taken: Sequence[_Taken], z: float) -> TaskStatistics:
    passed, scored, attempts = one.n_passed, one.n_scored, one.n_attempts
    return TaskStatistics(
        id=str(one.task.id),
        n_attempts=attempts,
        n_scored=scored,
        n_passed=passed,
        mean_value=one.mean_value,
        interval=wilson(passed, scored, z),
        bounds=_bounds(passed, scored, attempts),
        pass_at=tuple(pass_at(passed, scored, j) for j in range(1, scored + 1)),
        pass_hat=tuple(pass_hat(passed, scored, j) for j in range(1, scored + 1)),
        effort=_effort(taken),
    )


def _bounds(passed: int, scored: int, attempts: int) -> Interval | None:
    """The rate with every unscored attempt failed, and with every one passed (C. F. Manski's bounds for missing data).

    Assumes nothing about why attempts are unscored. Not an interval: it holds no allowance for chance.
    """
    return Interval(passed / attempts, (passed + attempts - scored) / attempts) if attempts else None


def _at_j(tasks: Sequence[TaskStatistics]) -> Iterable[AtJ]:
    for j in range(1, max((one.n_scored for one in tasks), default=0) + 1):
        enough = [one for one in tasks if one.n_scored >= j]
        at = sum(one.pass_at[j - 1] for one in enough) / len(enough)
        hat = sum(one.pass_hat[j - 1] for one in enough) / len(enough)
        yield AtJ(j, at, hat, len(enough))


def _effort(attempts: Sequence[_Taken]) -> Effort:
    done = [one.duration_seconds for one in attempts if one.stop_reason == "completed"]
    cut = [one.duration_seconds for one in attempts if one.stop_reason == "timeout"]
    usages = [usage for one in attempts if (usage := one.usage) is not None]
    counted = [usage for usage in usages if usage.input_tokens or usage.output_tokens]
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Effort(
        latency=quantiles(done, cut),
        tokens=quantiles(usage.input_tokens + usage.output_tokens for usage in counted),
        cost=quantiles(costs),
        n_unpriced=sum(usage.cost is None for usage in counted),
    )


def _listed(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
