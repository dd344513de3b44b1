"""The application: which screen is up, and what all of them share."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual import on, work
from textual.app import App
from textual.command import CommandPalette
from textual.events import Key, Mount
from textual.signal import Signal

from rollgrid.errors import RollgridError
from rollgrid_tui import theme
from rollgrid_tui.baselines import BaselineFile, counts_of, described, load_baseline, load_run, match
from rollgrid_tui.feed import Feed, LogChanged
from rollgrid_tui.glyphs import glyphs
from rollgrid_tui.keymap import Keymap, bindings
from rollgrid_tui.palette import ActionProvider
from rollgrid_tui.screens.base import FeedScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.screens.run_control import RunControl
from rollgrid_tui.screens.runs import RunsScreen
from rollgrid_tui.sessions import start_session
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.terminal_app import READING, TerminalApp
from rollgrid_tui.widgets.filter_input import FilterInput
from rollgrid_tui.widgets.plain_scrollbar import use_plain_scroll_bars
from rollgrid_tui.widgets.text_prompt import TextPrompt
from rollgrid_tui.widgets.words import one_line

if TYPE_CHECKING:
    from rollgrid.analysis.history import History


FIRST_LOOK_SECONDS = 0.3
"""How long the first screen waits for what is in the log; a slow log is shown when it comes."""


class Baseline(NamedTuple):
    """What the grid shows the differences to."""

    path: Path
    file: BaselineFile
    counts: dict[str, tuple[int, int]]


LoadHistory = Callable[[Path, str], Awaitable["History"]]


async def load_history(path: Path, env_name: str) -> "History":
    """The runs of an environment out of the log. What it takes is imported when it is first asked for."""
    from rollgrid.analysis.past_runs import aread_history

    return await aread_history(path, env_name)


MISMATCHES = {
    "differs": "it comes from another environment; Enter on it in the baselines explains",
    "unknown": "one side has no fingerprint, so nothing says that they are the same environment",
    "simulated": "it is simulated and the run is real",
    "real": "it is real and the run is simulated",
}


class Dashboard(TerminalApp, inherit_bindings=False):
    """A view of one log. It never touches a run: what it wants of one, it asks through the log."""

    # Those of the screens that it starts with are read along: each further one has textual parse all of them again.
    CSS_PATH: ClassVar = ["dashboard.tcss", "screens/runs.tcss", "screens/run.tcss"]
    TITLE = "rollgrid"
    COMMANDS: ClassVar = {ActionProvider}
    BINDINGS = bindings("app")
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False

    def __init__(
        self,
        feed: Feed,
        *,
        keymap: Keymap,
        theme_name: str = "dark",
        ascii: bool = False,
        run_id: str | None = None,
        project: Path | None = None,
        baseline: Path | None = None,
        on_hint: Callable[[], None] | None = None,
        on_shown: Callable[[], None] = lambda: None,
    ) -> None:
        # Textual picks its filter for NO_COLOR here, before our theme is known: with colours of the terminal's own it
        # takes them out, else it writes them as 24-bit greys.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.feed = feed
        self.keymap = keymap
        self.glyphs = glyphs(ascii=ascii)
        self.first_run = run_id
        self._baseline: Baseline | None = None
        self._wanted_baseline = baseline
        self._on_hint = on_hint
        """Called once the hint for somebody's first time was shown; None: no hint is shown."""
        self._hinting = False
        self._on_shown = on_shown
        """Called once the first screen is drawn."""
        self.project = project or Path.cwd()
        """Where baseline files are looked for."""
        self.start_session = start_session
        """Starts a runner for a run that none works on; blocks."""
        self.load_run = load_run
        """Reads a run of the log as a result, for comparing; blocks."""
        self.load_history: LoadHistory = load_history
        self.control: RunControl | None = None
        """Of the run that is followed."""
        for each in theme.THEMES.values():
            self.register_theme(each)
        self.theme = theme.THEMES[theme_name].name
        feed.notify = self._notify

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(theme.DEFAULTS)

    @on(Mount)
    async def _open_first_screen(self) -> None:
        use_plain_scroll_bars()
        self.set_keymap(self.keymap.for_textual())
        suspended = cast("Signal[App[None]]", self.app_suspend_signal)  # pyright: ignore[reportUnknownMemberType]
        resumed = cast("Signal[App[None]]", self.app_resume_signal)  # pyright: ignore[reportUnknownMemberType]
        suspended.subscribe(self, lambda _: self.feed.pause())
        resumed.subscribe(self, lambda _: self.feed.resume())
        self.run_worker(self.feed.poll_forever(), group=READING)
        await first_look(self.feed, self.first_run)
        self.push_screen(RunsScreen())
        if self.first_run is not None:
            self.open_run(self.first_run)
        self.call_after_refresh(self._on_shown)

    def _notify(self) -> None:
        self.post_message(LogChanged())

    def on_log_changed(self) -> None:
        if self._wanted_baseline is not None and self.feed.run is not None and self.feed.run.run is not None:
            path, self._wanted_baseline = self._wanted_baseline, None
            self._first_baseline(path)
        screen = self.screen
        if isinstance(screen, FeedScreen) and screen.is_mounted:
            screen.log_changed()
            if self._on_hint is not None:
                self._hint(screen, self._on_hint)

    def _hint(self, screen: FeedScreen, shown: Callable[[], None]) -> None:
        """Once, and until the next key."""
        self._on_hint = None
        self._hinting = True
        every, by_name, leave = (self.keymap.first(f"app.{name}") for name in ("help", "commands", "quit"))
        words = f"{every} lists all keys, {by_name} finds an action by name, {leave} quits and runs go on"
        # It stays until a key is pressed: a clock that takes it away would write to an idle screen.
        screen.status.say(words, "$accent", 86_400)
        shown()

    # -- screens

    def open_run(self, run_id: str) -> None:
        view = self.feed.follow(run_id)
        self.control = RunControl(view, self.feed, self.keymap)
        if view.run is None or view.run.run_id != run_id or not view.has_baseline:
            # A baseline is set for one run: another one may come from another environment.
            self._baseline = None
        self.push_screen(RunScreen(run_id, view))

    def open_scoring(self, number: int) -> None:
        """The run that is shown, with the verdicts of another scoring; cursor, order and filter stay."""
        screen = self.screen
        if not isinstance(screen, RunScreen):
            return
        view = self.feed.follow(screen.run_id, number)
        view.set_sort(screen.view.sort)
        view.set_filter(screen.view.filter.text)
        self.control = RunControl(view, self.feed, self.keymap)
        self._baseline = None
        other = RunScreen(screen.run_id, view)
        other.starts_at = screen.grid.cursor
        self.pop_screen()
        self.push_screen(other)

    def open_history(self, env_name: str) -> None:
        """The environment of this name over its runs."""
        from rollgrid_tui.screens.history import HistoryScreen

        self.push_screen(HistoryScreen(env_name))

    def open_runs(self) -> None:
        """Back to the list of runs, which is always below, or to the history that a run was opened from."""
        while len(self.screen_stack) > 2:
            self.pop_screen()
            if isinstance(self.screen, FeedScreen) and "history" in self.screen.SCOPES:
                return

    def open_attempt(self, task: int, attempt: int, take: int | None = None) -> None:
        from rollgrid_tui.screens.attempt import AttemptScreen

        view: RunView | None = self.feed.run
        if view is not None:
            self.push_screen(AttemptScreen(view, task, attempt, take))

    def is_baseline(self, path: Path) -> bool:
        """Whether the grid shows the differences to this file."""
        return self._baseline is not None and self._baseline.path == path and self.feed.run is not None

    async def set_baseline(self, path: Path) -> str | None:
        """Show the differences to this file in the grid of the run that is followed; or say why not."""
        try:
            result = await asyncio.to_thread(load_baseline, path)
        except (RollgridError, OSError) as error:
            return one_line(str(error), 200)
        described_ = described(result, path, path.name, 0.0)
        self._baseline = Baseline(path, described_, counts_of(result))
        told = self._apply_baseline()
        if told is not None:
            self._baseline = None
        return told

    def unset_baseline(self) -> None:
        self._baseline = None
        if self.feed.run is not None:
            self.feed.run.set_baseline({})

    def _apply_baseline(self) -> str | None:
        view = self.feed.run
        if self._baseline is None or view is None or view.run is None:
            return "open a run first; a baseline is set for the run that is shown"
        why = MISMATCHES.get(match(self._baseline.file, view.run))
        view.set_baseline({} if why else self._baseline.counts)
        return why

    @work(group="baselines")
    async def _first_baseline(self, path: Path) -> None:
        """The file that the command line named; the run is read by now."""
        told = await self.set_baseline(path)
        screen = self.screen
        if isinstance(screen, FeedScreen) and screen.is_there:
            screen.sync()
            if told is not None:
                screen.status.say(f"no differences are shown: {told}", seconds=20)

    def open_contrast(self, task: int, attempt: int) -> None:
        from rollgrid_tui.screens.contrast import ContrastScreen

        if self.feed.run is not None:
            self.push_screen(ContrastScreen(self.feed.run, task, attempt))

    def open_alerts(self) -> None:
        """The storm desk; back to it when an attempt was opened from it."""
        from rollgrid_tui.screens.alerts import AlertsScreen

        view = self.feed.run
        if view is not None and not back_to(self, AlertsScreen):
            self.push_screen(AlertsScreen(view))

    def open_review(self, cell: tuple[int, int] | None) -> None:
        """The review queue, at this attempt; back to it when one came from there."""
        from rollgrid_tui.screens.attempt import AttemptScreen
        from rollgrid_tui.screens.review import ReviewScreen

        view = self.feed.run
        if view is not None and not back_to(self, ReviewScreen):
            self.push_screen(ReviewScreen(view, cell, wanted=isinstance(self.screen, AttemptScreen)))

    def close_attempt(self, task: int, attempt: int) -> None:
        """Back to the grid, with the cursor where the reading ended."""
        self.pop_screen()
        screen = self.screen
        if isinstance(screen, RunScreen):
            screen.go_to(task, attempt)

    # -- actions

    def on_key(self, event: Key) -> None:
        """What is typed in one bunch with the key that opens a line to type in is meant for that line.

        Over a slow connection keys come in bunches; they were sent on before the line had the focus. A line keeps what
        it is given itself, so what arrives here missed it.
        """
        if self._hinting and isinstance(self.screen, FeedScreen):
            self._hinting = False
            self.screen.status.hush()
        line = self.focused
        if isinstance(line, FilterInput | TextPrompt) and (event.is_printable or event.key in {"enter", "escape"}):
            event.stop()
            event.prevent_default()
            line.post_message(Key(event.key, event.character))

    def action_help(self) -> None:
        from rollgrid_tui.screens.help import HelpScreen

        screen = self.screen
        if isinstance(screen, FeedScreen):
            self.push_screen(HelpScreen(screen.SCOPES, self.keymap, self.glyphs))

    def action_baselines(self) -> None:
        """Once in the stack of screens, so that Escape leads back where one came from."""
        from rollgrid_tui.screens.baselines import BaselinesScreen

        if isinstance(self.screen, FeedScreen) and not back_to(self, BaselinesScreen):
            self.push_screen(BaselinesScreen())

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="Type the name of an action"))

    def action_next_theme(self) -> None:
        names = [each.name for each in theme.THEMES.values()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    def action_leave(self) -> None:
        self.exit()


async def first_look(feed: Feed, run_id: str | None) -> None:
    """Until the feed has what the first screen shows: a screen that opens on it is laid out and drawn once."""
    if run_id is not None:
        feed.follow(run_id)
    feed.want_runs(run_id is None)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FIRST_LOOK_SECONDS):
            await feed.looked.wait()


def back_to(app: Dashboard, kind: type[FeedScreen]) -> bool:
    """Go back to the screen of this kind; False when none is open."""
    if not any(isinstance(screen, kind) for screen in app.screen_stack):
        return False
    while not isinstance(app.screen, kind):
        app.pop_screen()
    return True
