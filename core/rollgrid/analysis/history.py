"""An environment over its runs: pass rates with intervals, and where they changed. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollgrid.analysis.changes import Counts, Split, likely_places, overall_changes, task_changes
from rollgrid.analysis.comparison import Count
from rollgrid.analysis.critical import checked_confidence, z_point
from rollgrid.analysis.wilson import Interval, clustered, wilson

__all__ = ["Change", "History", "PastRun", "TaskHistory", "history"]


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run of the environment. `at` is seconds since the epoch, `counts` by task id."""

    run_id: str
    at: float
    model: str
    simulated: bool
    env_fingerprint: str | None
    policy_fingerprint: str | None
    counts: Mapping[str, Count]
    n_unscored: int = 0
    k: int = 0
    stopped_early: str | None = None
    scoring: int = 1
    """Which scoring of the run the counts are of; 1: its own scores."""
    fingerprint_parts: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def count(self) -> Count:
        """All tasks together."""
        return Count(sum(one.passed for one in self.counts.values()), sum(one.scored for one in self.counts.values()))


@dataclass(frozen=True, slots=True)
class Change:
    """From the run at place `at` of the history on, the rate is another one than in the segment before.

    `before` and `after` are the counts of the segments on either side. `p_value` is adjusted for all that was looked
    at. It may as well have been anywhere from the run at `earliest` to that at `latest`. `policy_at` is the place of a
    run among these that has another policy than the one before, which would explain it; None: it is drift.
    """

    at: int
    earliest: int
    latest: int
    before: Count
    after: Count
    p_value: float
    policy_at: int | None

    @property
    def delta(self) -> float:
        return (self.after.rate or 0.0) - (self.before.rate or 0.0)

    def to_dict(self, runs: Sequence[PastRun]) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "run_id": runs[self.at].run_id,
            "earliest_run_id": runs[self.earliest].run_id,
            "latest_run_id": runs[self.latest].run_id,
            "before": _counted(self.before),
            "after": _counted(self.after),
            "delta": self.delta,
            "p_value": self.p_value,
            "policy_changed_at": None if self.policy_at is None else runs[self.policy_at].run_id,
        }


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """One task; a count for each run of the history, None where the run does not have it."""

    id: str
    counts: tuple[Count | None, ...]
    intervals: tuple[Interval | None, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The runs of one environment, oldest first.

    `series[i]` is a number that runs share which can be compared: same environment fingerprint, and all simulated or
    none. A run without a fingerprint is alone. Changes are only looked for within a series, and the tasks are those of
    any run. `intervals` are of the whole runs, clustered by task: for tasks like these.
    """

    env_name: str
    confidence: float
    runs: tuple[PastRun, ...]
    series: tuple[int, ...]
    intervals: tuple[Interval | None, ...]
    changes: tuple[Change, ...]
    tasks: tuple[TaskHistory, ...]

    def policy_changed(self, place: int) -> bool:
        """Whether the run has another policy than the comparable one before it."""
        before = self.before(place)
        return before is not None and _other_policy(self.runs[before], self.runs[place])

    def before(self, place: int) -> int | None:
        """The comparable run before this one."""
        return next((i for i in range(place - 1, -1, -1) if self.series[i] == self.series[place]), None)

    def differs(self, place: int) -> tuple[str, ...] | None:
        """What is different from the run just before; None when that one is comparable, or there is none.

        Parts of the environment by name; empty where that is not recorded.
        """
        if place == 0 or self.series[place] == self.series[place - 1]:
            return None
        old, new = self.runs[place - 1], self.runs[place]
        names = [*dict.fromkeys([*old.fingerprint_parts, *new.fingerprint_parts])]
        parts = [name for name in names if old.fingerprint_parts.get(name) != new.fingerprint_parts.get(name)]
        if old.simulated != new.simulated:
            parts.append("simulated" if new.simulated else "no longer simulated")
        return tuple(parts)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "env": self.env_name,
            "confidence": self.confidence,
            "runs": [self._run(place) for place in range(len(self.runs))],
            "changes": [one.to_dict(self.runs) for one in self.changes],
            "tasks": [
                {
                    "id": task.id,
                    "counts": [None if one is None else _counted(one) for one in task.counts],
                    "intervals": [None if one is None else list(one) for one in task.intervals],
                    "changes": [one.to_dict(self.runs) for one in task.changes],
                }
                for task in self.tasks
            ],
        }

    def _run(self, place: int) -> dict[str, Any]:
        run, interval, differs = self.runs[place], self.intervals[place], self.differs(place)
        return {
            "run_id": run.run_id,
            "at": run.at,
            "model": run.model,
            "simulated": run.simulated,
            "scoring": run.scoring,
            "series": self.series[place],
            "env_fingerprint": run.env_fingerprint,
            "policy_fingerprint": run.policy_fingerprint,
            "environment_differs": None if differs is None else list(differs),
            "policy_changed": self.policy_changed(place),
            "stopped_early": run.stopped_early,
            "n_unscored": run.n_unscored,
            **_counted(run.count),
            "interval": None if interval is None else list(interval),
        }

    def __str__(self) -> str:
        from rollgrid.analysis.history_text import history_text

        return history_text(self)


def history(env_name: str, runs: Sequence[PastRun], confidence: float = 0.95) -> History:
    """`runs`, oldest first, with intervals at `confidence` and change points at its complement.

    Per task: Wilson intervals and `task_changes`; overall: clustered intervals and `overall_changes`. What each assumes
    is said there. Raises `ValueError` for a confidence outside (0, 1).
    """
    z = z_point(checked_confidence(confidence))
    level = round(1 - confidence, 12)
    series = _series(runs)
    names = list(dict.fromkeys(name for run in runs for name in run.counts))
    counts = {name: tuple(run.counts.get(name) for run in runs) for name in names}
    overall: list[Change] = []
    by_task: dict[str, list[Change]] = {name: [] for name in names}
    for number in dict.fromkeys(series):
        places = [place for place, one in enumerate(series) if one == number]
        mine = {
            name: [(one.passed, one.scored) if (one := counts[name][place]) else (0, 0) for place in places]
            for name in names
            if any(counts[name][place] is not None for place in places)
        }
        if len(places) < 2 or not mine:
            continue
        rows = list(mine.values())
        overall += _changes(overall_changes(rows, level), rows, runs, places)
        for name, splits in zip(mine, task_changes(rows, level), strict=True):
            by_task[name] += _changes(splits, [mine[name]], runs, places)
    return History(
        env_name=env_name,
        confidence=confidence,
        runs=tuple(runs),
        series=series,
        intervals=tuple(clustered([(one.passed, one.scored) for one in run.counts.values()], z) for run in runs),
        changes=tuple(sorted(overall, key=lambda one: one.at)),
        tasks=tuple(
            TaskHistory(
                name,
                counts[name],
                tuple(None if one is None else wilson(one.passed, one.scored, z) for one in counts[name]),
                tuple(sorted(by_task[name], key=lambda one: one.at)),
            )
            for name in names
        ),
    )


def _series(runs: Sequence[PastRun]) -> tuple[int, ...]:
    numbers: dict[tuple[str, bool], int] = {}
    found: list[int] = []
    for run in runs:
        if run.env_fingerprint is None:
            # It matches nothing, not even another one without.
            found.append(max(found, default=-1) + 1)
            continue
        key = (run.env_fingerprint, run.simulated)
        found.append(numbers.setdefault(key, max(found, default=-1) + 1))
    return tuple(found)


def _changes(
    splits: Sequence[Split], rows: Sequence[Counts], runs: Sequence[PastRun], places: Sequence[int]
) -> list[Change]:
    """Splits of a series as changes of the history, with the counts of the segments beside them."""
    edges = [0, *(split.at for split in splits), len(places)]
    together = [_sum(row[i] for row in rows) for i in range(len(places))]
    found: list[Change] = []
    for number, split in enumerate(splits):
        low, high = edges[number], edges[number + 2]
        first, last = likely_places(rows, low, high)
        first, last = min(first, split.at), max(last, split.at)
        policies = [i for i in range(first, last + 1) if _other_policy(runs[places[i - 1]], runs[places[i]])]
        found.append(
            Change(
                at=places[split.at],
                earliest=places[first],
                latest=places[last],
                before=_sum(together[low : split.at]),
                after=_sum(together[split.at : high]),
                p_value=split.p_value,
                policy_at=places[min(policies, key=lambda i: abs(i - split.at))] if policies else None,
            )
        )
    return found


def _other_policy(old: PastRun, new: PastRun) -> bool:
    """Policies that are not known are told apart by the model's name."""
    if old.policy_fingerprint is None or new.policy_fingerprint is None:
        return old.model != new.model
    return old.policy_fingerprint != new.policy_fingerprint


def _sum(counts: Iterable[tuple[int, int]]) -> Count:
    passed = scored = 0
    for one, n in counts:
        passed, scored = passed + one, scored + n
    return Count(passed, scored)


def _counted(count: Count) -> dict[str, Any]:
    return {"n_passed": count.passed, "n_scored": count.scored, "pass_rate": count.rate}
