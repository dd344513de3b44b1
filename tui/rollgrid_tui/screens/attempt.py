"""One attempt: the whole transcript, with the neighbours a key away."""

import json
from collections.abc import Sequence

from textual import events, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from rollgrid.store.rows import AttemptRow, ReviewRow
from rollgrid_tui.keymap import bindings
from rollgrid_tui.screens.base import StatusBar
from rollgrid_tui.screens.run_control import ControlScreen
from rollgrid_tui.state.attempt_view import attempt_blocks
from rollgrid_tui.state.review_book import review_blocks
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.filter_input import FilterInput
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import attempt_figures, cell_word, join, one_line, plain


class AttemptScreen(ControlScreen):
    CSS_PATH = "attempt.tcss"
    SCOPES = ("attempt", "transcript", "control")
    BINDINGS = bindings("attempt")

    def __init__(self, view: RunView, task: int, attempt: int, take: int | None = None) -> None:
        super().__init__()
        self.view = view
        self.cell = (task, attempt)
        self._take = take
        """A take that was asked for; None is the one that counts."""
        self._answer = ""
        self._shown_row: AttemptRow | None = None
        self._shown_reviews: Sequence[ReviewRow] = ()

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield Bar(id="state", keep_left=True)
        yield TranscriptView(id="text")
        yield FilterInput(id="search", placeholder="words of the transcript: Enter keeps the search, Esc ends it")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.query_one(TranscriptView).focus()

    def target(self, scope: str) -> Widget:
        return self.query_one(TranscriptView) if scope == "transcript" else self

    def on_resize(self, event: events.Resize) -> None:
        self._show_status()

    # -- showing

    def sync(self) -> None:
        self.dashboard.feed.watch_live(self.cell)
        self.show_banners(self.view.run)
        self._show_title()
        self._show_status()
        self._load()

    def log_changed(self) -> None:
        self.show_answers()
        row = self._row()
        news = row is not self._shown_row or self._reviews(row) != self._shown_reviews
        if news or (row is not None and row.phase != "ended"):
            self.sync()
        else:
            self.show_banners(self.view.run)
            self._show_status()

    def _row(self) -> AttemptRow | None:
        if self._take is not None:
            for row in self.view.takes(*self.cell):
                if row.take == self._take:
                    return row
        return self.view.attempt(*self.cell)

    def _reviews(self, row: AttemptRow | None) -> Sequence[ReviewRow]:
        return self.view.reviews.of(*self.cell, row.take) if row is not None else ()

    def _show_title(self) -> None:
        task, attempt = self.cell
        row = self._row()
        where = f"attempt {attempt} of {len(self.view.cells(task))}"
        takes = len(self.view.takes(task, attempt))
        if takes > 1 and row is not None:
            where += f"  take {row.take} of {takes}"
        metadata = self.view.task(task).metadata
        labels = "  ".join(f"{key}:{value}" for key, value in metadata.items())
        name = plain(one_line(self.view.task(task).id, 120), "bold")
        self.query_one("#title", Bar).show(
            join([name, plain(one_line(labels, 80), "$muted")], "  "), plain(where, "$muted")
        )
        state = cell_word(row, self.dashboard.glyphs, live=self.view.live)
        reason = one_line(row.error or row.reason or "", 200) if row is not None else ""
        self.query_one("#state", Bar).show(join([state, Content(reason)], "  "), attempt_figures(row))

    def _show_status(self) -> None:
        feed = self.dashboard.feed
        if feed.fault:
            self.status.rest(plain(one_line(feed.fault), "$bad"), self.hints)
            return
        text = self.query_one(TranscriptView)
        if text.words:
            self.status.rest(self._found(text), self.hints)
            return
        place = self.view.place(self.cell[0])
        where = f"task {place + 1}/{len(self.view.order)}" if place is not None else ""
        self.status.rest(plain(where, "$muted"), self.hints)

    def _found(self, text: TranscriptView) -> Content:
        """How often the words that are searched for stand here, and which of these places one is at."""
        words = plain(one_line(text.words, 30), "$accent")
        if text.found is None or not text.found.places:
            return join([words, plain("is not in this attempt", "$warn")], "  ")
        count = f"{len(text.found.places)}{'' if text.found.complete else '+'}"
        keymap = self.dashboard.keymap
        keys = f"{keymap.first('attempt.next_failure')}/{keymap.first('attempt.previous_failure')}"
        where = count if text.hit is None else f"{text.hit + 1} of {count}"
        return join([words, plain(f"{where}  {keys} {keymap.first('attempt.back')} ends", "$muted")], "  ")

    @work(exclusive=True, group="attempt")
    async def _load(self) -> None:
        feed, (task, attempt), row = self.dashboard.feed, self.cell, self._row()
        self._shown_row, self._shown_reviews = row, self._reviews(row)
        if row is not None and row.phase == "ended":
            transcript = await feed.read(feed.transcript(task, attempt, row.take))
        else:
            transcript = feed.live
        prompt, expected = await feed.read(feed.task_text(task)) or ("", None)
        if (task, attempt) != self.cell:
            return
        blocks = attempt_blocks(row, transcript, live=self.view.live, prompt=prompt, expected=expected)
        blocks += review_blocks(self._shown_reviews)
        content = transcript.get("raw_text") or transcript.get("content") if transcript is not None else None
        self._answer = content if isinstance(content, str) else json.dumps(content) if content is not None else ""
        ended = row is not None and row.phase == "ended"
        key = (task, attempt, row.take if row is not None else 0)
        text = self.query_one(TranscriptView)
        text.show(blocks, key, follow=row is not None and not ended)
        if text.words:
            self._show_status()

    # -- searching

    def action_search(self) -> None:
        self.query_one(FilterInput).open(self.query_one(TranscriptView).words)

    def on_input_changed(self, message: Input.Changed) -> None:
        self.query_one(TranscriptView).search(message.value)
        self._show_status()

    def on_filter_input_closed(self, message: FilterInput.Closed) -> None:
        if not message.kept:
            self._end_search()
        self.query_one(TranscriptView).focus()

    def _end_search(self) -> None:
        self.query_one(TranscriptView).search("")
        self._show_status()

    # -- going elsewhere

    def _go(self, task: int, attempt: int) -> None:
        if (task, attempt) != self.cell:
            self.cell, self._take = (task, attempt), None
            self.sync()

    def action_step(self, step: int) -> None:
        task, attempt = self.cell
        if 1 <= attempt + step <= len(self.view.cells(task)):
            self._go(task, attempt + step)
        else:
            self.status.say("no further attempt; } is the next task", "$muted", 3)

    def action_task(self, step: int) -> None:
        order, place = self.view.order, self.view.place(self.cell[0])
        if place is not None and 0 <= place + step < len(order):
            self._go(order[place + step], self.cell[1])
        else:
            self.status.say("no further task", "$muted", 3)

    def action_failure(self, step: int) -> None:
        text = self.query_one(TranscriptView)
        if text.words:
            text.next_match(step)
            self._show_status()
            return
        found = self.view.next_failure(*self.cell, step)
        if found is None:
            self.status.say("no failed attempt in this run", "$muted", 3)
        else:
            self._go(*found)

    def action_take(self) -> None:
        takes = self.view.takes(*self.cell)
        row = self._row()
        if len(takes) < 2 or row is None:
            self.status.say("this attempt was run once", "$muted", 3)
            return
        numbers = [each.take for each in takes]
        self._take = numbers[(numbers.index(row.take) - 1) % len(numbers)]
        self.sync()

    def attempt_here(self) -> tuple[int, int] | None:
        return self.cell

    def action_retry(self) -> None:
        self.retry_attempt(*self.cell)

    def action_contrast(self) -> None:
        self.dashboard.open_contrast(*self.cell)

    def action_copy_answer(self) -> None:
        if not self._answer:
            self.status.say("there is no answer to copy", "$muted", 3)
            return
        self.dashboard.copy_to_clipboard(self._answer)
        self.status.say(f"copied the answer, {len(self._answer)} characters", "$muted", 3)

    def action_back(self) -> None:
        if self.query_one(TranscriptView).words:
            self._end_search()
            return
        self.dashboard.close_attempt(*self.cell)
