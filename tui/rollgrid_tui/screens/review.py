"""Review: judge attempts from the keyboard, one after the other, and see how far people and the scorer agree."""

import sqlite3
from typing import Any

from textual import work

from rollgrid.errors import RollgridError
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.review_queue import QueueScreen
from rollgrid_tui.state.review_view import Item
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.text_prompt import TextPrompt
from rollgrid_tui.widgets.words import one_line


class ReviewScreen(QueueScreen):
    BINDINGS = bindings("review")

    def __init__(self, view: RunView, cell: tuple[int, int] | None = None, *, wanted: bool = False) -> None:
        super().__init__(view, cell, wanted=wanted)
        self._judged: list[Item] = []
        """What was judged on this screen, in order."""

    def action_judge(self, what: str) -> None:
        item = self.item
        if item is None:
            self.status.say("there is nothing to judge in this queue", "$muted", 3)
            return
        row = self.state.row(item)
        if what in {"agree", "disagree"}:
            if self.state.is_hidden(item):
                keys = f"{self.key('review.pass')} it should pass, {self.key('review.fail')} it should fail"
                self.status.say(f"the score is hidden, so say what it deserves: {keys}")
                return
            if row is None or row.passed is None:
                self.status.say("it has no score to agree with; say what it deserves, or label it")
                return
            # As what it deserves, since what shows may be a later scoring than the run's own.
            self._review(item, {"passed": row.passed == (what == "agree")}, on=True)
        else:
            self._review(item, {"passed": what == "pass", "blind": self.state.judges_blind(item)}, on=True)

    def action_write(self, what: str) -> None:
        item = self.item
        if item is None:
            self.status.say("there is nothing to write about in this queue", "$muted", 3)
            return
        own = self.state.own(item)
        before = (own.label if what == "label" else own.note) if own is not None else None
        labels = self.view.reviews.labels() if what == "label" else []
        self.query_one(TextPrompt).open(what, before or "", labels)

    def on_text_prompt_answered(self, message: TextPrompt.Answered) -> None:
        self.table.focus()
        if message.text is not None and self.item is not None:
            self._review(self.item, {message.what: message.text}, on=False)

    @work
    async def _review(self, item: Item, said: dict[str, Any], *, on: bool) -> None:
        """Keep what was said of an attempt; `on`: and go to the next one that is to be judged."""
        try:
            await self.dashboard.feed.reviews.post(item, **said)
        except (RollgridError, sqlite3.Error, OSError) as error:
            self.status.say(one_line(str(error), 200), "$bad")
            return
        if not on or not self.is_there:
            return
        self._judged = [*(one for one in self._judged if one != item), item]
        following = self.state.next_open(self.items, item)
        if following is not None and item == self.item and not self.state.blind:
            self.table.cursor = following

    @work
    async def action_undo(self) -> None:
        item = self.item
        if item is None or self.state.own(item) is None:
            item = next((one for one in reversed(self._judged) if self.state.own(one) is not None), None)
        if item is None:
            self.status.say("you have no review here to take back", "$muted", 3)
            return
        try:
            await self.dashboard.feed.reviews.undo(item)
        except (RollgridError, sqlite3.Error, OSError) as error:
            self.status.say(one_line(str(error), 200), "$bad")
            return
        if self.is_there:
            self._judged = [one for one in self._judged if one != item]
            if item in self.items:
                self.table.cursor = item
            self.status.say("taken back", "$muted", 3)
