"""A run against a baseline: tasks on the left, an attempt of each side on the right."""

import asyncio
from typing import TYPE_CHECKING, Any

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.timer import Timer
from textual.widget import Widget

from rollgrid_tui.baselines import attempt_body, compare, counts_of
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import StatusBar
from rollgrid_tui.screens.run_control import ControlScreen
from rollgrid_tui.state.diff_view import DiffLine, lines_of, signed, summary
from rollgrid_tui.state.figures import wilson
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.state.side_by_side import Step, by_index, by_outcome, compare_steps, outcome_text, steps_of
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.side_by_side import SideBySideView
from rollgrid_tui.widgets.table import Column, Piece, Row, Table, cell
from rollgrid_tui.widgets.words import one_line, plain

if TYPE_CHECKING:
    from rollgrid.environments.attempt import AttemptResult
    from rollgrid.environments.result import EnvironmentRunResult, TaskResult

WIDE = 120
"""From this width on both panes show; below, the one that has the keys."""

LOOK_SECONDS = 2.0
"""A live run is compared anew at most this often."""

SETTLE_SECONDS = 0.06
"""Attempts are read once the cursor has rested this long."""

BAR = 8

COLUMNS = (
    Column("task", 10, grow=1),
    Column("base", 6, right=True),
    Column("", BAR, least=66),
    Column("now", 6, right=True),
    Column("", BAR, least=66),
    Column("delta", 6, right=True),
    Column("verdict", 14),
)

VERDICT_LOOKS = {"regressed": "bad", "improved": "good"}


class DiffScreen(ControlScreen):
    CSS_PATH = "diff.tcss"
    SCOPES = ("list", "diff", "control")
    BINDINGS = bindings("diff")

    def __init__(self, view: RunView, baseline: "EnvironmentRunResult", shown: str) -> None:
        super().__init__()
        self.view = view
        self.baseline = baseline
        self.shown = shown
        self.lines: list[DiffLine] = []
        self._old: dict[str, TaskResult] = {str(one.task.id): one for one in baseline.task_results}
        self._new: dict[str, int] = {}
        self._by_outcome = True
        self._pair = 0
        self._right_wanted = False
        self._compared: Any = None
        self._again: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield Bar(id="summary", keep_left=True)
        with Container(id="body"):
            yield Table(COLUMNS, id="list")
            with Vertical(id="right"):
                yield Bar(id="pair")
                yield SideBySideView(id="sides")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.table.show([], [[("quiet", "Comparing ...")]])
        self.table.focus()

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    @property
    def sides(self) -> SideBySideView:
        return self.query_one(SideBySideView)

    def target(self, scope: str) -> Widget:
        return self.table if scope == "list" else self

    def on_resize(self, event: events.Resize) -> None:
        self._place()
        self._show_status()

    # -- comparing

    def log_changed(self) -> None:
        self.show_banners(self.view.run)
        self.show_answers()
        if self._again is None:
            self._again = self.set_timer(LOOK_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._again = None
        if self.is_current:
            self.sync()

    def sync(self) -> None:
        self.show_banners(self.view.run)
        env = one_line(self.baseline.env_name, 60)
        name = plain(
            f"{env}: {one_line(self.shown, 80)} against {one_line(self.dashboard.feed.run_id or '', 20)}", "bold"
        )
        self.query_one("#title", Bar).show(name)
        self._place()
        self._show_status()
        self._compare()

    @work(exclusive=True, group="diff")
    async def _compare(self) -> None:
        view, run = self.view, self.view.run
        if run is None:
            return
        self._new = {view.task(index).id: index for index in range(view.n_tasks)}
        new = {name: view.figures(index) for name, index in self._new.items()}
        counts = {name: (figures.n_passed, figures.n_scored) for name, figures in new.items()}
        if counts == self._compared:
            return
        policy = self.baseline.policy_fingerprint
        changed = policy is None or policy != run.policy_fingerprint
        found = await asyncio.to_thread(
            compare, counts_of(self.baseline), counts, env_name=run.env_name, policy_changed=changed
        )
        if not self.is_there:
            return
        self._compared = counts
        self.lines = lines_of(found)
        look = {"regressed": "$bad", "improved": "$good"}.get(found.verdict.value, "$muted")
        self.query_one("#summary", Bar).show(plain(summary(found), look))
        self.table.show([self._row(line) for line in self.lines], self._empty())
        self._show_status()
        self._show_pair()

    def _empty(self) -> list[list[Piece]]:
        return [[("strong", "Neither side has a task.")], [("quiet", "A run has tasks once its runner has started.")]]

    def _row(self, line: DiffLine) -> Row:
        return Row(
            line.id,
            (
                cell(one_line(line.id, 200)),
                cell("-" if line.old is None else f"{line.old[0]}/{line.old[1]}", "quiet"),
                self._bar(line.old),
                cell("-" if line.new is None else f"{line.new[0]}/{line.new[1]}", "strong"),
                self._bar(line.new),
                cell(signed(line.delta), VERDICT_LOOKS.get(line.verdict, "text")),
                cell(one_line(line.words, 60), VERDICT_LOOKS.get(line.verdict, "quiet")),
            ),
        )

    def _bar(self, count: tuple[int, int] | None) -> tuple[Piece, ...]:
        if count is None or not count[1]:
            return cell("")
        pieces = self.dashboard.glyphs.interval(wilson(*count), count[0] / count[1], BAR)
        return tuple(pieces)

    def _show_status(self) -> None:
        fault = self.dashboard.feed.fault
        n = len(self.lines)
        text = f"task {self.table.place + 1}/{n}" if n else ""
        text += "  by outcome" if self._by_outcome else "  by number"
        self.status.rest(plain(one_line(fault), "$bad") if fault else plain(text, "$muted"), self.hints)

    # -- the panes

    def _place(self) -> None:
        wide = self.size.width >= WIDE
        right = self.query_one("#right")
        right.display = wide or self._right_wanted
        self.table.display = wide or not self._right_wanted

    def action_switch_pane(self) -> None:
        self._right_wanted = not self._right_wanted
        self._place()
        (self.sides if self._right_wanted else self.table).focus()

    def on_table_opened(self, message: Table.Opened) -> None:
        self.action_switch_pane()

    def action_back(self) -> None:
        if self._right_wanted:
            self.action_switch_pane()
        else:
            self.dashboard.pop_screen()

    # -- a pair of attempts

    def _line(self) -> DiffLine | None:
        return self.lines[self.table.place] if self.lines else None

    def _pairs(self, line: DiffLine) -> list[tuple[int | None, int | None]]:
        old = self._old[line.id].attempts if line.id in self._old else ()
        index = self._new.get(line.id)
        new: list[bool | None] = []
        if index is not None:
            rows = [self.view.attempt(index, n) for n in range(1, self.view.columns + 1)]
            new = [row.passed if row is not None and row.superseded is None else None for row in rows]
        if not self._by_outcome:
            return by_index(len(old), len(new))
        return by_outcome([one.score.passed if one.score is not None else None for one in old], new)

    def on_table_cursor_moved(self, message: Table.CursorMoved) -> None:
        self._pair = 0
        self._show_status()
        self._show_pair()

    def action_step(self, step: int) -> None:
        line = self._line()
        pairs = self._pairs(line) if line is not None else []
        if 0 <= self._pair + step < len(pairs):
            self._pair += step
            self._show_pair()
        else:
            self.status.say("no further attempt", "$muted", 3)

    def action_task(self, step: int) -> None:
        self.table.action_cursor(step)

    def action_align(self) -> None:
        self._by_outcome, self._pair = not self._by_outcome, 0
        self._show_status()
        self._show_pair()

    def action_difference(self, step: int) -> None:
        if not self.sides.go_to_difference(step):
            self.status.say("no further difference", "$muted", 3)

    @work(exclusive=True, group="attempt")
    async def _show_pair(self) -> None:
        line = self._line()
        if line is None or not self.is_there:
            return
        pairs = self._pairs(line)
        self._pair = max(0, min(self._pair, len(pairs) - 1))
        name = plain(one_line(line.id, 100), "bold")
        self.query_one("#pair", Bar).show(name, plain(f"pair {self._pair + 1} of {len(pairs)}", "$muted"))
        if not pairs:
            key = self.dashboard.keymap.first("control.more")
            self.sides.say(f"No attempt on either side. {key} on the task in the grid asks for one.")
            return
        await asyncio.sleep(SETTLE_SECONDS)
        old, new = pairs[self._pair]
        one = self._old[line.id].attempts[old - 1] if old is not None else None
        left = await asyncio.to_thread(_baseline_steps, one)
        right, word = await self._current_steps(self._new.get(line.id), new)
        sides = await asyncio.to_thread(compare_steps, left, right)
        if not self.is_there:
            return
        outcome = "-" if one is None else _word(one.score.passed if one.score is not None else None)
        names = (f"baseline {old or '-'}, {outcome}", f"current {new or '-'}, {word}")
        self.sides.show(sides, names, (line.id, old, new))

    async def _current_steps(self, task: int | None, attempt: int | None) -> tuple[list[Step], str]:
        row = self.view.attempt(task, attempt) if task is not None and attempt is not None else None
        if row is None or row.phase != "ended":
            return [], "not ended" if row is not None else "not started"
        feed = self.dashboard.feed
        transcript = await feed.read(feed.transcript(row.task, row.attempt, row.take))
        outcome = outcome_text(
            passed=row.passed, value=row.value, reason=row.reason, error=row.error, stop_reason=row.stop_reason
        )
        return steps_of(transcript, outcome), _word(row.passed)


def _word(passed: bool | None) -> str:
    return "unscored" if passed is None else "passed" if passed else "failed"


def _baseline_steps(attempt: "AttemptResult | None") -> list[Step]:
    if attempt is None:
        return []
    score = attempt.score
    outcome = outcome_text(
        passed=score.passed if score is not None else None,
        value=score.value if score is not None else None,
        reason=score.reason if score is not None else None,
        error=attempt.error,
        stop_reason=attempt.stop_reason.value,
    )
    return steps_of(attempt_body(attempt), outcome)
