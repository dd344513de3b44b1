"""An environment over its runs: every task as a row of marks, and the runs of the chosen one with their intervals."""

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.widget import Widget

from rollgrid.analysis.history_text import ASCII_MARKS, BRAILLE_MARKS, LEGEND, Marks
from rollgrid.analysis.text import counted
from rollgrid.errors import RollgridError
from rollgrid_tui.glyphs import ASCII
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import FeedScreen, StatusBar
from rollgrid_tui.state import show
from rollgrid_tui.state.history_view import ALL, HistoryView, RunLine, TaskLine, simulated
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.table import Column, Piece, Row, Table, cell, shared
from rollgrid_tui.widgets.words import SIMULATED, one_line, plain

WIDE = 120
"""From so many columns on, the tables stand side by side."""

_BAR = 20

TASKS = (
    Column("task", 12, grow=1),
    Column("runs, newest last", 19, grow=1),
    Column("now", 7, right=True),
    Column("rate", 4, right=True),
    Column("change", 17),
)
_SPARK = 1

RUNS = (
    Column("", 1),
    Column("run", 8),
    Column("when", 11),
    Column("model", 12, grow=1),
    Column("passed", 7, right=True),
    Column("rate", 4, right=True),
    Column("interval", _BAR),
)


class HistoryScreen(FeedScreen):
    CSS_PATH = "history.tcss"
    SCOPES = ("list", "history")
    BINDINGS = bindings("history")

    def __init__(self, env_name: str) -> None:
        super().__init__()
        self.env_name = env_name
        self.view: HistoryView | None = None
        self.fault: str | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="title")
        with Container(id="body"):
            yield Table(TASKS, id="tasks")
            with Vertical(id="right"):
                yield Bar(id="chosen", keep_left=True)
                yield Table(RUNS, id="runs")
        yield Bar(id="legend")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.query_one("#simulated", Bar).display = False
        self.query_one("#legend", Bar).show(plain(LEGEND, "$muted"))
        self.tasks.focus()
        self._look()

    @property
    def tasks(self) -> Table:
        return self.query_one("#tasks", Table)

    @property
    def runs(self) -> Table:
        return self.query_one("#runs", Table)

    def target(self, scope: str) -> Widget:
        if scope != "list":
            return self
        return self.runs if self.runs.has_focus else self.tasks

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self.call_after_refresh(self.sync)

    def log_changed(self) -> None:
        """Runs are looked at again when that is asked for: a history does not move by the second."""

    @work(exclusive=True, group="history")
    async def _look(self) -> None:
        try:
            told = await self.dashboard.load_history(self.dashboard.feed.path, self.env_name)
        except RollgridError as error:
            self.fault = one_line(str(error), 200)
        else:
            self.fault, self.view = None, HistoryView(told)
        if self.is_there:
            self.sync()
            if self.view is not None and self.view.told.runs:
                self.runs.cursor = len(self.view.told.runs) - 1

    # -- drawing

    def sync(self) -> None:
        view = self.view
        n = 0 if view is None else len(view.told.runs)
        told = "" if view is None else f"{counted(n, 'run')}, {counted(len(view.told.tasks), 'task')}"
        self.query_one("#title", Bar).show(
            plain(f"history  {one_line(self.env_name, 100)}", "bold"), plain(told, "$muted")
        )
        banner = self.query_one("#simulated", Bar)
        banner.display = view is not None and simulated(view.told)
        banner.show(SIMULATED)
        if view is None or not n:
            self.tasks.show([], self._empty())
            self.runs.show([])
            self.query_one("#chosen", Bar).show(plain(""))
        else:
            marks = ASCII_MARKS if self.dashboard.glyphs is ASCII else BRAILLE_MARKS
            room = dict(shared(TASKS, self.tasks.scrollable_size.width)).get(_SPARK, TASKS[_SPARK].width)
            self.tasks.show([self._task_row(view, line, marks, room) for line in view.lines])
            self._show_runs(view)
        self._show_status()

    def _show_runs(self, view: HistoryView) -> None:
        line = view.line(str(self.tasks.cursor))
        self.query_one("#chosen", Bar).show(
            plain(line.name, "bold"), plain(f"{view.says(line)}", "$warn" if line.changes else "$muted")
        )
        self.runs.show([self._run_row(one) for one in view.runs(line)])

    def _task_row(self, view: HistoryView, line: TaskLine, marks: Marks, room: int) -> Row:
        count = None if line.latest is None else line.counts[line.latest]
        change = line.changes[-1] if line.changes else None
        said, look = "", "quiet"
        if change is not None:
            run = one_line(view.told.runs[change.at].run_id, 10)
            said, look = f"{100 * change.delta:+.0f} from {run}", "bad" if change.delta < 0 else "good"
        return Row(
            line.key,
            (
                cell(line.name, "strong" if line.key == ALL else "text"),
                cell(view.spark(line, marks, room), "point"),
                cell("-" if count is None else str(count), "quiet"),
                cell(show.rate(None if count is None else count.rate)),
                cell(said, look),
            ),
        )

    def _run_row(self, one: RunLine) -> Row:
        rate = None if one.count is None else one.count.rate
        bar = self.dashboard.glyphs.interval(one.interval, rate, _BAR)
        name = one.run_id + (f"@{one.scoring}" if one.scoring > 1 else "")
        return Row(
            one.place,
            (
                cell(one.sign, "accent"),
                cell(name, "strong"),
                cell(one.when, "quiet"),
                cell(one.model, "quiet"),
                cell("-" if one.count is None else str(one.count), "quiet"),
                cell(show.rate(rate)),
                tuple(bar) if len(bar) > 1 else cell(bar[0][1], bar[0][0]),
            ),
        )

    def _show_status(self) -> None:
        view = self.view
        text = ""
        if view is not None and view.told.runs:
            about = view.about(self.runs.place) if self.runs.has_focus else ""
            text = about or (
                f"run {self.runs.place + 1} of {len(view.told.runs)}"
                if self.runs.has_focus
                else f"row {self.tasks.place + 1} of {len(view.lines)}"
            )
        self.status.rest(plain(self.fault or text, "$bad" if self.fault else "$muted"), self.hints)

    def _empty(self) -> list[list[Piece]]:
        if self.fault is not None:
            return [[("strong", "There is nothing to show.")], [("bad", self.fault)]]
        if self.view is None:
            return [[("quiet", "Reading the runs ...")]]
        return [
            [("strong", "No run of this environment has a score yet.")],
            [("quiet", "Each run that scores something shows up here.")],
        ]

    # -- what happens

    def on_table_cursor_moved(self, message: Table.CursorMoved) -> None:
        if self.view is not None and message.table is self.tasks and self.view.told.runs:
            self._show_runs(self.view)
        self._show_status()

    def on_table_opened(self, message: Table.Opened) -> None:
        if message.table is self.tasks:
            self.action_switch_pane()
        elif self.view is not None:
            self.dashboard.open_run(self.view.told.runs[message.table.place].run_id)

    def on_descendant_focus(self) -> None:
        self._show_status()

    def action_switch_pane(self) -> None:
        (self.tasks if self.runs.has_focus else self.runs).focus()

    def action_refresh(self) -> None:
        self._look()

    def action_back(self) -> None:
        if self.runs.has_focus:
            self.tasks.focus()
        else:
            self.dashboard.pop_screen()
