"""The review queue: which attempts a person has before them, in which order, and what may be shown of each."""

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from rollgrid.analysis.agreement import Agreement, agreement, opinions
from rollgrid.store.rows import AttemptRow, ReviewRow
from rollgrid_tui.state.figures import Cell, cell_of
from rollgrid_tui.state.order import Filter
from rollgrid_tui.state.review_book import Mark
from rollgrid_tui.state.run_view import RunView

QUEUE_MOST = 2000
"""Attempts that the queue lists at once; a filter reaches the others."""


class Which(StrEnum):
    """What the queue is made of. `every` are all attempts that have ended and count."""

    failed = "failed"
    every = "all"
    disagreements = "disagreements"


WRONG = frozenset({Cell.failed, Cell.partial})


class Item(NamedTuple):
    """An attempt in the queue."""

    task: int
    attempt: int
    take: int


class ReviewView:
    """A queue over the attempts of a run, for one author.

    In blind mode it holds scored attempts only, in an order that tells nothing: shuffled, but always alike for one run,
    so that whoever stops half way has judged a random sample.
    """

    def __init__(self, view: RunView, author: str) -> None:
        self.view = view
        self.author = author
        self.which = Which.failed
        self.filter = Filter()
        self.blind = False
        self.n_matching = 0
        """Attempts that belong into the queue, also those beyond `QUEUE_MOST`."""
        self._seen: set[Item] = set()
        self._figures: tuple[tuple[int, int], Agreement] | None = None

    # -- the queue

    def items(self) -> list[Item]:
        """The queue as it is now."""
        found: list[Item] = []
        for task in range(self.view.n_tasks):
            figures, row = self.view.figures(task), self.view.task(task)
            for attempt, cell in enumerate(self.view.cells(task), start=1):
                take = self.view.attempt(task, attempt)
                if take is None or take.phase != "ended" or take.superseded is not None:
                    continue
                if self._belongs(take, cell) and self.filter.matches(row, figures, (cell,)):
                    found.append(Item(task, attempt, take.take))
        if self.blind:
            run_id = self.view.run.run_id if self.view.run is not None else ""
            # Each place depends on the attempt alone, so that one that ends later moves no other.
            found.sort(key=lambda item: random.Random(f"{run_id}/{item.task}/{item.attempt}").random())
        self.n_matching = len(found)
        return found[:QUEUE_MOST]

    def _belongs(self, row: AttemptRow, cell: Cell) -> bool:
        if self.blind:
            return row.passed is not None
        if self.which is Which.failed:
            return cell in WRONG
        if self.which is Which.disagreements:
            return self.view.reviews.mark(row) is Mark.disagree
        return True

    def is_open(self, item: Item) -> bool:
        """Whether the author has not said yet what it deserves."""
        own = self.own(item)
        return own is None or own.passed is None

    def next_open(self, items: Sequence[Item], after: Item | None) -> Item | None:
        """The next attempt that the author has not judged, around the end if need be; None when all are."""
        start = items.index(after) + 1 if after in items else 0
        return next((item for item in [*items[start:], *items[:start]] if item != after and self.is_open(item)), None)

    def step(self, items: Sequence[Item], item: Item | None, by: int) -> Item | None:
        """The neighbour in the queue; None at its end."""
        place = items.index(item) + by if item in items else 0
        return items[place] if 0 <= place < len(items) else None

    # -- how it is chosen

    def next_which(self) -> bool:
        """Go on to the next kind of queue. False in blind mode, which has only one."""
        if self.blind:
            return False
        kinds = list(Which)
        self.which = kinds[(kinds.index(self.which) + 1) % len(kinds)]
        return True

    def set_filter(self, text: str) -> None:
        """Filter as the grid does; `is:` is about the attempt itself. In blind mode no term may tell the outcome."""
        parsed = Filter.parse(text)
        if self.blind and parsed.live and parsed.problem is None:
            parsed = Filter(parsed.text, (), "is: and zone: would give the score away")
        self.filter = parsed

    def set_blind(self, blind: bool) -> None:
        """Hide what gives the score away of every attempt until it is judged."""
        self.blind = blind
        self.set_filter(self.filter.text)

    # -- one attempt

    def row(self, item: Item) -> AttemptRow | None:
        return next((row for row in self.view.takes(item.task, item.attempt) if row.take == item.take), None)

    def own(self, item: Item) -> ReviewRow | None:
        return self.view.reviews.own(item, self.author)

    def reviews(self, item: Item) -> Sequence[ReviewRow]:
        return self.view.reviews.of(*item)

    def cell(self, item: Item) -> Cell:
        return cell_of(self.row(item), live=self.view.live)

    def is_hidden(self, item: Item) -> bool:
        """Whether score, reason and the reviews of others must not show."""
        return self.blind and self.is_open(item)

    def look_at(self, item: Item) -> None:
        """Remember that the author saw the score, so that a later judgement is not called blind."""
        if not self.is_hidden(item):
            self._seen.add(item)

    def judges_blind(self, item: Item) -> bool:
        """Whether a judgement given now is one that knew nothing of the score."""
        return self.is_hidden(item) and item not in self._seen and not self.view.reviews.has_ever(item, self.author)

    # -- figures

    def agreement(self) -> Agreement:
        """Over all reviews of the run that count, by whomever."""
        key = (self.view.reviews.version, self.view.run.seq if self.view.run is not None else 0)
        if self._figures is None or self._figures[0] != key:
            takes = self.view.reviews.takes()
            attempts = [row for take in takes if (row := self.row(Item(*take))) is not None]
            reviews = [review for take in takes for review in self.view.reviews.of(*take)]
            self._figures = (key, agreement(opinions(attempts, reviews)))
        return self._figures[1]
