"""A failing attempt beside a passing one of the same task: where do they part?"""

import asyncio

from textual import events, work
from textual.app import ComposeResult
from textual.widget import Widget

from rollgrid.store.rows import AttemptRow
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import StatusBar
from rollgrid_tui.screens.run_control import ControlScreen
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.state.side_by_side import Sides, Step, compare_steps, outcome_text, steps_of
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.side_by_side import SideBySideView
from rollgrid_tui.widgets.words import join, one_line, plain


class ContrastScreen(ControlScreen):
    CSS_PATH = "contrast.tcss"
    SCOPES = ("contrast", "transcript", "control")
    BINDINGS = bindings("contrast")

    def __init__(self, view: RunView, task: int, attempt: int) -> None:
        super().__init__()
        self.view = view
        self._index = task
        self._given = attempt
        self._other: int | None = None
        """The attempt beside it that was asked for; None is the first that fits."""

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield SideBySideView(id="sides")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.sides.focus()

    @property
    def sides(self) -> SideBySideView:
        return self.query_one(SideBySideView)

    def target(self, scope: str) -> Widget:
        return self.sides if scope == "transcript" else self

    def on_resize(self, event: events.Resize) -> None:
        self._show_status()

    def log_changed(self) -> None:
        self.show_answers()
        self.show_banners(self.view.run)
        if not self.sides.sides.pairs:
            self.sync()

    def sync(self) -> None:
        self.show_banners(self.view.run)
        name = plain(one_line(self.view.task(self._index).id, 120), "bold")
        self.query_one("#title", Bar).show(join([name, plain("contrast", "$muted")], "  "))
        self._show_status()
        self._load()

    def _show_status(self) -> None:
        fault = self.dashboard.feed.fault
        others = self._others()
        text = f"{len(others)} {'passed' if not self._passed() else 'failed'} to compare with" if others else ""
        self.status.rest(plain(one_line(fault), "$bad") if fault else plain(text, "$muted"), self.hints)

    def _row(self, attempt: int) -> AttemptRow | None:
        return self.view.attempt(self._index, attempt)

    def _passed(self) -> bool:
        row = self._row(self._given)
        return row is not None and bool(row.passed)

    def _others(self) -> list[int]:
        """Attempts of the task with the opposite outcome."""
        rows = ((n, self._row(n)) for n in range(1, self.view.columns + 1))
        scored = [(n, row) for n, row in rows if row is not None and row.phase == "ended" and row.superseded is None]
        if self._passed():
            return [n for n, row in scored if not row.passed]
        return [n for n, row in scored if row.passed]

    @work(exclusive=True, group="attempt")
    async def _load(self) -> None:
        others = self._others()
        given = self._row(self._given)
        if given is None or given.phase != "ended":
            self.sides.say("This attempt has not ended yet.")
            return
        if not others:
            what = "failed" if self._passed() else "passed"
            key = self.dashboard.keymap.first("control.more")
            self.sides.say(f"No attempt of this task has {what} to compare with; {key} asks for one more.")
            return
        other = self._other if self._other in others else others[0]
        failed, passed = (other, self._given) if self._passed() else (self._given, other)
        left, right = await self._steps(failed), await self._steps(passed)
        sides: Sides = await asyncio.to_thread(compare_steps, left, right)
        if not self.is_there:
            return
        names = (f"attempt {failed}, {self._word(failed)}", f"attempt {passed}, {self._word(passed)}")
        self.sides.show(sides, names, (failed, passed))

    def _word(self, attempt: int) -> str:
        row = self._row(attempt)
        if row is None or row.passed is None:
            return one_line(row.stop_reason or "unscored", 20) if row is not None else "not started"
        return "passed" if row.passed else "failed"

    async def _steps(self, attempt: int) -> list[Step]:
        feed, row = self.dashboard.feed, self._row(attempt)
        if row is None:
            return []
        transcript = await feed.read(feed.transcript(self._index, attempt, row.take))
        outcome = outcome_text(
            passed=row.passed, value=row.value, reason=row.reason, error=row.error, stop_reason=row.stop_reason
        )
        return steps_of(transcript, outcome)

    def attempt_here(self) -> tuple[int, int] | None:
        return self._index, self._given

    # -- what happens

    def action_difference(self, step: int) -> None:
        if not self.sides.go_to_difference(step):
            self.status.say("no further difference" if self.sides.sides.pairs else "nothing is compared", "$muted", 3)

    def action_other(self, step: int) -> None:
        others = self._others()
        if len(others) < 2:
            self.status.say("there is no other attempt to compare with", "$muted", 3)
            return
        now = others.index(self._other) if self._other in others else 0
        self._other = others[(now + step) % len(others)]
        self.sync()

    def action_back(self) -> None:
        self.dashboard.pop_screen()
