"""The list of runs: live ones on top, then the newest."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rollgrid.store.rows import RunRow
from rollgrid_tui.state.figures import Interval, wilson

LEARNING_SECONDS = 5.0
"""The tasks of a live run are counted at most this often: that goes through all its attempts."""

MINUTE, HOUR, DAY = 60, 3600, 86400


class RunLine(NamedTuple):
    """What the list shows of a run. `interval` ignores that attempts of a task resemble each other: it is a sketch."""

    run: RunRow
    state: str
    live: bool
    rate: float | None
    interval: Interval | None
    n_unscored: int
    n_learning: int | None
    """Tasks that pass now and then; None: nothing is scored yet, or it was not counted."""
    age: str


class RunsView:
    """Folds run rows into lines; `version` grows when something to show has changed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._rows: tuple[RunRow, ...] = ()
        self._learning: dict[str, tuple[int, float, int]] = {}
        """By run: its `seq` when its tasks were counted, when that was, and the count."""
        self.lines: list[RunLine] = []
        self.version = 0
        self.loaded = False

    def unmeasured(self, rows: Sequence[RunRow]) -> list[str]:
        """Runs whose tasks in the learning zone are to be counted again."""
        now = self._clock()
        wanted: list[str] = []
        for run in rows:
            seq, at, _ = self._learning.get(run.run_id, (-1, 0.0, 0))
            if run.n_scored and seq != run.seq and (seq < 0 or not run.alive or now - at >= LEARNING_SECONDS):
                wanted.append(run.run_id)
        return wanted

    def apply(self, rows: Sequence[RunRow], learning: Mapping[str, int] | None = None) -> bool:
        """Take in the runs of the log; True when the list looks different now. `learning` counts tasks by run."""
        self.loaded = True
        seqs, now = {run.run_id: run.seq for run in rows}, self._clock()
        self._learning.update((run_id, (seqs[run_id], now, n)) for run_id, n in (learning or {}).items())
        self._rows = tuple(rows)
        return self.tick()

    def tick(self) -> bool:
        """Bring ages up to date; True when a digit of one changed."""
        now = self._clock()
        lines = [_line(run, now, self._learning.get(run.run_id, (0, 0.0, None))[2]) for run in self._rows]
        lines.sort(key=lambda line: (not line.live, -line.run.created_at))
        if lines == self.lines:
            return False
        self.lines = lines
        self.version += 1
        return True

    def place(self, run_id: str) -> int | None:
        return next((place for place, line in enumerate(self.lines) if line.run.run_id == run_id), None)

    @property
    def any_live(self) -> bool:
        return any(line.live for line in self.lines)

    def storm(self) -> RunRow | None:
        """The first live run in a storm."""
        return next((line.run for line in self.lines if line.live and line.run.storm), None)


def _line(run: RunRow, now: float, learning: int | None) -> RunLine:
    state = run.effective_state
    live = run.alive and state in {"running", "paused", "stopping"}
    rate = run.n_passed / run.n_scored if run.n_scored else None
    unscored = max(0, run.n_ended - run.n_scored)
    interval = wilson(run.n_passed, run.n_scored)
    return RunLine(run, state, live, rate, interval, unscored, learning, age(now - run.created_at))


def age(seconds: float) -> str:
    """How long ago, in the largest unit that is at least one: `now`, `5m`, `3h`, `12d`."""
    if seconds < MINUTE:
        return "now"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)}m"
    if seconds < DAY:
        return f"{int(seconds // HOUR)}h"
    return f"{int(seconds // DAY)}d"
