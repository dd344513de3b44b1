"""One run: the live grid, and the attempt under the cursor beside it."""

import asyncio

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from rollgrid.store.scorings import OWN
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import StatusBar
from rollgrid_tui.screens.run_control import ControlScreen
from rollgrid_tui.state.run_view import Changes, RunView
from rollgrid_tui.state.scored import after, scoring_word
from rollgrid_tui.state.show import clock
from rollgrid_tui.widgets.attempt_pane import AttemptPane
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.filter_input import FilterInput
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import join, one_line, plain, progress_line, state_word, title

WIDE = 100
"""From this width on the pane stands beside the grid unless it was hidden; below, it opens under it when asked for."""

PANE_LEAST, PANE_MOST = 38, 100
"""Columns that the pane takes beside the grid."""

SETTLE_SECONDS = 0.06
"""A body is loaded once the cursor has rested this long, so that running over cells loads none."""


class RunScreen(ControlScreen):
    CSS_PATH = "run.tcss"
    SCOPES = ("grid", "run", "control")
    BINDINGS = bindings("run")

    def __init__(self, run_id: str, view: RunView) -> None:
        super().__init__()
        self.run_id = run_id
        self.view = view
        self._pane_wanted: bool | None = None
        self._tick_timer: Timer | None = None
        self.starts_at: tuple[int, int] | None = None
        """Where the cursor goes once the tasks are there."""

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield Bar(id="progress")
        with Container(id="body"):
            yield RolloutGrid(self.view, self.dashboard.glyphs, id="grid")
            yield AttemptPane(self.dashboard.glyphs, id="pane")
        yield FilterInput(id="filter")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.grid.focus()
        self._tick_timer = self.set_interval(1, self._tick, pause=True)

    @property
    def grid(self) -> RolloutGrid:
        return self.query_one(RolloutGrid)

    @property
    def pane(self) -> AttemptPane:
        return self.query_one(AttemptPane)

    def target(self, scope: str) -> Widget:
        return self.grid if scope == "grid" else self

    # -- showing

    def sync(self) -> None:
        self.dashboard.feed.take_changes()
        self._show(Changes(header=True, structure=True))

    def log_changed(self) -> None:
        self._show(self.dashboard.feed.take_changes() | self.view.resort())

    def on_screen_suspend(self) -> None:
        if self._tick_timer is not None:
            self._tick_timer.pause()

    def on_resize(self, event: events.Resize) -> None:
        self._place_pane()
        self._show_header()
        self._show_status()

    def _show(self, changes: Changes) -> None:
        self.grid.empty_text = self._empty()
        self.grid.show_changes(changes)
        if self.starts_at is not None and self.view.n_tasks:
            self.grid.cursor, self.starts_at = self.starts_at, None
        self._show_header()
        self._place_pane()
        self._show_attempt()
        self.show_answers()
        self._show_status()
        if self._tick_timer is not None:
            (self._tick_timer.resume if self.view.ticking else self._tick_timer.pause)()

    def _show_header(self) -> None:
        run, header = self.view.run, self.view.header()
        if run is None or header is None:
            self.query_one("#title", Bar).show(plain(self.run_id, "bold"))
            return
        self.show_banners(run)
        elapsed = plain(clock(header.elapsed), "$muted") if header.elapsed is not None else Content("")
        desk = self.dashboard.feed.scoring
        scoring = plain(scoring_word(desk.names, desk.shown), "$muted" if desk.shown == OWN else "$accent")
        right = join([part for part in (scoring, plain(run.run_id, "$muted"), elapsed, state_word(run)) if part], "  ")
        self.query_one("#title", Bar).show(title(run), right)
        width = self.size.width - 2
        self.query_one("#progress", Bar).show(progress_line(header, self.dashboard.glyphs, width))

    def _tick(self) -> None:
        """Time passed: elapsed, throughput and the time left have new digits."""
        if self.is_current:
            self._show_header()
            changes = self.view.resort()
            if changes:
                self.grid.show_changes(changes)

    def _show_status(self) -> None:
        view, feed = self.view, self.dashboard.feed
        if feed.fault:
            self.status.rest(plain(one_line(feed.fault), "$bad"), self.hints)
            return
        task, attempt = self.grid.cursor
        place = view.place(task)
        parts: list[str] = []
        if place is not None:
            parts.append(f"task {place + 1}/{len(view.order)}  attempt {attempt}/{len(view.cells(task))}")
        if view.sort.value != "position":
            parts.append(f"by {view.sort.value}")
        if view.filter.problem:
            parts.append(view.filter.problem)
        elif view.filter.text:
            hidden = view.n_tasks - len(view.order)
            parts.append(f"filter {one_line(view.filter.text, 30)} hides {hidden}")
        style = "$warn" if view.filter.problem else "$muted"
        self.status.rest(plain("   ".join(parts), style), self.hints)

    def _empty(self) -> str:
        if self.view.run is None:
            return "Reading the log ..."
        if not self.view.n_tasks:
            return "This run has no tasks yet; they appear once its runner has started."
        key = self.dashboard.keymap.first("run.back")
        return f"No task matches this filter. {key} takes it away."

    # -- the pane

    def _place_pane(self) -> None:
        wide = self.size.width >= WIDE
        self.query_one("#body").set_class(not wide, "stacked")
        self.pane.display = wide if self._pane_wanted is None else self._pane_wanted
        if wide:
            # The grid has first claim on the room, the pane on a readable column of it.
            left = self.size.width - self.grid.natural_width
            self.pane.styles.width = max(PANE_LEAST, self.size.width // 4, min(left, PANE_MOST))
        else:
            self.pane.styles.width = "1fr"

    def action_pane(self) -> None:
        self._pane_wanted = not self.pane.display
        self._place_pane()
        if not self.pane.display:
            self.grid.focus()
        self._show_attempt()

    def action_switch_pane(self) -> None:
        if not self.pane.display:
            self.action_pane()
        (self.pane.text if self.grid.has_focus else self.grid).focus()

    def _show_attempt(self) -> None:
        if not self.pane.display:
            self.dashboard.feed.watch_live(None)
            return
        if not self.view.order:
            self.dashboard.feed.watch_live(None)
            self.pane.show_nothing("")
            return
        self.dashboard.feed.watch_live(self.grid.cursor)
        self._load_attempt()

    @work(exclusive=True, group="pane")
    async def _load_attempt(self) -> None:
        feed, view = self.dashboard.feed, self.view
        task, attempt = self.grid.cursor
        row = view.attempt(task, attempt)
        transcript, prompt = None, ""
        if row is not None and row.phase == "ended":
            if not feed.has_transcript(task, attempt, row.take):
                await asyncio.sleep(SETTLE_SECONDS)
            transcript = await feed.read(feed.transcript(task, attempt, row.take))
        else:
            transcript = feed.live
            if transcript is None:
                prompt = (await feed.read(feed.task_text(task)) or ("", None))[0]
        if (task, attempt) == self.grid.cursor and task < view.n_tasks:
            self.pane.show(view.task(task), attempt, len(view.cells(task)), row, transcript, prompt, live=view.live)

    # -- what happens in the grid

    def on_rollout_grid_cursor_moved(self, message: RolloutGrid.CursorMoved) -> None:
        self._show_attempt()
        self._show_status()

    def on_rollout_grid_opened(self, message: RolloutGrid.Opened) -> None:
        self.dashboard.open_attempt(message.task, message.attempt)

    def go_to(self, task: int, attempt: int) -> None:
        self.grid.cursor = (task, attempt)

    def attempt_here(self) -> tuple[int, int] | None:
        return self.grid.cursor

    def action_failure(self, step: int) -> None:
        found = self.view.next_failure(*self.grid.cursor, step)
        if found is None:
            self.status.say("no failed attempt in sight", "$muted")
        else:
            self.grid.cursor = found

    def action_sort(self) -> None:
        self._show(self.view.set_sort(self.view.sort.next(with_delta=self.view.has_baseline)))
        self.status.say(f"sorted by {self.view.sort.value}", "$muted", 2)

    def action_scoring(self) -> None:
        desk = self.dashboard.feed.scoring
        if not desk.names:
            self.status.say("this run has its own scores only; rollgrid rescore RUN makes another scoring", "$muted")
        else:
            self.dashboard.open_scoring(after(desk.names, desk.shown))

    # -- filter

    def action_filter(self) -> None:
        self.query_one(FilterInput).open(self.view.filter.text)

    def on_input_changed(self, message: Input.Changed) -> None:
        self._show(self.view.set_filter(message.value))

    def on_filter_input_closed(self, message: FilterInput.Closed) -> None:
        if not message.kept:
            self._show(self.view.set_filter(""))
        self.grid.focus()

    def action_back(self) -> None:
        if self.view.filter.text:
            self._show(self.view.set_filter(""))
        elif self.focused is not None and isinstance(self.focused, TranscriptView):
            self.grid.focus()
        else:
            self.dashboard.open_runs()

    # -- control

    def action_retry(self) -> None:
        if self.view.order:
            self.retry_attempt(*self.grid.cursor)
