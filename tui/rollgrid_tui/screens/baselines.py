"""Every baseline file of the project, and whether it can be compared with the run that is shown."""

import asyncio
from pathlib import Path

from textual import events, work
from textual.app import ComposeResult
from textual.widget import Widget

from rollgrid.errors import RollgridError
from rollgrid_tui.baselines import BaselineFile, Found, date, find_baselines, load_baseline, match
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import FeedScreen, StatusBar
from rollgrid_tui.screens.diff import DiffScreen
from rollgrid_tui.screens.mismatch import MismatchScreen
from rollgrid_tui.state import show
from rollgrid_tui.state.figures import wilson
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.table import Column, Piece, Row, Table, cell
from rollgrid_tui.widgets.words import one_line, plain

COLUMNS = (
    Column("", 1),
    Column("file", 14, grow=3),
    Column("environment", 12, grow=1),
    Column("policy", 12, grow=1, least=100),
    Column("date", 10, least=70),
    Column("passed", 6, right=True),
    Column("interval", 12, least=110),
    Column("n", 5, right=True),
    Column("this run", 9),
)

LOOKS = {"same": "good", "differs": "warn", "unknown": "warn", "simulated": "warn", "real": "warn"}


class BaselinesScreen(FeedScreen):
    CSS_PATH = "baselines.tcss"
    SCOPES = ("list", "baselines")
    UNHINTED = frozenset({"app.baselines"})
    BINDINGS = bindings("baselines")

    def __init__(self) -> None:
        super().__init__()
        self.found: Found | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield Table(COLUMNS, id="list")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.table.focus()
        self._search()

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    def target(self, scope: str) -> Widget:
        return self.table if scope == "list" else self

    def on_resize(self, event: events.Resize) -> None:
        self._show_status()

    @work(exclusive=True, group="baselines")
    async def _search(self) -> None:
        self.found = await asyncio.to_thread(find_baselines, self.dashboard.project)
        if self.is_current:
            self.sync()

    def sync(self) -> None:
        run = self.dashboard.feed.run.run if self.dashboard.feed.run is not None else None
        self.show_banners(run)
        shown = one_line(shown_folder(self.dashboard.project), 200)
        self.query_one("#title", Bar).show(plain("baselines", "bold"), plain(shown, "$muted"))
        files = self.found.files if self.found is not None else ()
        self.table.show([self._row(one) for one in files], self._empty())
        self._show_status()

    def _show_status(self) -> None:
        files = self.found.files if self.found is not None else ()
        text = f"file {self.table.place + 1} of {len(files)}" if files else ""
        if self.found is not None and not self.found.complete:
            text += "  there are more than are listed"
        one = self._chosen()
        if one is not None and one.fault:
            self.status.rest(plain(one_line(one.fault, 200), "$bad"), self.hints)
        else:
            self.status.rest(plain(text, "$muted"), self.hints)

    def _row(self, one: BaselineFile) -> Row:
        run = self.dashboard.feed.run.run if self.dashboard.feed.run is not None else None
        mark = cell("*" if self.dashboard.is_baseline(one.path) else "", "accent")
        file = cell(one_line(one.shown, 200), "strong")
        if one.fault:
            why = cell(one_line(one.fault, 200), "bad")
            return Row(one.path, (mark, file, why, cell(""), *(cell("-", "quiet") for _ in range(4)), cell("")))
        rate = one.n_passed / one.n_scored if one.n_scored else None
        interval = self.dashboard.glyphs.interval(wilson(one.n_passed, one.n_scored), rate, 12)
        word = match(one, run)
        policy = one.model or (one.policy_fingerprint or "unknown")[-8:]
        return Row(
            one.path,
            (
                mark,
                file,
                cell(one_line(one.env_name, 100)),
                cell(one_line(policy, 100), "quiet"),
                cell(date(one.at), "quiet"),
                cell(show.rate(rate)),
                tuple(interval) if len(interval) > 1 else cell(interval[0][1], interval[0][0]),
                cell(str(one.n_scored), "quiet"),
                cell(word, LOOKS.get(word, "quiet")),
            ),
        )

    def _empty(self) -> list[list[Piece]]:
        if self.found is None:
            return [[("quiet", "Looking for baseline files ...")]]
        run = self.dashboard.feed.run_id or "RUN"
        return [
            [("strong", "No baseline file in this project.")],
            [],
            [("accent", f"rollgrid baseline save {one_line(run, 20)} baselines/NAME.json"), ("quiet", "  makes one")],
            [("quiet", "Later runs of the same environment are then compared with it.")],
        ]

    # -- what happens

    def _chosen(self) -> BaselineFile | None:
        files = self.found.files if self.found is not None else ()
        return files[self.table.place] if files else None

    def on_table_cursor_moved(self, message: Table.CursorMoved) -> None:
        self._show_status()

    def on_table_opened(self, message: Table.Opened) -> None:
        one = self._chosen()
        if one is not None:
            self._open(one)

    @work(exclusive=True, group="baselines")
    async def _open(self, one: BaselineFile) -> None:
        view = self.dashboard.feed.run
        if view is None or view.run is None:
            self.status.say("open a run first; a baseline is compared with the run that is shown")
            return
        self.status.say(f"reading {one_line(one.shown, 80)} ...", "$muted")
        try:
            result = await asyncio.to_thread(load_baseline, one.path)
        except (RollgridError, OSError) as error:
            self.status.say(one_line(str(error), 200), "$bad")
            return
        self.status.hush()
        if self.is_current:
            fits = match(one._replace(fault=None, env_fingerprint=result.env_fingerprint), view.run) == "same"
            screen = DiffScreen if fits else MismatchScreen
            self.dashboard.push_screen(screen(view, result, one.shown))

    def action_set(self) -> None:
        one = self._chosen()
        if one is None:
            return
        if self.dashboard.is_baseline(one.path):
            self.dashboard.unset_baseline()
            self.status.say("the grid shows no differences any more", "$muted", 3)
            self.sync()
        else:
            self._set(one)

    @work(exclusive=True, group="baselines")
    async def _set(self, one: BaselineFile) -> None:
        told = await self.dashboard.set_baseline(one.path)
        if self.is_there:
            self.status.say(
                told or f"the grid shows the differences to {one_line(one.shown, 80)}", "$warn" if told else "$muted"
            )
            self.sync()

    def action_refresh(self) -> None:
        self.found = None
        self.sync()
        self._search()

    def action_back(self) -> None:
        self.dashboard.pop_screen()


def shown_folder(path: Path) -> str:
    """As a person writes it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
