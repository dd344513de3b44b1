"""One run as the screens see it: the fold of its rows, with what changed since the screen last looked."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rollgrid.store.overview import Overview
from rollgrid.store.rows import AttemptRow, ReviewRow, RunRow, TaskRow
from rollgrid_tui.state.figures import (
    NOTHING,
    Cell,
    Figures,
    Interval,
    Zone,
    add,
    clustered,
)
from rollgrid_tui.state.order import Filter, Sort, next_failure, sort_key
from rollgrid_tui.state.pace import Pace
from rollgrid_tui.state.review_book import ReviewBook
from rollgrid_tui.state.task_fold import TaskFold

RESORT_SECONDS = 2.0
"""A sort or filter that depends on results is looked at again this often, so that rows do not jump under the eye."""

IN_PROGRESS = frozenset({"running", "paused", "stopping"})


@dataclass(frozen=True, slots=True)
class Changes:
    """What to draw again: the rows of these tasks; the header; everything, when rows or columns came or went."""

    rows: frozenset[int] = frozenset()
    header: bool = False
    structure: bool = False

    def __or__(self, other: "Changes") -> "Changes":
        return Changes(self.rows | other.rows, self.header or other.header, self.structure or other.structure)

    def __bool__(self) -> bool:
        return bool(self.rows) or self.header or self.structure


class Header(NamedTuple):
    """The run in one line. Times in seconds, throughput in attempts a second, cost in US dollars."""

    state: str
    figures: Figures
    interval: Interval | None
    n_planned: int
    n_learning: int
    throughput: float | None
    eta: float | None
    concurrency: int
    elapsed: float | None
    settled: tuple[int, int] | None = None
    """How many tasks are settled, of all; None in a run with a fixed number of attempts."""


class RunView:
    """Folds rows of the log. Tasks are named by their position in the run, attempts from 1."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.run: RunRow | None = None
        self.columns = 0
        """Attempts of the task that wants or has most."""
        self.sort = Sort.position
        self.filter = Filter()
        self.order: list[int] = []
        """Tasks in the order in which they show."""
        self.totals = NOTHING
        self.reviews = ReviewBook()
        self.flipped: frozenset[int] = frozenset()
        """Tasks with an attempt whose verdict, by the scoring that is shown, is another one than the run's own."""
        self._baseline: Mapping[str, tuple[int, int]] = {}
        """Passed and scored by task id."""
        self._clock = clock
        self._tasks: list[TaskFold] = []
        self._places: dict[int, int] = {}
        self._pace = Pace()
        self._live = False
        self._sums: _Sums | None = None
        self._ordered_at = 0.0
        self._order_is_old = False

    # -- what the log says

    def apply(
        self,
        run: RunRow | None = None,
        tasks: Sequence[TaskRow] | None = None,
        attempts: Iterable[AttemptRow] = (),
    ) -> Changes:
        """Take in new rows. A row that says nothing new changes nothing."""
        header = False
        before = (len(self._tasks), self.columns)
        dirty = set(self._take_in_tasks(tasks)) if tasks is not None else set[int]()
        if run is not None and run != self.run:
            self.run = run
            header = True
            live = run.alive and run.state in IN_PROGRESS
            if live != self._live:
                self._live = live
                dirty.update(range(len(self._tasks)))
        for row in attempts:
            if row.task < len(self._tasks):
                if self._tasks[row.task].take_in(row) and row.ended_at is not None:
                    self._pace.add(row.ended_at)
                dirty.add(row.task)
        return self._settle(dirty, before, header, whole=tasks is not None)

    def apply_overview(self, overview: Overview) -> Changes:
        """Take in the sums of tasks whose attempts are read later, by `fill`."""
        before = (len(self._tasks), self.columns)
        for sums in overview.tasks:
            if sums.task < len(self._tasks):
                self._tasks[sums.task].sums = sums
        for ended_at in overview.ended_lately:
            self._pace.add(ended_at)
        return self._settle(range(len(self._tasks)), before, True, whole=True)

    def fill(self, task: int, attempts: Iterable[AttemptRow], *, since: int) -> None:
        """The attempts of a task of which only sums were there: the grid shows all that there was up to `since`."""
        entry = self._tasks[task]
        entry.sums = None
        for row in attempts:
            if entry.take_in(row) and row.seq > since and row.ended_at is not None:
                self._pace.add(row.ended_at)

    def is_filled(self, task: int) -> bool:
        return task >= len(self._tasks) or self._tasks[task].sums is None

    def _settle(self, dirty: Iterable[int], before: tuple[int, int], header: bool, *, whole: bool) -> Changes:
        changed = {index for index in dirty if self._fold(index)}
        looked = range(len(self._tasks)) if whole else changed
        widest = max((len(self._tasks[index].cells) for index in looked), default=0)
        self.columns = widest if whole else max(widest, self.columns)
        structure = (len(self._tasks), self.columns) != before
        if structure:
            self._reorder()
        elif changed and (self.sort is not Sort.position or self.filter.live):
            self._order_is_old = True
        return Changes(frozenset(changed), header or bool(changed), structure)

    def apply_reviews(self, rows: Iterable[ReviewRow]) -> Changes:
        """Take in reviews that were made or taken back."""
        return Changes(frozenset(self.reviews.apply(rows)))

    def _take_in_tasks(self, rows: Sequence[TaskRow]) -> list[int]:
        """Gives those that are new, or that want another number of attempts than before."""
        changed: list[int] = []
        for index, row in enumerate(rows):
            if index == len(self._tasks):
                self._tasks.append(TaskFold(row))
            elif row == self._tasks[index].row:
                continue
            self._tasks[index].row = row
            changed.append(index)
        return changed

    def _fold(self, index: int) -> bool:
        task = self._tasks[index]
        before = task.figures
        if not task.fold(live=self._live):
            return False
        self.totals = add(self.totals, before, task.figures)
        self._sums = None
        return True

    # -- order

    def set_sort(self, sort: Sort) -> Changes:
        self.sort = sort
        self._reorder()
        return Changes(header=True, structure=True)

    def set_filter(self, text: str) -> Changes:
        self.filter = Filter.parse(text)
        self._reorder()
        return Changes(header=True, structure=True)

    def set_baseline(self, counts: Mapping[str, tuple[int, int]]) -> Changes:
        """Passed and scored by task id, to which the grid shows the differences; none takes the column away."""
        self._baseline = counts
        for task in self._tasks:
            task.version += 1
        if not counts and self.sort is Sort.delta:
            self.sort = Sort.position
        self._reorder()
        return Changes(header=True, structure=True)

    def resort(self) -> Changes:
        """Bring the order up to date with the results, when that is due."""
        due = not self._live or self._clock() - self._ordered_at >= RESORT_SECONDS
        if not self._order_is_old or not due:
            return Changes()
        before = self.order
        self._reorder()
        return Changes(structure=before != self.order)

    def _reorder(self) -> None:
        key = sort_key(self.sort, self.delta)
        self.order = sorted(
            (
                i
                for i, task in enumerate(self._tasks)
                if self.filter.matches(task.row, task.figures, task.cells, i in self.flipped)
            ),
            key=lambda i: key(i, self._tasks[i].figures),
        )
        self._places = {task: place for place, task in enumerate(self.order)}
        self._order_is_old = False
        self._ordered_at = self._clock()

    def place(self, task: int) -> int | None:
        """Where a task shows; None when the filter hides it."""
        return self._places.get(task)

    # -- what the screens ask

    def wants_tasks(self, run: RunRow) -> bool:
        """Whether the rows of the tasks are others by now than those it has."""
        return self.n_tasks < run.n_tasks or self.run is None or self.run.plan_seq != run.plan_seq

    @property
    def n_tasks(self) -> int:
        return len(self._tasks)

    @property
    def ticking(self) -> bool:
        """Whether time alone changes what the header says."""
        return self._live and self.run is not None and self.run.state != "paused"

    @property
    def live(self) -> bool:
        """Whether a runner works on this run now."""
        return self._live

    def task(self, task: int) -> TaskRow:
        return self._tasks[task].row

    def cells(self, task: int) -> Sequence[Cell]:
        return self._tasks[task].cells

    def figures(self, task: int) -> Figures:
        return self._tasks[task].figures

    @property
    def has_baseline(self) -> bool:
        return bool(self._baseline)

    def delta(self, task: int) -> float | None:
        """The pass rate minus the baseline's; None where a side has nothing scored."""
        entry = self._tasks[task]
        passed, scored = self._baseline.get(entry.row.id, (0, 0))
        rate = entry.figures.rate
        return None if rate is None or not scored else rate - passed / scored

    def version(self, task: int) -> int:
        """Grows whenever the task's row has to be drawn anew."""
        return self._tasks[task].version + self.reviews.changes(task)

    def attempt(self, task: int, attempt: int) -> AttemptRow | None:
        """The take that counts, or the newest when none does."""
        return self._tasks[task].takes.get(attempt) if task < len(self._tasks) else None

    def takes(self, task: int, attempt: int) -> list[AttemptRow]:
        """All takes of an attempt, oldest first."""
        return self._tasks[task].takes_of(attempt)

    def all_takes(self) -> Iterator[AttemptRow]:
        """Every take of every attempt, also those that no longer count."""
        for task in self._tasks:
            yield from task.all_takes()

    def next_failure(self, task: int, attempt: int, step: int = 1) -> tuple[int, int] | None:
        """The failure after (or, with step -1, before) this cell in reading order, around the end if need be."""
        return next_failure(self.order, self._places.get(task, 0), attempt, step, self.cells)

    def header(self) -> Header | None:
        run = self.run
        if run is None:
            return None
        sums = self._sums = self._sums or _sums_of(self._tasks)
        planned = run.n_planned
        throughput = eta = None
        now = self._clock()
        if self.ticking:
            throughput = self._pace.per_second(now, run.started_at)
            eta = Pace.seconds_left(planned - self.totals.n_ended, throughput)
        elapsed = run.active_seconds or None
        if run.started_at is not None:
            end = now if self._live else run.ended_at
            elapsed = elapsed if end is None else end - run.started_at
        return Header(
            run.effective_state,
            self.totals,
            sums.interval,
            planned,
            sums.n_learning,
            throughput,
            eta,
            run.concurrency,
            elapsed,
            (sums.n_settled, len(self._tasks)) if run.until_decided else None,
        )


class _Sums(NamedTuple):
    interval: Interval | None
    n_learning: int
    n_settled: int


def _sums_of(tasks: Sequence[TaskFold]) -> _Sums:
    """What the header says of all tasks together."""
    return _Sums(
        clustered((one.figures.n_passed, one.figures.n_scored) for one in tasks),
        sum(one.figures.zone is Zone.learning for one in tasks),
        sum(one.row.settled is not None and one.row.settled.is_claim for one in tasks),
    )
