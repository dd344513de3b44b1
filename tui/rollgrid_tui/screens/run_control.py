"""What one can ask of a run's runner, and what it answers."""

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from textual import work

from rollgrid.errors import RollgridError
from rollgrid.store.rows import CommandRow
from rollgrid_tui.feed import Feed
from rollgrid_tui.keymap import Keymap, bindings
from rollgrid_tui.repaint import SparingApp
from rollgrid_tui.screens.base import FeedScreen, StatusBar
from rollgrid_tui.state.asked import answer_line
from rollgrid_tui.state.run_view import IN_PROGRESS, RunView
from rollgrid_tui.widgets.words import one_line

ASK_SECONDS = 6.0
"""How long a key has to be pressed again to be meant."""


class RunControl:
    """Posts commands through the log, and says in the status bar what became of them, whoever gave them.

    One for all screens of a run, so that an answer is told once, on the screen that is up.
    """

    def __init__(self, view: RunView, feed: Feed, keymap: Keymap) -> None:
        self._view = view
        self._feed = feed
        self._keymap = keymap
        self._asked: tuple[str, float, int] | None = None
        """What wants to be pressed once more, when it was pressed first, and how many keys had been pressed by then."""
        self._told: set[int] | None = None
        self._wished: tuple[int, int] | None = None
        """The concurrency that was there, and the one that was asked for since."""

    def pause_or_resume(self) -> str:
        """The command that a press of this key means now."""
        run = self._view.run
        return "resume" if run is not None and run.state == "paused" else "pause"

    def is_meant(self, now: float, status: StatusBar, action: str, does: str) -> bool:
        """Whether this is the second press of a key that wants to be sure; says what it `does` at the first.

        Any other key in between means that something else was meant.
        """
        keys = cast("SparingApp", status.app).keys_pressed  # pyright: ignore[reportUnknownMemberType]
        if self._asked is not None:
            asked, when, before = self._asked
            if asked == action and now - when <= ASK_SECONDS and keys <= before + 1:
                self._asked = None
                return True
        self._asked = (action, now, keys)
        status.say(f"{self._keymap.first(action)} again {does}", seconds=ASK_SECONDS)
        return False

    @property
    def can_go_on(self) -> bool:
        """Whether a further session of the run can be started: no runner works on it."""
        run = self._view.run
        return run is not None and run.effective_state not in IN_PROGRESS

    @property
    def lacks_attempts(self) -> bool:
        """Whether a further session would have something to run."""
        run = self._view.run
        return run is not None and (run.n_scored < run.n_planned or run.effective_state in {"dead", "interrupted"})

    def concurrency(self, step: int) -> int:
        """A quarter more, or a fifth less, than runs at once now or was asked for a moment ago; never the same."""
        now = self._view.run.concurrency if self._view.run is not None else 1
        base = self._wished[1] if self._wished is not None and self._wished[0] == now else now
        wish = max(1, base + max(1, base // 4) if step > 0 else base - max(1, base // 5))
        self._wished = (now, wish)
        return wish

    def refusal(self) -> str | None:
        """Why no command applies; None when one does."""
        run = self._view.run
        if run is None:
            return "the run is not read yet"
        if run.effective_state in IN_PROGRESS:
            return None
        if run.effective_state in {"dead", "interrupted"}:
            return f"no runner works on this run; {self._go_on()} goes on with it"
        if run.n_scored < run.n_planned:
            return f"the run is {run.effective_state}; {self._go_on()} runs what has no score"
        return f"the run is {run.effective_state}: there is nothing to control; {self._more()} runs further attempts"

    def _go_on(self) -> str:
        return self._keymap.first("control.pause_or_resume") or "rollgrid resume"

    def _more(self) -> str:
        return self._keymap.first("control.more") or "rollgrid more"

    def name_of(self, task: int) -> str | None:
        return self._view.task(task).id if 0 <= task < self._view.n_tasks else None

    def history(self, most: int = 20) -> list[str]:
        """Commands of the run with who gave them, when, and what the runner said; the newest first."""
        return [answer_line(row, self.name_of) for row in reversed(self._feed.commands[-most:])]

    async def post(self, command: str, args: dict[str, Any], status: StatusBar, words: str) -> None:
        try:
            await self._feed.post(command, args)
        except (RollgridError, sqlite3.Error, OSError) as error:
            status.say(one_line(str(error)), "$bad")
        else:
            status.say(f"asked the runner to {words}", "$muted")

    def show_answers(self, commands: Sequence[CommandRow], status: StatusBar) -> None:
        """The newest answer since the last call; what was answered before the screen opened is old news."""
        answered = [row for row in commands if row.accepted is not None]
        fresh = [row for row in answered if self._told is not None and row.command_id not in self._told]
        if fresh:
            status.say(answer_line(fresh[-1], self.name_of), "$muted" if fresh[-1].accepted else "$warn")
        # Before the log is read there is nothing to tell news from.
        if self._view.run is not None:
            self._told = {row.command_id for row in answered}


class ControlScreen(FeedScreen):
    """A screen of a run, from which the run can be steered."""

    BINDINGS = bindings("control")

    @property
    def control(self) -> RunControl:
        control = self.dashboard.control
        if control is None:
            raise RuntimeError("a screen of a run is open, and no run is followed")
        return control

    def show_answers(self) -> None:
        self.control.show_answers(self.dashboard.feed.commands, self.status)

    def action_pause_or_resume(self) -> None:
        command = self.control.pause_or_resume()
        if self.control.can_go_on and self.control.lacks_attempts:
            if self._is_meant("control.pause_or_resume", "starts a runner for the attempts without a score"):
                self._start("the rest of the run")
        else:
            self.ask(command, {}, command)

    def action_cancel(self) -> None:
        if self.control.refusal() or self._is_meant("control.cancel", "cancels the run; what ended is kept"):
            self.ask("cancel", {}, "cancel the run")

    def action_more(self, *, everywhere: bool = False) -> None:
        here, view = self.attempt_here(), self.dashboard.feed.run
        if view is None or (here is None and not everywhere):
            self.status.say("go to a task first: further attempts are asked for a task at a time", "$muted")
            return
        action = "control.more_of_all" if everywhere else "control.more"
        tasks = None if here is None or everywhere else [here[0]]
        whose = "every task" if tasks is None else one_line(view.task(tasks[0]).id, 40)
        if self.control.can_go_on:
            if self._is_meant(action, f"starts a runner for one more attempt of {whose}"):
                self._start(f"one more attempt of {whose}", 1, [view.task(task).id for task in tasks or ()])
        elif not everywhere or self._is_meant(action, f"asks for {view.n_tasks} attempts, one more of {whose}"):
            args: dict[str, Any] = {"n": 1} if tasks is None else {"n": 1, "tasks": tasks}
            self.ask("more", args, f"make one more attempt of {whose}")

    def action_more_of_all(self) -> None:
        self.action_more(everywhere=True)

    def _is_meant(self, action: str, does: str) -> bool:
        return self.control.is_meant(self.dashboard.feed.clock(), self.status, action, does)

    @work(exclusive=True, group="session")
    async def _start(self, words: str, more: int | None = None, tasks: Sequence[str] = ()) -> None:
        """A runner takes a while to import the environment, so it is waited for in a thread."""
        feed = self.dashboard.feed
        run_id = feed.run_id
        if run_id is None:
            return
        self.status.say(f"starting a runner for {words} ...", "$muted", 60)
        try:
            await asyncio.to_thread(
                partial(self.dashboard.start_session, feed.path, run_id, feed.author, more=more, tasks=tasks)
            )
        except (RollgridError, OSError) as error:
            said, style = one_line(str(error), 300), "$bad"
        else:
            said, style = f"a runner works on {words}", "$muted"
        screen = self.dashboard.screen
        if isinstance(screen, ControlScreen) and screen.is_there:
            screen.status.say(said, style, 12 if style == "$bad" else 6)

    def action_concurrency(self, step: int) -> None:
        if self.control.refusal() or step == 0:
            self.ask("concurrency", {"limit": "auto"}, "find out how many attempts at once pass")
        else:
            limit = self.control.concurrency(step)
            self.ask("concurrency", {"limit": limit}, f"have {limit} attempts at once")

    def action_alerts(self) -> None:
        self.dashboard.open_alerts()

    def action_review(self) -> None:
        self.dashboard.open_review(self.attempt_here())

    def attempt_here(self) -> tuple[int, int] | None:
        """The task and attempt that this screen is about now."""
        return None

    def retry_attempt(self, task: int, attempt: int) -> None:
        self.ask("retry", {"task": task, "attempt": attempt}, "run this attempt again")

    def ask(self, command: str, args: dict[str, Any], words: str) -> None:
        refusal = self.control.refusal()
        if refusal is not None:
            self.status.say(refusal)
        else:
            self._post(command, args, words)

    @work
    async def _post(self, command: str, args: dict[str, Any], words: str) -> None:
        await self.control.post(command, args, self.status, words)
