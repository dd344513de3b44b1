"""The application: which screen is up, and what all of them share."""

import asyncio
import os
import select
import signal
from typing import ClassVar, cast

from textual import work
from textual.app import App
from textual.command import CommandPalette
from textual.signal import Signal

from rollgrid_tui import theme
from rollgrid_tui.feed import Feed, LogChanged
from rollgrid_tui.glyphs import glyphs
from rollgrid_tui.hangup import HangupWatch, terminal_files
from rollgrid_tui.keymap import Keymap, bindings
from rollgrid_tui.palette import ActionProvider
from rollgrid_tui.screens.alerts import AlertsScreen
from rollgrid_tui.screens.attempt import AttemptScreen
from rollgrid_tui.screens.base import FeedScreen
from rollgrid_tui.screens.contrast import ContrastScreen
from rollgrid_tui.screens.help import HelpScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.screens.run_control import RunControl
from rollgrid_tui.screens.runs import RunsScreen
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.plain_scrollbar import use_plain_scroll_bars


class Dashboard(App[None], inherit_bindings=False):
    """A view of one log. It never touches a run: what it wants of one, it asks through the log."""

    CSS_PATH = "dashboard.tcss"
    TITLE = "rollgrid"
    COMMANDS: ClassVar = {ActionProvider}
    BINDINGS = bindings("app")
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False

    def __init__(
        self, feed: Feed, *, keymap: Keymap, theme_name: str = "dark", ascii: bool = False, run_id: str | None = None
    ) -> None:
        # Textual picks its filter for NO_COLOR here, before our theme is known: with colours of the terminal's own it
        # takes them out, else it writes them as 24-bit greys.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.feed = feed
        self.keymap = keymap
        self.glyphs = glyphs(ascii=ascii)
        self.first_run = run_id
        self.failure: Exception | None = None
        """What ended the application, when that was a fault of its own."""
        self.control: RunControl | None = None
        """Of the run that is followed."""
        self._hangup: HangupWatch | None = None
        for each in theme.THEMES.values():
            self.register_theme(each)
        self.theme = theme.THEMES[theme_name].name
        feed.notify = self._notify

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(theme.DEFAULTS)

    def on_mount(self) -> None:
        use_plain_scroll_bars()
        self.set_keymap(self.keymap.for_textual())
        self._leave_on_signals()
        self._leave_with_the_terminal()
        suspended = cast("Signal[App[None]]", self.app_suspend_signal)  # pyright: ignore[reportUnknownMemberType]
        resumed = cast("Signal[App[None]]", self.app_resume_signal)  # pyright: ignore[reportUnknownMemberType]
        suspended.subscribe(self, lambda _: self.feed.pause())
        resumed.subscribe(self, lambda _: self.feed.resume())
        self.push_screen(RunsScreen())
        if self.first_run is not None:
            self.open_run(self.first_run)
        self._poll()

    @work(exit_on_error=True)
    async def _poll(self) -> None:
        await self.feed.poll_forever()

    def _notify(self) -> None:
        self.post_message(LogChanged())

    def on_log_changed(self) -> None:
        screen = self.screen
        if isinstance(screen, FeedScreen) and screen.is_mounted:
            screen.log_changed()

    def _handle_exception(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        """What went wrong is raised by `run_dashboard`, not printed with every local variable."""
        self._exit_renderables.clear()

    def _leave_on_signals(self) -> None:
        """A lost connection or a polite kill ends the dashboard in order, with the terminal as it was."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.exit)
            except (NotImplementedError, RuntimeError, ValueError):
                return  # Not the main thread, as in tests: signals are somebody else's.

    def _leave_with_the_terminal(self) -> None:
        if not self.is_headless and hasattr(select, "poll") and (files := terminal_files()):
            loop = asyncio.get_running_loop()
            self._hangup = HangupWatch(files, lambda: loop.call_soon_threadsafe(self.exit))
            self._hangup.start()

    def on_unmount(self) -> None:
        if self._hangup is not None:
            self._hangup.stop()
            self._hangup = None

    # -- screens

    def open_run(self, run_id: str) -> None:
        view = self.feed.follow(run_id)
        self.control = RunControl(view, self.feed, self.keymap)
        self.push_screen(RunScreen(run_id, view))

    def open_runs(self) -> None:
        """Back to the list of runs, which is always below."""
        while len(self.screen_stack) > 2:
            self.pop_screen()

    def open_attempt(self, task: int, attempt: int, take: int | None = None) -> None:
        view: RunView | None = self.feed.run
        if view is not None:
            self.push_screen(AttemptScreen(view, task, attempt, take))

    def open_contrast(self, task: int, attempt: int) -> None:
        if self.feed.run is not None:
            self.push_screen(ContrastScreen(self.feed.run, task, attempt))

    def open_alerts(self) -> None:
        """The storm desk; back to it when an attempt was opened from it."""
        view = self.feed.run
        if view is None or isinstance(self.screen, AlertsScreen):
            return
        if any(isinstance(screen, AlertsScreen) for screen in self.screen_stack):
            while not isinstance(self.screen, AlertsScreen):
                self.pop_screen()
        else:
            self.push_screen(AlertsScreen(view))

    def close_attempt(self, task: int, attempt: int) -> None:
        """Back to the grid, with the cursor where the reading ended."""
        self.pop_screen()
        screen = self.screen
        if isinstance(screen, RunScreen):
            screen.go_to(task, attempt)

    # -- actions

    def action_help(self) -> None:
        screen = self.screen
        if isinstance(screen, FeedScreen):
            self.push_screen(HelpScreen(screen.SCOPES, self.keymap, self.glyphs))

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="Type the name of an action"))

    def action_next_theme(self) -> None:
        names = [each.name for each in theme.THEMES.values()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    def action_leave(self) -> None:
        self.exit()
