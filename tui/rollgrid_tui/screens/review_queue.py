"""The queue of the review screen: which attempts are before one, and what shows of the one under the cursor."""

import asyncio

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from rollgrid.store.reviews import LABEL_CHARACTERS, NOTE_CHARACTERS
from rollgrid_tui.screens.base import FeedScreen, StatusBar
from rollgrid_tui.state.review_text import evidence, queue_row, why_empty
from rollgrid_tui.state.review_view import Item, ReviewView, Which
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.filter_input import FilterInput
from rollgrid_tui.widgets.table import Column, Row, Table, cell
from rollgrid_tui.widgets.text_prompt import TextPrompt
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import agreement_line, cell_word, join, one_line, plain, title

COLUMNS = (
    Column("task", 8, grow=1),
    Column("attempt", 7, right=True),
    Column("score", 9),
    Column("you", 9),
    Column("others", 6),
)

WIDE = 100
"""From this width on the queue stands beside the attempt, below it above."""

LIST_MOST = 84
"""Columns that the queue takes beside the attempt."""

LOOK_SECONDS = 1.0
"""While a run goes on, or is large, the queue is made anew at most this often, or when somebody reviews."""

LARGE = 5000
"""Attempts of a large run."""

SETTLE_SECONDS = 0.06
"""A body is loaded once the cursor has rested this long."""

OPEN_EYED = frozenset({"review.agree", "review.disagree", "review.which", "list.open"})
BLINDFOLDED = frozenset({"review.pass", "review.fail"})
"""Actions that the status bar names only outside of blind mode, and only in it."""


class QueueScreen(FeedScreen):
    """Shows and moves; what a person says of an attempt is up to `ReviewScreen`."""

    CSS_PATH = "review.tcss"
    SCOPES = ("review", "list")

    def __init__(self, view: RunView, cell: tuple[int, int] | None = None, *, wanted: bool = False) -> None:
        """`cell` is the attempt to begin with, if the queue has it; `wanted`: whatever the queue would be."""
        super().__init__()
        self.view = view
        self.queue: ReviewView | None = None
        self.items: list[Item] = []
        self._begin_with = cell
        self._wanted = wanted
        self._again: Timer | None = None
        self._looked_at = 0.0
        self._reviews = 0
        """The version of the reviews that shows."""

    def compose(self) -> ComposeResult:
        yield Bar(id="simulated", classes="banner")
        yield Bar(id="storm", classes="banner storm")
        yield Bar(id="title")
        yield Bar(id="figures", keep_left=True)
        with Container(id="body"):
            yield Table(COLUMNS, id="list")
            with Vertical(id="attempt"):
                yield Bar(id="head", keep_left=True)
                yield TranscriptView(id="text")
        yield FilterInput(id="filter")
        yield TextPrompt(most=max(LABEL_CHARACTERS, NOTE_CHARACTERS), id="prompt")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.table.focus()

    @property
    def state(self) -> ReviewView:
        if self.queue is None:
            self.queue = ReviewView(self.view, self.dashboard.feed.reviews.author)
        return self.queue

    @property
    def table(self) -> Table:
        return self.query_one(Table)

    @property
    def text(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    @property
    def item(self) -> Item | None:
        """The attempt under the cursor."""
        return self.items[self.table.place] if self.items else None

    def target(self, scope: str) -> Widget:
        return self.table if scope == "list" else self

    def is_hinted(self, action_id: str) -> bool:
        return action_id not in (OPEN_EYED if self.state.blind else BLINDFOLDED)

    # -- showing

    def log_changed(self) -> None:
        hold = self.view.live or self.view.n_tasks * self.view.columns > LARGE
        wait = LOOK_SECONDS - (self.dashboard.feed.clock() - self._looked_at) if hold else 0.0
        if wait <= 0 or self.view.reviews.version != self._reviews:
            self.sync()
        elif self._again is None:
            self._again = self.set_timer(wait, self._look_again)

    def _look_again(self) -> None:
        self._again = None
        if self.is_current:
            self.sync()

    def sync(self) -> None:
        self._looked_at, self._reviews = self.dashboard.feed.clock(), self.view.reviews.version
        self.items = self.state.items()
        self._begin()
        self.show_banners(self.view.run)
        self.table.show([self._row(item) for item in self.items], why_empty(self.state, self.key))
        self._show_figures()
        self._place()
        self._show_attempt()
        self._show_status()

    def _begin(self) -> None:
        """Where the cursor stands at first: on the attempt one came from, else on the first that is to be judged."""
        if self._begin_with is None and self.table.cursor is not None:
            return
        given, self._begin_with = self._begin_with, None
        found = next((item for item in self.items if item[:2] == given), None)
        if found is None and self._wanted and self.state.which is Which.failed:
            self.state.which = Which.every
            self.items = self.state.items()
            found = next((item for item in self.items if item[:2] == given), None)
        self._wanted = False
        if self.items:
            self.table.cursor = found or self.state.next_open(self.items, None) or self.items[0]
        else:
            self._begin_with = given if self.view.run is None else None

    def _row(self, item: Item) -> Row:
        return Row(item, tuple(cell(text, look) for text, look in queue_row(self.state, item)))

    def _show_figures(self) -> None:
        state = self.state
        name = title(self.view.run) if self.view.run is not None else Content("")
        what = "blind" if state.blind else state.which.value
        self.query_one("#title", Bar).show(join([name, plain("review", "$muted")], "  "), plain(what, "$accent"))
        judged = sum(not state.is_open(item) for item in self.items)
        right = plain(f"{judged} of {len(self.items)} judged by you", "$muted") if self.items else Content("")
        keys = (self.key("review.agree"), self.key("review.disagree"))
        width = self.size.width - 2 - right.cell_length
        self.query_one("#figures", Bar).show(agreement_line(state.agreement(), keys, width), right)

    def key(self, action: str) -> str:
        """The key that an action has, as a person writes it."""
        return self.dashboard.keymap.first(action)

    def _place(self) -> None:
        body = self.query_one("#body")
        body.set_class(self.size.width < WIDE, "stacked")
        body.set_class(not self.items, "empty")
        beside = bool(self.items) and self.size.width >= WIDE
        self.table.styles.width = min(LIST_MOST, self.size.width * 2 // 5) if beside else "1fr"
        self.query_one("#attempt").display = bool(self.items)

    def on_resize(self, event: events.Resize) -> None:
        self._place()
        self._show_figures()
        self._show_status()

    def _show_status(self) -> None:
        state, feed = self.state, self.dashboard.feed
        if feed.fault:
            self.status.rest(plain(one_line(feed.fault), "$bad"), self.hints)
            return
        parts: list[str] = []
        if self.items:
            parts.append(f"{self.table.place + 1} of {len(self.items)}")
        if state.n_matching > len(self.items):
            parts.append(f"the first of {state.n_matching}; {self.key('review.filter')} narrows them down")
        if state.filter.problem or state.filter.text:
            parts.append(state.filter.problem or f"filter {one_line(state.filter.text, 30)}")
        style = "$warn" if state.filter.problem else "$muted"
        self.status.rest(plain("   ".join(parts), style), self.hints)

    def _show_attempt(self) -> None:
        item = self.item
        if item is None:
            return
        self.state.look_at(item)
        name = plain(one_line(self.view.task(item.task).id, 120), "bold")
        where = plain(f"attempt {item.attempt} of {self.view.columns}", "$muted")
        if self.state.is_hidden(item):
            outcome = plain("score hidden until you judge", "$warn")
        else:
            outcome = cell_word(self.state.row(item), self.dashboard.glyphs, live=self.view.live)
        self.query_one("#head", Bar).show(join([name, outcome], "  "), where)
        self._load(item)

    @work(exclusive=True, group="review")
    async def _load(self, item: Item) -> None:
        feed, row = self.dashboard.feed, self.state.row(item)
        if not feed.has_transcript(*item):
            await asyncio.sleep(SETTLE_SECONDS)
        transcript = await feed.read(feed.transcript(*item))
        prompt, expected = await feed.read(feed.task_text(item.task)) or ("", None)
        if self.is_there and item == self.item:
            blocks = evidence(self.state, item, row, transcript, prompt, expected)
            self.text.show(blocks, item)

    # -- going through the queue

    def on_table_cursor_moved(self, message: Table.CursorMoved) -> None:
        self._show_attempt()
        self._show_status()

    def on_table_opened(self, message: Table.Opened) -> None:
        item = self.item
        if item is None:
            return
        if self.state.is_hidden(item):
            self.status.say("the whole attempt shows its score; judge it first")
        else:
            self.dashboard.open_attempt(*item)

    def action_step(self, by: int) -> None:
        found = self.state.step(self.items, self.item, by)
        if found is None:
            self.status.say("no further attempt in this queue", "$muted", 3)
        else:
            self.table.cursor = found

    def action_next_open(self) -> None:
        found = self.state.next_open(self.items, self.item)
        if found is None:
            self.status.say("you have judged every attempt of this queue", "$muted", 4)
        else:
            self.table.cursor = found

    def action_switch_pane(self) -> None:
        (self.text if self.table.has_focus and self.items else self.table).focus()

    def action_back(self) -> None:
        if self.state.filter.text:
            self.state.set_filter("")
            self.sync()
        elif not self.table.has_focus:
            self.table.focus()
        else:
            self.dashboard.pop_screen()

    # -- which attempts

    def action_which(self) -> None:
        if self.state.next_which():
            self.sync()
        else:
            self.status.say("the other queues would give scores away; leave blind mode first")

    def action_blind(self) -> None:
        self.state.set_blind(not self.state.blind)
        self.sync()
        first = self.state.next_open(self.items, None) if self.state.blind else None
        if first is not None:
            # Away from the attempt whose score was on the screen just now, to the beginning of the random order.
            self.table.cursor = first
        keys = f"{self.key('review.pass')} it should pass, {self.key('review.fail')} it should fail"
        words = f"blind, in random order: {keys}" if self.state.blind else "scores show again"
        self.status.say(words, "$muted")

    def action_filter(self) -> None:
        self.query_one(FilterInput).open(self.state.filter.text)

    def on_input_changed(self, message: Input.Changed) -> None:
        if isinstance(message.input, FilterInput):
            self.state.set_filter(message.value)
            self.sync()

    def on_filter_input_closed(self, message: FilterInput.Closed) -> None:
        if not message.kept:
            self.state.set_filter("")
            self.sync()
        self.table.focus()
