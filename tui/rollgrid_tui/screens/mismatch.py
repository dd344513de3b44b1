"""Why a baseline and a run cannot be compared, part by part; and their prompts side by side instead."""

import asyncio
import sqlite3
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.widget import Widget

from rollgrid.errors import RollgridError
from rollgrid_tui.baselines import parts_of, prompts_text
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import FeedScreen, StatusBar
from rollgrid_tui.state.attempt_view import BODY, Block, Kind, section
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import one_line, plain

if TYPE_CHECKING:
    from rollgrid.environments.result import EnvironmentRunResult

KINDS = {"differs": Kind.bad, "unknown": Kind.warn, "same": Kind.quiet}


class MismatchScreen(FeedScreen):
    CSS_PATH = "mismatch.tcss"
    SCOPES = ("mismatch", "transcript")
    BINDINGS = bindings("mismatch")

    def __init__(self, view: RunView, baseline: "EnvironmentRunResult", shown: str) -> None:
        super().__init__()
        self.view = view
        self.baseline = baseline
        self.shown = shown
        self._current: EnvironmentRunResult | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield TranscriptView(id="text")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.text.focus()
        self._explain()

    @property
    def text(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def target(self, scope: str) -> Widget:
        return self.text if scope == "transcript" else self

    def sync(self) -> None:
        self.show_banners(self.view.run)
        name = plain(one_line(self.shown, 100), "bold")
        self.query_one("#title", Bar).show(name, plain("not the same environment", "$warn"))
        self.status.rest(plain(""), self.hints)

    async def _load(self) -> "EnvironmentRunResult | None":
        feed = self.dashboard.feed
        if self._current is None and feed.run_id is not None:
            try:
                self._current = await asyncio.to_thread(self.dashboard.load_run, feed.path, feed.run_id)
            except (RollgridError, sqlite3.Error, OSError) as error:
                self.status.say(one_line(str(error), 200), "$bad")
        return self._current

    @work(exclusive=True, group="attempt")
    async def _explain(self) -> None:
        current = await self._load()
        if current is None:
            return
        parts = await asyncio.to_thread(parts_of, current, self.baseline)
        if not self.is_there:
            return
        lines = [
            Block(KINDS[state], f"{state:<8}  {name:<14}  {words}", indent=BODY, hang=26)
            for name, words, state in parts
        ]
        key = self.dashboard.keymap.first("mismatch.prompts")
        simulated = {result.about.get("model_kind") == "simulated" for result in (current, self.baseline)}
        made_up = [Block(Kind.warn, "One side is simulated: made-up answers compare with nothing.", indent=BODY)]
        blocks = [
            *section(
                "these rates cannot be compared",
                *(made_up if len(simulated) > 1 else []),
                Block(Kind.text, "The baseline and the run do not come from the same environment.", indent=BODY),
                Block(Kind.text, f"{key} shows prompts and rates side by side, without a verdict.", indent=BODY),
            ),
            *section("part by part", *lines),
        ]
        self.text.show(blocks, "parts")

    def action_prompts(self) -> None:
        self.status.say("reading the transcripts of both ...", "$muted", 60)
        self._compare()

    @work(exclusive=True, group="attempt")
    async def _compare(self) -> None:
        current = await self._load()
        if current is None:
            return
        told = await asyncio.to_thread(prompts_text, self.baseline, current)
        if not self.is_there:
            return
        first, _, rest = told.partition("\n")
        note = Block(Kind.quiet, f"a is the baseline {self.shown}, b is this run", indent=BODY)
        self.text.show(section(first, note, Block(Kind.text, rest)), "prompts")
        self.status.hush()

    def action_parts(self) -> None:
        self._explain()

    def action_back(self) -> None:
        self.dashboard.pop_screen()
