"""What a cell, a task's row and a whole run amount to, as plain numbers."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from rollgrid.analysis.wilson import Interval, clustered, wilson
from rollgrid.store.overview import TaskSum
from rollgrid.store.rows import AttemptRow

__all__ = [
    "FAILURES",
    "IN_FLIGHT",
    "NOTHING",
    "Cell",
    "Figures",
    "Interval",
    "Zone",
    "add",
    "cell_of",
    "clustered",
    "figures_of",
    "wilson",
]


class Cell(StrEnum):
    """What the current take of an attempt amounts to."""

    pending = "pending"
    running = "running"
    retrying = "retrying"
    passed = "pass"
    failed = "fail"
    partial = "partial"
    error = "error"
    timeout = "timeout"
    cancelled = "cancelled"
    superseded = "superseded"

    # Cells are looked up by the thousand; the hash of an enumeration is ten times as slow as that of its text.
    __hash__ = str.__hash__


_PASSED, _PENDING, _FAILED, _PARTIAL = Cell.passed, Cell.pending, Cell.failed, Cell.partial

FAILURES = frozenset({Cell.failed, Cell.partial, Cell.error, Cell.timeout})
"""What next and previous failure stop at."""

IN_FLIGHT = frozenset({Cell.running, Cell.retrying})


class Zone(StrEnum):
    """What a task can teach: one that passes now and then is worth learning from."""

    learning = "learning"
    hopeless = "hopeless"
    saturated = "saturated"
    unmeasured = "unmeasured"


def cell_of(row: AttemptRow | None, *, live: bool) -> Cell:
    """`live` says whether a runner works on the run: without one, what was in flight is lost and shows as cancelled."""
    if row is None:
        return Cell.pending
    if row.superseded is not None:
        return Cell.superseded
    if row.phase != "ended":
        if not live:
            return Cell.cancelled
        return Cell.retrying if row.phase == "retrying" else Cell.running
    if row.passed is not None:
        if row.passed:
            return Cell.passed
        return Cell.partial if row.value else Cell.failed
    if row.stop_reason == "timeout":
        return Cell.timeout
    return Cell.cancelled if row.stop_reason in {"cancelled", "paused"} else Cell.error


class Figures(NamedTuple):
    """Sums over the current takes of a task, or of all tasks. Rates divide by scored attempts only."""

    n_ended: int = 0
    n_in_flight: int = 0
    n_scored: int = 0
    n_passed: int = 0
    n_errors: int = 0
    n_superseded: int = 0
    value: float = 0.0
    seconds: float = 0.0
    n_completed: int = 0
    tokens: int = 0
    cost: float = 0.0
    n_priced: int = 0
    retries: int = 0

    @property
    def rate(self) -> float | None:
        return self.n_passed / self.n_scored if self.n_scored else None

    @property
    def n_unscored(self) -> int:
        return self.n_ended - self.n_scored

    @property
    def zone(self) -> Zone:
        if not self.n_scored:
            return Zone.unmeasured
        if self.n_passed == self.n_scored:
            return Zone.saturated
        return Zone.learning if self.n_passed else Zone.hopeless

    @property
    def interval(self) -> Interval | None:
        return wilson(self.n_passed, self.n_scored)

    @property
    def latency(self) -> float | None:
        """Mean seconds of the attempts that completed."""
        return self.seconds / self.n_completed if self.n_completed else None

    @property
    def known_cost(self) -> float | None:
        """US dollars; None when no attempt had a price."""
        return self.cost if self.n_priced else None


NOTHING = Figures()


def figures_of(cells: Sequence[Cell], rows: Iterable[AttemptRow]) -> Figures:
    """`cells` are the states of every column, `rows` the current takes that exist."""
    ended = 0
    value = seconds = cost = 0.0
    completed = tokens = priced = retries = 0
    for row in rows:
        tokens += row.input_tokens + row.output_tokens
        retries += row.retries
        if row.cost is not None:
            cost += row.cost
            priced += 1
        if row.phase == "ended" and row.superseded is None:
            ended += 1
            value += row.value or 0.0
            if row.stop_reason == "completed" and row.duration_seconds is not None:
                seconds += row.duration_seconds
                completed += 1
    return Figures(ended, *_counts(cells), value, seconds, completed, tokens, cost, priced, retries)


def figures_of_sums(cells: Sequence[Cell], sums: TaskSum) -> Figures:
    """As `figures_of`, from what SQLite summed up."""
    return Figures(sums.n_ended, *_counts(cells), *sums[3:])


def _counts(cells: Sequence[Cell]) -> tuple[int, int, int, int, int]:
    """In flight, scored, passed, errors, superseded."""
    in_flight = scored = passed = errors = superseded = 0
    for cell in cells:
        # The frequent ones first: a run of a hundred thousand attempts comes by here.
        if cell is _PASSED:
            passed += 1
            scored += 1
        elif cell is _PENDING:
            continue
        elif cell is _FAILED or cell is _PARTIAL:
            scored += 1
        elif cell in IN_FLIGHT:
            in_flight += 1
        elif cell is Cell.superseded:
            superseded += 1
        elif cell is Cell.error or cell is Cell.timeout:
            errors += 1
    return in_flight, scored, passed, errors, superseded


def add(total: Figures, old: Figures, new: Figures) -> Figures:
    """`total` with one row's figures replaced."""
    return Figures._make(t - o + n for t, o, n in zip(total, old, new, strict=True))
