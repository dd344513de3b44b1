"""The storm desk: errors by cause, a whole sample of each, and what to do about it."""

from textual import events
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widget import Widget

from rollgrid.analysis.text import counted
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import StatusBar
from rollgrid_tui.screens.run_control import ControlScreen
from rollgrid_tui.state.alerts_view import ADVICE, Cluster, clusters
from rollgrid_tui.state.attempt_view import BODY, Block, Kind, section
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.state.runs_view import age
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.table import Column, Piece, Row, Table, cell
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import one_line, plain, state_word, title

COLUMNS = (
    Column("count", 5, right=True),
    Column("recent", 8, right=True),
    Column("cause", 16),
    Column("error", 12, grow=1),
    Column("tasks", 5, right=True),
    Column("first", 5, right=True, least=90),
    Column("last", 5, right=True),
)

LOOK_SECONDS = 1.0
"""Errors are sorted into clusters at most this often: in a storm every attempt is one."""

TASKS_NAMED = 12


class AlertsScreen(ControlScreen):
    CSS_PATH = "alerts.tcss"
    SCOPES = ("list", "alerts", "control")
    UNHINTED = frozenset({"control.alerts"})
    BINDINGS = bindings("alerts")

    def __init__(self, view: RunView) -> None:
        super().__init__()
        self.view = view
        self.clusters: list[Cluster] = []
        self._again: Timer | None = None
        self._looked_at = 0.0

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield Table(COLUMNS, id="list")
        yield TranscriptView(id="text")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.table.focus()

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    def target(self, scope: str) -> Widget:
        return self.table if scope == "list" else self

    def on_resize(self, event: events.Resize) -> None:
        self._place()
        self._show_status()

    # -- showing

    def log_changed(self) -> None:
        self._show_run()
        wait = LOOK_SECONDS - (self.dashboard.feed.clock() - self._looked_at)
        if self._again is None and wait > 0:
            self._again = self.set_timer(wait, self._look_again)
        elif self._again is None:
            self.sync()

    def _look_again(self) -> None:
        self._again = None
        if self.is_current:
            self.sync()

    def sync(self) -> None:
        run = self.view.run
        self._looked_at = self.dashboard.feed.clock()
        self.clusters = clusters(
            self.view.all_takes(), run.concurrency if run is not None else 0, run.storm if run is not None else None
        )
        self._show_run()
        self.table.show([self._row(one) for one in self.clusters], self._empty())
        self._place()
        self._show_detail()
        self._show_status()

    def _show_run(self) -> None:
        run = self.view.run
        self.show_banners(run)
        if run is not None:
            self.query_one("#title", Bar).show(title(run), state_word(run))
        self.show_answers()

    def _place(self) -> None:
        """The list takes what it needs, and never more than a good third."""
        self.table.styles.height = max(3, min(len(self.clusters) + 1, self.size.height * 2 // 5))
        self.query_one(TranscriptView).display = bool(self.clusters) or bool(self.dashboard.feed.commands)
        if not self.clusters:
            self.table.styles.height = 6

    def _show_status(self) -> None:
        fault = self.dashboard.feed.fault
        n = len(self.clusters)
        text = f"error {self.table.place + 1} of {n}" if n else ""
        self.status.rest(plain(one_line(fault), "$bad") if fault else plain(text, "$muted"), self.hints)

    def _row(self, one: Cluster) -> Row:
        now = self.dashboard.feed.clock()
        storm = self.view.run is not None and self.view.run.storm == one.signature
        return Row(
            one.signature,
            (
                cell(str(one.n), "strong"),
                cell(f"{one.n_recent}/{one.recent}", "bad" if one.n_recent * 2 > one.recent else "quiet"),
                cell(one.cause.value, "bad" if storm else "warn"),
                cell(one_line(one.signature, 300)),
                cell(str(len(one.tasks)), "quiet"),
                cell(age(now - one.first), "quiet"),
                cell(age(now - one.last), "quiet"),
            ),
        )

    def _empty(self) -> list[list[Piece]]:
        if self.view.run is None:
            return [[("quiet", "Reading the log ...")]]
        return [
            [("strong", "No errors.")],
            [],
            [("quiet", "Attempts that fail without a score show here, in clusters of one cause each.")],
            [("quiet", "A wrong answer is no error: it is scored, and counts.")],
        ]

    def _chosen(self) -> Cluster | None:
        return self.clusters[self.table.place] if self.clusters else None

    def _show_detail(self) -> None:
        one = self._chosen()
        blocks = self._about(one) if one is not None else []
        commands = self.control.history()
        if commands:
            lines = (Block(Kind.quiet, line, indent=BODY, hang=10) for line in commands)
            blocks += section("what was asked of the run", *lines)
        self.query_one(TranscriptView).show(blocks, one.signature if one is not None else "")

    def _about(self, one: Cluster) -> list[Block]:
        happened, advice = ADVICE[one.cause]
        keys = self.dashboard.keymap
        run_id = self.view.run.run_id if self.view.run is not None else "RUN"
        words = {
            "run": run_id,
            "resume": f"rollgrid resume {run_id}",
            "slower": keys.first("control.slower"),
            "auto": keys.first("control.auto"),
            "retry": keys.first("alerts.retry"),
        }
        names = ", ".join(one_line(self.view.task(task).id, 60) for task in one.tasks[:TASKS_NAMED])
        more = f" and {len(one.tasks) - TASKS_NAMED} more" if len(one.tasks) > TASKS_NAMED else ""
        again = f"{one.n - one.n_open} replaced by new attempts, {one.n_open} still count" if one.n > one.n_open else ""
        return [
            *section(
                "what to do",
                Block(Kind.warn, happened, indent=BODY),
                Block(Kind.text, advice.format(**words), indent=BODY),
            ),
            *section("one of them, whole", Block(Kind.bad, one.sample, indent=BODY)),
            *section("tasks", Block(Kind.text, names + more, indent=BODY), note=again),
        ]

    # -- what happens

    def on_table_cursor_moved(self, message: Table.CursorMoved) -> None:
        self._show_detail()
        self._show_status()

    def on_table_opened(self, message: Table.Opened) -> None:
        one = self._chosen()
        if one is not None:
            self.dashboard.open_attempt(*one.cells[0])

    def action_retry(self) -> None:
        one = self._chosen()
        if one is None:
            self.status.say("there is no error to retry", "$muted", 3)
        elif not one.n_open:
            self.status.say("all of them were run again already", "$muted", 3)
        else:
            self.ask("retry", {"signature": one.signature}, f"run {counted(one.n_open, 'attempt')} of this error again")

    def action_switch_pane(self) -> None:
        text = self.query_one(TranscriptView)
        (text if self.table.has_focus and text.display else self.table).focus()

    def action_back(self) -> None:
        if self.table.has_focus:
            self.dashboard.pop_screen()
        else:
            self.table.focus()
