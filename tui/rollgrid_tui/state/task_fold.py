"""One task of a run: the fold of its attempts' rows, or of their sums where the rows are not read yet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rollgrid.store.overview import TaskSum
from rollgrid.store.rows import AttemptRow, Settled, TaskRow
from rollgrid_tui.state.figures import NOTHING, Cell, Figures, cell_of, figures_of, figures_of_sums

MARKS: Mapping[str, Cell] = {
    "P": Cell.passed,
    "F": Cell.failed,
    "~": Cell.partial,
    "E": Cell.error,
    "T": Cell.timeout,
    "C": Cell.cancelled,
    ">": Cell.running,
    "R": Cell.retrying,
    "S": Cell.superseded,
}

NOT_LIVE: Mapping[str, Cell] = {**MARKS, ">": Cell.cancelled, "R": Cell.cancelled}
"""Without a runner, what was in flight is lost."""


@dataclass(slots=True)
class TaskFold:
    row: TaskRow
    cells: list[Cell] = field(default_factory=list[Cell])
    takes: dict[int, AttemptRow] = field(default_factory=dict[int, AttemptRow])
    """The current take by attempt."""
    older: dict[int, dict[int, AttemptRow]] = field(default_factory=dict[int, dict[int, AttemptRow]])
    """All takes by attempt, for the attempts that have more than one."""
    sums: TaskSum | None = None
    """Stands for the rows until they are read."""
    figures: Figures = NOTHING
    settled: Settled | None = None
    version: int = 0

    def take_in(self, row: AttemptRow) -> bool:
        """Whether it tells of an end that was not known."""
        known = self.takes.get(row.attempt)
        news = known is None or known.take != row.take or known.phase != "ended"
        if known is None or (known.take == row.take and row.attempt not in self.older):
            self.takes[row.attempt] = row
        else:
            takes = self.older.setdefault(row.attempt, {known.take: known})
            takes[row.take] = row
            counting = [take for take in takes.values() if take.superseded is None]
            self.takes[row.attempt] = max(counting or takes.values(), key=lambda take: take.take)
        return news and row.phase == "ended"

    def fold(self, *, live: bool) -> bool:
        """Bring cells and figures up to date; whether they are others now."""
        if self.sums is not None:
            marks = self.sums.marks
            cells = [Cell.pending] * max(self.row.k, max(marks, default=0))
            meaning = MARKS if live else NOT_LIVE
            for attempt, mark in marks.items():
                cells[attempt - 1] = meaning[mark]
            figures = figures_of_sums(cells, self.sums)
        else:
            cells = [Cell.pending] * max(self.row.k, max(self.takes, default=0))
            for attempt, row in self.takes.items():
                cells[attempt - 1] = cell_of(row, live=live)
            figures = figures_of(cells, self.takes.values())
        if figures == self.figures and cells == self.cells and self.row.settled == self.settled:
            return False
        self.cells, self.figures, self.settled = cells, figures, self.row.settled
        self.version += 1
        return True

    def all_takes(self) -> Iterator[AttemptRow]:
        """Every take of every attempt, also those that no longer count."""
        for attempt, row in self.takes.items():
            yield from self.older[attempt].values() if attempt in self.older else (row,)

    def takes_of(self, attempt: int) -> list[AttemptRow]:
        """All takes of an attempt, oldest first."""
        older = self.older.get(attempt)
        if older is not None:
            return [older[take] for take in sorted(older)]
        current = self.takes.get(attempt)
        return [] if current is None else [current]
