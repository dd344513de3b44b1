"""A history as plain text that is readable in 80 columns, without colour, and in ASCII where that must be."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from rollgrid.analysis.comparison import Count
from rollgrid.analysis.history import Change, History, PastRun, TaskHistory
from rollgrid.analysis.text import chance, counted, grid, percent, points, range_of
from rollgrid.analysis.wilson import Interval
from rollgrid.environments.report_text import UNICODE, for_stdout, stdout_glyphs
from rollgrid.text import clean_line

__all__ = [
    "ASCII_MARKS",
    "BRAILLE_MARKS",
    "LEGEND",
    "Marks",
    "change_text",
    "history_text",
    "spark",
    "task_text",
    "when",
]


class Marks(NamedTuple):
    """What a history is drawn with, each one cell wide: rates from low to high, no rate, and the parts of a bar."""

    levels: str
    nothing: str
    track: str
    span: str
    point: str


BRAILLE_MARKS = Marks("⣀⣤⣶⣿", "⋅", "⠤", "⠶", "⣿")
ASCII_MARKS = Marks("0123456789", ".", "-", "=", "#")

OTHER_ENVIRONMENT, CHANGED, POLICY = "|", ">", ":"
LEGEND = "| other environment  > changed by more than chance  : another policy"

_BAR = 21
_MODEL_CELLS = 22


def spark(told: History, counts: Sequence[Count | None], changes: Sequence[Change], marks: Marks, room: int) -> str:
    """A character for each run, newest last, with a mark before one that is not simply the next; the newest fit in."""
    changed = {one.at for one in changes}
    cells: list[str] = []
    for place, count in enumerate(counts):
        mark = ""
        if told.differs(place) is not None:
            mark = OTHER_ENVIRONMENT
        elif place in changed:
            mark = CHANGED
        elif told.policy_changed(place):
            mark = POLICY
        cells.append(mark + level(count, marks))
    used = 0
    shown = 0
    for cell in reversed(cells):
        if used + len(cell) > room:
            break
        used, shown = used + len(cell), shown + 1
    return "".join(cells[len(cells) - shown :]).lstrip(OTHER_ENVIRONMENT) if shown else ""


def level(count: Count | None, marks: Marks) -> str:
    """The character of a rate: all passed is the highest and only that, none passed the lowest."""
    if count is None or count.rate is None:
        return marks.nothing
    top = len(marks.levels) - 1
    if count.passed == count.scored:
        return marks.levels[top]
    return marks.levels[min(top - 1, int(count.rate * (top + 1)))]


def bar(interval: Interval | None, rate: float | None, marks: Marks, width: int = _BAR) -> str:
    """The interval from 0 to 1 as a bar, the rate in it."""
    if interval is None or rate is None:
        return marks.track * width
    low, high, at = (min(width - 1, int(value * width)) for value in (*interval, rate))
    return "".join(
        marks.point if place == at else marks.span if low <= place <= high else marks.track for place in range(width)
    )


def change_text(told: History, one: Change) -> str:
    """A change point in words."""
    run = clean_line(told.runs[one.at].run_id, 20)
    around = ""
    if one.earliest != one.latest:
        first, last = (clean_line(told.runs[place].run_id, 20) for place in (one.earliest, one.latest))
        around = f" ({first} to {last})"
    why = "same policy: drift"
    if one.policy_at is not None:
        why = f"the policy changed at {clean_line(told.runs[one.policy_at].run_id, 20)}"
    rates = f"{percent(one.before.rate)} -> {percent(one.after.rate)}, {points(one.delta)} points"
    return f"{rates} from run {run} on{around}, p {chance(one.p_value)}; {why}"


def history_text(told: History, ascii: bool = False) -> str:
    """The runs, what changed overall, then a row for each task, changed ones first."""
    marks = _marks(ascii)
    lines = [*_head(told), ""]
    lines += _runs(told, [run.count for run in told.runs], told.intervals, told.changes, marks)
    lines += ["", *_verdict(told)]
    rows = [_task_row(told, task, marks) for task in _changed_first(told.tasks)]
    lines += ["", *grid(("task", "runs, newest last", "now", "interval", "change"), rows, words=(0, 1, 4)), "", LEGEND]
    return for_stdout("\n".join(lines))


def task_text(told: History, task: TaskHistory, ascii: bool = False) -> str:
    """One task, a line for each run."""
    lines = [*_head(told), f"task {clean_line(task.id, 48)}", ""]
    lines += _runs(told, task.counts, task.intervals, task.changes, _marks(ascii))
    if task.changes:
        lines += ["", *(f"changed: {change_text(told, one)}" for one in task.changes)]
    else:
        lines += ["", f"no change by more than chance in {_compared(told)}"]
    return for_stdout("\n".join(lines))


def _marks(ascii: bool) -> Marks:
    return BRAILLE_MARKS if not ascii and stdout_glyphs() == UNICODE else ASCII_MARKS


def _head(told: History) -> list[str]:
    level_ = f"{100 * told.confidence:g} % intervals"
    lines = [f"{clean_line(told.env_name)}  {counted(len(told.runs), 'run')}, oldest first, {level_}"]
    if any(run.simulated for run in told.runs):
        lines.append("SIMULATED runs among them: their answers are made up, no model was asked")
    return lines


def _runs(
    told: History,
    counts: Sequence[Count | None],
    intervals: Sequence[Interval | None],
    changes: Sequence[Change],
    marks: Marks,
) -> list[str]:
    changed = {one.at for one in changes}
    rows: list[list[str]] = []
    for place, (run, count, interval) in enumerate(zip(told.runs, counts, intervals, strict=True)):
        sign = CHANGED if place in changed else POLICY if told.policy_changed(place) else ""
        rate = None if count is None else count.rate
        rows.append(
            [
                sign,
                clean_line(run.run_id, 12) + (f"@{run.scoring}" if run.scoring > 1 else ""),
                when(run.at),
                clean_line(run.model, _MODEL_CELLS),
                "-" if count is None else str(count),
                percent(rate),
                bar(interval, rate, marks),
            ]
        )
    lines = grid(("", "run", "when", "model", "passed", "rate", f"0 {'':{_BAR - 6}}100 %"), rows, words=(0, 1, 2, 3, 6))
    out = [lines[0]]
    for place, line in enumerate(lines[1:]):
        differs = told.differs(place)
        if differs is not None:
            what = ", ".join(clean_line(name) for name in differs) or "no fingerprint to compare"
            out.append(f"{OTHER_ENVIRONMENT}  another environment ({what}): not comparable with the runs above")
        out.append(line + _stopped(told.runs[place]))
    return out


def _stopped(run: PastRun) -> str:
    return f"  stopped early: {clean_line(run.stopped_early, 20)}" if run.stopped_early else ""


def _verdict(told: History) -> list[str]:
    if told.changes:
        return [f"changed overall: {change_text(told, one)}" for one in told.changes]
    return [f"no change overall by more than chance in {_compared(told)}"]


def _compared(told: History) -> str:
    """How much of the history was looked at for a change."""
    newest = told.series[-1] if told.series else 0
    n = told.series.count(newest)
    if len(set(told.series)) == 1:
        return counted(n, "comparable run")
    return f"{counted(n, 'run')} that can be compared with the newest one, nor before"


def _task_row(told: History, task: TaskHistory, marks: Marks) -> list[str]:
    latest = next((place for place in range(len(told.runs) - 1, -1, -1) if task.counts[place] is not None), None)
    count = None if latest is None else task.counts[latest]
    change = task.changes[-1] if task.changes else None
    said = "" if change is None else f"{points(change.delta)} from {clean_line(told.runs[change.at].run_id, 12)}"
    return [
        clean_line(task.id, 20),
        spark(told, task.counts, task.changes, marks, 28),
        "-" if count is None else str(count),
        range_of(None if latest is None else task.intervals[latest]),
        said,
    ]


def _changed_first(tasks: Sequence[TaskHistory]) -> list[TaskHistory]:
    """The largest of the latest changes on top, falls before rises; the others in their order."""
    return sorted(tasks, key=lambda task: task.changes[-1].delta if task.changes else 2.0)


def when(at: float) -> str:
    return time.strftime("%m-%d %H:%M", time.localtime(at))
