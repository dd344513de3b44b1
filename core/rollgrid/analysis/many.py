"""Three or more runs of one environment as a table: models against tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rollgrid.analysis.comparison import Comparison, Count, compare_counts, judged, refuse_unlike
from rollgrid.analysis.critical import checked_confidence
from rollgrid.analysis.estimators import RunStatistics, statistics

if TYPE_CHECKING:
    from rollgrid.environments.result import EnvironmentRunResult

__all__ = ["ManyComparison", "compare_many"]


@dataclass(frozen=True, slots=True)
class ManyComparison:
    """Runs side by side. `comparisons[i]` is run i against the run `reference`, whose own entry is None.

    Since several comparisons are read at once, the overall intervals are widened so that all of them hold together with
    `confidence` (C. E. Bonferroni), and the false-discovery control runs over the tasks of all comparisons.
    """

    env_name: str
    confidence: float
    labels: tuple[str, ...]
    reference: int
    runs: tuple[RunStatistics, ...]
    comparisons: tuple[Comparison | None, ...]
    task_ids: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "env": self.env_name,
            "confidence": self.confidence,
            "labels": list(self.labels),
            "reference": self.reference,
            "tasks": list(self.task_ids),
            "runs": [one.to_dict() for one in self.runs],
            "comparisons": [None if one is None else one.to_dict() for one in self.comparisons],
        }

    def __str__(self) -> str:
        from rollgrid.analysis.text import many_text

        return many_text(self)


def compare_many(
    results: Sequence["EnvironmentRunResult"],
    *,
    labels: Sequence[str] | None = None,
    reference: int = 0,
    confidence: float = 0.95,
) -> ManyComparison:
    """Every run against the one at `reference`, which is the first unless told otherwise.

    `labels` name the columns; by default the model, with a number where that is not unique. Raises `ValueError` for
    fewer than two runs, and `MismatchError` for runs that cannot be compared.
    """
    checked_confidence(confidence)
    if len(results) < 2:
        raise ValueError(f"a comparison needs at least two runs, got {len(results)}")
    if not 0 <= reference < len(results):
        raise ValueError(f"reference must be a position from 0 to {len(results) - 1}, got {reference}")
    if labels is not None and len(labels) != len(results):
        raise ValueError(f"{len(results)} runs need as many labels, got {len(labels)}")
    first = results[reference]
    for one in results:
        refuse_unlike(first, one)
    together = 1 - (1 - confidence) / (len(results) - 1)
    counts = [
        {str(one.task.id): Count(one.n_passed, one.n_scored) for one in result.task_results} for result in results
    ]
    found: list[Comparison | None] = [
        None
        if place == reference
        else compare_counts(
            counts[reference],
            counts[place],
            env_name=first.env_name,
            policy_changed=result.policy_fingerprint is None or result.policy_fingerprint != first.policy_fingerprint,
            confidence=confidence,
            overall_confidence=together,
        )
        for place, result in enumerate(results)
    ]
    return ManyComparison(
        env_name=first.env_name,
        confidence=confidence,
        labels=tuple(labels or _labels(results)),
        reference=reference,
        runs=tuple(statistics(one, confidence) for one in results),
        comparisons=tuple(_judged_together(found, confidence)),
        task_ids=tuple(dict.fromkeys(name for each in (counts[reference], *counts) for name in each)),
    )


def _judged_together(comparisons: Sequence[Comparison | None], confidence: float) -> list[Comparison | None]:
    """The tasks of all comparisons are one family of tests."""
    tasks = judged([task for one in comparisons if one is not None for task in one.tasks], confidence)
    again: list[Comparison | None] = []
    for one in comparisons:
        if one is None:
            again.append(None)
            continue
        mine = tuple(tasks[: len(one.tasks)])
        tested = [task for task in mine if task.delta is not None]
        again.append(replace(one, tasks=mine, verdict=tested[0].verdict if len(tested) == 1 else one.verdict))
        del tasks[: len(one.tasks)]
    return again


def _labels(results: Sequence["EnvironmentRunResult"]) -> list[str]:
    names = [str(result.about.get("model") or result.about.get("run_id") or "run") for result in results]
    told: list[str] = []
    for place, name in enumerate(names):
        told.append(name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}")
    return told
