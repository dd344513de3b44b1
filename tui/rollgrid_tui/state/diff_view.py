"""A comparison as lines of a table: what regressed first, what could not be compared last."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rollgrid.analysis.comparison import Comparison, TaskComparison

RANK = {"regressed": 0, "within noise": 1, "improved": 2, "not comparable": 3}


class DiffLine(NamedTuple):
    """One task; counts are (passed, scored), None on a side that does not have it."""

    id: str
    old: tuple[int, int] | None
    new: tuple[int, int] | None
    delta: float | None
    verdict: str
    words: str
    """The verdict, or why there is none."""


def lines_of(found: "Comparison") -> list[DiffLine]:
    """Sorted by verdict, then by how much was lost."""
    lines = [
        DiffLine(
            one.id,
            None if one.baseline is None else (one.baseline.passed, one.baseline.scored),
            None if one.current is None else (one.current.passed, one.current.scored),
            one.delta,
            one.verdict.value,
            one.verdict.value if one.why is None else _why(one),
        )
        for one in found.tasks
    ]
    return sorted(lines, key=lambda line: (RANK[line.verdict], line.delta if line.delta is not None else 2.0))


def _why(one: "TaskComparison") -> str:
    if one.current is None:
        return "only baseline"
    return "only this run" if one.baseline is None else "not scored"


def signed(delta: float | None) -> str:
    """A difference of rates in percentage points."""
    return "-" if delta is None else f"{round(delta * 100):+d}" if round(delta * 100) else "0"


def summary(found: "Comparison") -> str:
    """The run as a whole in one line, with how surely it is known."""
    if found.delta is None or found.baseline_rate is None or found.current_rate is None:
        return "nothing is scored on both sides yet"
    parts = [f"{found.baseline_rate * 100:.0f}% -> {found.current_rate * 100:.0f}%"]
    interval = found.interval
    around = f" ({interval.low * 100:+.0f} to {interval.high * 100:+.0f})" if interval is not None else ""
    parts.append(f"{signed(found.delta)} points{around}")
    parts.append(found.verdict.value)
    parts.append(f"{found.n_shared} {'task' if found.n_shared == 1 else 'tasks'} on both sides")
    parts.append("policy changed" if found.policy_changed else "same policy")
    return "   ".join(parts)
