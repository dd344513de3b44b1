"""The reviews of one run as the screens ask for them: by take, by author, and as one mark a cell."""

import time
from collections.abc import Iterable, Sequence
from enum import StrEnum

from rollgrid.store.rows import AttemptRow, ReviewRow, standing_reviews
from rollgrid_tui.state.attempt_view import BODY, Block, Kind, section

Take = tuple[int, int, int]
"""Task, attempt and take."""


class Mark(StrEnum):
    """What the reviews of a take amount to: all that have a verdict agree with the score, or somebody does not."""

    agree = "agree"
    disagree = "disagree"


class ReviewBook:
    """Folds review rows as they come; a row that is known already takes its place anew."""

    def __init__(self) -> None:
        self.version = 0
        """Grows with every change."""
        self._changes: dict[int, int] = {}
        self._rows: dict[Take, dict[int, ReviewRow]] = {}
        self._standing: dict[Take, Sequence[ReviewRow]] = {}

    def apply(self, rows: Iterable[ReviewRow]) -> set[int]:
        """Take rows in; gives the tasks that they are about."""
        takes: set[Take] = set()
        for row in rows:
            take = (row.task, row.attempt, row.take)
            self._rows.setdefault(take, {})[row.seq] = row
            takes.add(take)
        for take in takes:
            self._standing[take] = standing_reviews(self._rows[take].values())
        tasks = {task for task, _, _ in takes}
        for task in tasks:
            self._changes[task] = self.changes(task) + 1
        self.version += bool(tasks)
        return tasks

    def changes(self, task: int) -> int:
        """How often the reviews of a task have changed."""
        return self._changes.get(task, 0)

    def __bool__(self) -> bool:
        return any(self._standing.values())

    def of(self, task: int, attempt: int, take: int) -> Sequence[ReviewRow]:
        """The reviews of a take that count, one an author, oldest first."""
        return self._standing.get((task, attempt, take), ())

    def own(self, take: Take, author: str) -> ReviewRow | None:
        """What `author` says of a take now."""
        return next((row for row in self._standing.get(take, ()) if row.author == author), None)

    def has_ever(self, take: Take, author: str) -> bool:
        """Whether `author` ever reviewed the take, also when that was taken back."""
        return any(row.author == author for row in self._rows.get(take, {}).values())

    def mark(self, row: AttemptRow) -> Mark | None:
        """What people say of the score that `row` has; None where nobody has said whether it is right."""
        marks = {mark_of(review, row) for review in self._standing.get((row.task, row.attempt, row.take), ())} - {None}
        if not marks:
            return None
        return Mark.disagree if Mark.disagree in marks else Mark.agree

    def takes(self) -> list[Take]:
        """Every take that has a review."""
        return [take for take, rows in self._standing.items() if rows]

    def labels(self) -> list[str]:
        """The labels in use, the most frequent first."""
        count: dict[str, int] = {}
        for rows in self._standing.values():
            for row in rows:
                if row.label:
                    count[row.label] = count.get(row.label, 0) + 1
        return sorted(count, key=lambda label: (-count[label], label))


def mark_of(review: ReviewRow, row: AttemptRow | None) -> Mark | None:
    """Whether a review agrees with the score that `row` has, which may be that of a later scoring."""
    if row is None or row.passed is None or review.passed is None:
        return None
    return Mark.agree if review.passed == row.passed else Mark.disagree


def review_blocks(reviews: Sequence[ReviewRow]) -> list[Block]:
    """Who says what of a take, and since when; nothing without a review."""
    blocks: list[Block] = []
    for row in reviews:
        kind = {"agree": Kind.good, "disagree": Kind.bad}.get(row.verdict or "", Kind.quiet)
        blocks.append(Block(kind, review_line(row), indent=BODY))
        if row.note:
            blocks.append(Block(Kind.text, row.note, indent=BODY + 2))
    return section("reviews", *blocks) if blocks else []


def review_line(row: ReviewRow) -> str:
    """A review without its note: `bea disagrees: it should have failed  [wrong unit]  2026-03-01 12:30, blind`."""
    words = [row.author, said(row)]
    if row.label:
        words.append(f" [{row.label}]")
    return f"{' '.join(words)}  {when(row.at)}{', blind' if row.blind else ''}"


def when(at: float) -> str:
    """A moment as the person at the screen calls it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def said(row: ReviewRow) -> str:
    """The verdict as a verb."""
    deserved = {True: "pass", False: "fail", None: ""}[row.passed]
    if row.verdict == "agree":
        return f"agrees: {deserved}"
    if row.verdict == "disagree":
        return f"disagrees: it should {deserved}"
    return f"says: {deserved}" if deserved else "has no verdict"
