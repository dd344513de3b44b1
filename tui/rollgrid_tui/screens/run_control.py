"""What one can ask of a run's runner, and what it answers."""

import sqlite3
from collections.abc import Sequence

from rollgrid.errors import RollgridError
from rollgrid.store.rows import CommandRow
from rollgrid_tui.feed import Feed
from rollgrid_tui.keymap import Keymap
from rollgrid_tui.screens.base import StatusBar
from rollgrid_tui.state.run_view import IN_PROGRESS, RunView
from rollgrid_tui.widgets.words import one_line

ASK_SECONDS = 6.0
"""How long a key has to be pressed again to be meant."""


class RunControl:
    """Posts commands through the log, and says in the status bar what became of them, whoever gave them."""

    def __init__(self, view: RunView, feed: Feed, keymap: Keymap) -> None:
        self._view = view
        self._feed = feed
        self._keymap = keymap
        self._asked_at: float | None = None
        self._answered: int | None = None

    def pause_or_resume(self) -> str:
        """The command that a press of this key means now."""
        run = self._view.run
        return "resume" if run is not None and run.state == "paused" else "pause"

    def is_meant(self, now: float, status: StatusBar, key: str) -> bool:
        """Whether this is the second press of a key that wants to be sure; says so at the first."""
        if self._asked_at is not None and now - self._asked_at <= ASK_SECONDS:
            self._asked_at = None
            return True
        self._asked_at = now
        status.say(f"{key} again cancels the run; what ended is kept", seconds=ASK_SECONDS)
        return False

    def refusal(self) -> str | None:
        """Why no command applies; None when one does."""
        run = self._view.run
        if run is None:
            return "the run is not read yet"
        if run.effective_state in IN_PROGRESS:
            return None
        if run.effective_state in {"dead", "interrupted"}:
            return f"no runner works on this run; rollgrid resume {one_line(run.run_id)} goes on with it"
        return f"the run is {run.effective_state}: there is nothing to control"

    async def post(self, command: str, status: StatusBar) -> None:
        try:
            await self._feed.post(command)
        except (RollgridError, sqlite3.Error, OSError) as error:
            status.say(one_line(str(error)), "$bad")
        else:
            status.say(f"asked the runner to {command}", "$muted")

    def show_answers(self, commands: Sequence[CommandRow], status: StatusBar) -> None:
        """The newest answer since the last call; what was answered before the screen opened is old news."""
        answered = [row for row in commands if row.accepted is not None]
        newest = answered[-1].command_id if answered else 0
        if self._answered is not None and newest > self._answered:
            row = answered[-1]
            words = f"{one_line(row.answer or 'done', 120)}  ({one_line(row.command, 20)}, {one_line(row.author, 40)})"
            status.say(words, "$muted" if row.accepted else "$warn")
        self._answered = newest
