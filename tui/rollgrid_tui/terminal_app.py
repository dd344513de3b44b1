"""An application that gives its terminal back in order, however it ends."""

import asyncio
import contextlib
import select
import signal

from textual.worker import WorkerError

from rollgrid_tui.hangup import HangupWatch, terminal_files
from rollgrid_tui.repaint import SparingApp

READING = "reading"
"""The group of workers that end, and have closed what they read, before the application does."""


class TerminalApp(SparingApp, inherit_bindings=False):
    """Ends with its terminal, on a polite kill, and on a fault of its own, which it keeps for its caller."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.failure: Exception | None = None
        """What ended the application, when that was a fault of its own."""
        self._hangup: HangupWatch | None = None

    def on_mount(self) -> None:
        self._leave_on_signals()
        self._leave_with_the_terminal()

    def refresh_css(self, animate: bool = True) -> None:
        """Apply the theme's variables to what there is; before the first screen there is nothing to lay out anew."""
        if self.screen_stack:
            super().refresh_css(animate)
            return
        # What is parsed here is kept for the first screen's turn, where textual would begin with a sheet of its own.
        self.stylesheet.set_variables(self.get_css_variables())
        self.stylesheet.parse()
        self.stylesheet.update(self, animate=animate)

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

    async def on_unmount(self) -> None:
        # A connection to the log works in a thread, which needs the event loop until it is closed.
        for worker in [one for one in self.workers if one.group == READING]:
            if not worker.is_cancelled:  # a second time would cut its closing short
                worker.cancel()
            with contextlib.suppress(WorkerError):
                await worker.wait()
        if self._hangup is not None:
            self._hangup.stop()
            self._hangup = None
