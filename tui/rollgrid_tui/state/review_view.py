"""The review queue: which attempts a person has before them, in which order, and what may be shown of each."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple
from zlib import crc32

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


_64_BITS = 2**64 - 1

WRONG = frozenset({Cell.failed, Cell.partial})
SCORED = WRONG | {Cell.passed}
ENDED = SCORED | {Cell.error, Cell.timeout, Cell.cancelled}


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
        found = self._disagreements() if self.which is Which.disagreements and not self.blind else self._cells()
        if self.blind:
            # Each place depends on the attempt alone, so that one that ends later moves no other.
            found.sort(key=shuffled(self.view.run.run_id if self.view.run is not None else ""))
        self.n_matching = len(found)
        takes = (self.view.attempt(task, attempt) for task, attempt in found[:QUEUE_MOST])
        return [Item(take.task, take.attempt, take.take) for take in takes if take is not None]

    def _cells(self) -> list[tuple[int, int]]:
        """Tasks and attempts that ended as the queue wants it; of a large run there are many, so cells decide."""
        wanted = SCORED if self.blind else WRONG if self.which is Which.failed else ENDED
        view, matches = self.view, self.filter.matches if self.filter.terms else None
        found: list[tuple[int, int]] = []
        for task in range(view.n_tasks):
            for attempt, cell in enumerate(view.cells(task), start=1):
                if cell not in wanted or (cell is Cell.cancelled and not self._has_ended(task, attempt)):
                    continue
                if matches is None or matches(view.task(task), view.figures(task), (cell,)):
                    found.append((task, attempt))
        return found

    def _has_ended(self, task: int, attempt: int) -> bool:
        """False for one that was lost with its runner: it left nothing behind to review."""
        row = self.view.attempt(task, attempt)
        return row is not None and row.phase == "ended"

    def _disagreements(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for task, attempt, take in sorted(self.view.reviews.takes()):
            row = self.view.attempt(task, attempt)
            if row is None or row.take != take or self.view.reviews.mark(row) is not Mark.disagree:
                continue
            cell = cell_of(row, live=self.view.live)
            if self.filter.matches(self.view.task(task), self.view.figures(task), (cell,)):
                found.append((task, attempt))
        return found

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


def shuffled(run_id: str) -> Callable[[tuple[int, int]], int]:
    """A sort key that puts cells into a random order, for one run always the same.

    The finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014): a hash from `hashlib` takes three
    times as long, and a run may have sixty thousand cells.
    """
    salt = crc32(run_id.encode("utf-8", "surrogatepass"))

    def key(cell: tuple[int, int]) -> int:
        z = (cell[0] * 0x9E3779B97F4A7C15 + cell[1] * 0xC2B2AE3D27D4EB4F + salt) & _64_BITS
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        return z ^ (z >> 31)

    return key
