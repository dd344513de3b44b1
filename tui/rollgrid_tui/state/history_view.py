"""An environment over its runs: the rows of the history screen."""

from dataclasses import dataclass

from rollgrid.analysis.comparison import Count
from rollgrid.analysis.history import Change, History
from rollgrid.analysis.history_text import CHANGED, OTHER_ENVIRONMENT, POLICY, Marks, spark, when
from rollgrid.analysis.text import chance
from rollgrid.analysis.wilson import Interval
from rollgrid.text import clean_line
from rollgrid_tui.state import show

__all__ = ["ALL", "HistoryView", "RunLine", "TaskLine"]

ALL = ""
"""The key of the row for all tasks together; a task's key is its id with a mark before it."""


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A row of the upper table: a task, or all of them (`key` is `ALL`). `delta` is of its latest change."""

    key: str
    name: str
    counts: tuple[Count | None, ...]
    intervals: tuple[Interval | None, ...]
    changes: tuple[Change, ...]

    @property
    def latest(self) -> int | None:
        """The place of the newest run that has it."""
        return next((place for place in range(len(self.counts) - 1, -1, -1) if self.counts[place] is not None), None)

    @property
    def delta(self) -> float | None:
        return self.changes[-1].delta if self.changes else None


@dataclass(frozen=True, slots=True)
class RunLine:
    """A row of the lower table: one run, as the chosen task came out in it."""

    place: int
    run_id: str
    scoring: int
    sign: str
    when: str
    model: str
    simulated: bool
    count: Count | None
    interval: Interval | None


class HistoryView:
    """What the screen shows of a history. All text is clean."""

    def __init__(self, told: History) -> None:
        self.told = told
        everything = TaskLine(ALL, "all tasks", tuple(run.count for run in told.runs), told.intervals, told.changes)
        tasks = [
            TaskLine("=" + task.id, clean_line(task.id, 200), task.counts, task.intervals, task.changes)
            for task in told.tasks
        ]
        # Falls first, then rises, then what stayed.
        tasks.sort(key=lambda line: 2.0 if line.delta is None else line.delta)
        self.lines: tuple[TaskLine, ...] = (everything, *tasks)
        self._by_key = {line.key: line for line in self.lines}

    def line(self, key: str) -> TaskLine:
        """The row with this key, the first one where there is none."""
        return self._by_key.get(key, self.lines[0])

    def spark(self, line: TaskLine, marks: Marks, room: int) -> str:
        """A character for each run, newest last, as many as `room` holds."""
        return spark(self.told, line.counts, line.changes, marks, room)

    def runs(self, line: TaskLine) -> list[RunLine]:
        """Its runs, oldest first."""
        changed = {one.at for one in line.changes}
        return [
            RunLine(
                place,
                clean_line(run.run_id, 20),
                run.scoring,
                self._sign(place, changed),
                when(run.at),
                clean_line(run.model, 100),
                run.simulated,
                line.counts[place],
                line.intervals[place],
            )
            for place, run in enumerate(self.told.runs)
        ]

    def _sign(self, place: int, changed: set[int]) -> str:
        if self.told.differs(place) is not None:
            return OTHER_ENVIRONMENT
        return CHANGED if place in changed else POLICY if self.told.policy_changed(place) else ""

    def says(self, line: TaskLine) -> str:
        """What is known of its changes, in a line, the latest first."""
        if line.changes:
            return "; ".join(self._says(one) for one in reversed(line.changes))
        n = self.told.series.count(self.told.series[-1]) if self.told.series else 0
        return f"no change by more than chance in {n} comparable run{'' if n == 1 else 's'}"

    def _says(self, one: Change) -> str:
        why = "same policy: drift"
        if one.policy_at is not None:
            why = f"another policy at {clean_line(self.told.runs[one.policy_at].run_id, 20)}"
        rates = f"{show.rate(one.before.rate)} -> {show.rate(one.after.rate)}"
        return f"{rates} from {clean_line(self.told.runs[one.at].run_id, 20)} on, p {chance(one.p_value)}, {why}"

    def about(self, place: int) -> str:
        """What sets the run at this place apart from the one before."""
        differs = self.told.differs(place)
        if differs is not None:
            what = ", ".join(clean_line(name) for name in differs) or "no fingerprint to compare"
            return f"another environment ({what}) than the run above, not comparable with it"
        if self.told.policy_changed(place):
            before = self.told.before(place)
            old = "" if before is None else clean_line(self.told.runs[before].model, 40)
            new = clean_line(self.told.runs[place].model, 40)
            return f"another policy: {old} -> {new}" if old != new else "another policy: other parameters"
        return ""


def simulated(told: History) -> bool:
    """Whether made-up answers are among what is shown."""
    return any(run.simulated for run in told.runs)
