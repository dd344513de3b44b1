"""The list of runs."""

from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from rollgrid_tui.screens.base import FeedScreen, StatusBar
from rollgrid_tui.state.runs_view import RunLine
from rollgrid_tui.state.show import cost, count, rate
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.runs_list import RunsList
from rollgrid_tui.widgets.words import join, one_line, plain


class RunsScreen(FeedScreen):
    CSS_PATH = "runs.tcss"
    SCOPES = ("runs",)
    _ages: Timer

    def compose(self) -> ComposeResult:
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield RunsList(self.dashboard.feed.runs, self.dashboard.glyphs, id="list")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.query_one(RunsList).focus()
        # Ages change by the minute; nothing is drawn while no digit does.
        self._ages = self.set_interval(10, self._tick)

    def on_screen_resume(self) -> None:
        self.dashboard.feed.want_runs(True)
        super().on_screen_resume()

    def on_screen_suspend(self) -> None:
        self.dashboard.feed.want_runs(False)

    def target(self, scope: str) -> Widget:
        return self.query_one(RunsList) if scope == "runs" else self

    def on_resize(self) -> None:
        self.sync()

    def sync(self) -> None:
        feed = self.dashboard.feed
        runs = self.query_one(RunsList)
        runs.empty_lines = self._empty()
        runs.show_changes()
        path = one_line(feed.shown_path, 200)
        self.query_one("#title", Bar).show(plain("rollgrid", "bold"), plain(path, "$muted"))
        self.show_storm(feed.runs.storm())
        n = len(feed.runs.lines)
        if feed.fault:
            self.status.rest(plain(one_line(feed.fault), "$bad"), self.hints)
        else:
            self.status.rest(self._figures(feed.runs.lines[runs.place], runs.place, n) if n else plain(""), self.hints)

    def _figures(self, line: RunLine, place: int, n: int) -> Content:
        """The run under the cursor, in the figures that a narrow list has no columns for."""
        run = line.run
        parts = [plain(f"run {place + 1} of {count(n)}", "$muted")]
        if line.interval is not None:
            low, high = line.interval.low * 100, line.interval.high * 100
            parts.append(plain(f"{rate(line.rate)} {low:.0f}-{high:.0f}% n={count(run.n_scored)}", "$muted"))
        if line.n_learning:
            parts.append(plain(f"{line.n_learning} learning", "$muted"))
        if line.n_unscored:
            parts.append(plain(f"{line.n_unscored} unscored", "$muted"))
        if run.cost is not None:
            parts.append(plain(cost(run.cost), "$muted"))
        return join(parts, "  ")

    def on_runs_list_cursor_moved(self, message: RunsList.CursorMoved) -> None:
        self.sync()

    def on_runs_list_opened(self, message: RunsList.Opened) -> None:
        self.dashboard.open_run(message.run_id)

    def on_runs_list_history_wanted(self, message: RunsList.HistoryWanted) -> None:
        self.dashboard.open_history(message.env_name)

    def _tick(self) -> None:
        if self.is_current and self.dashboard.feed.runs.tick():
            self.sync()

    def _empty(self) -> list[list[tuple[str, str]]]:
        feed = self.dashboard.feed
        if feed.fault:
            return [[("strong", "The log cannot be read.")], [("bad", one_line(feed.fault))]]
        if not feed.missing and not feed.runs.loaded:
            return [[("quiet", "Reading the log ...")]]
        return [
            [("strong", "No runs here yet.")],
            [],
            [("accent", "rollgrid demo     "), ("quiet", "a small model of its own, no key, no network")],
            [("accent", "rollgrid run ENV  "), ("quiet", "your environment: path.py, path.py:name, module:name")],
            [],
            [("quiet", "A run shows up here as soon as it starts, from whichever terminal.")],
        ]
