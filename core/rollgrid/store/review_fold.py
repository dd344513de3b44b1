"""The fold of reviews: which rows of `review` an event makes or changes. Pure, a part of `projection.fold`.

A review is of a take that has ended, else it changes nothing. Its author, and nobody else, can take it back, once.
"""

from collections.abc import Iterable, Mapping

from rollgrid.store.entry import Entry
from rollgrid.store.states import AttemptState, Key, ReviewState

REVIEW_KINDS = frozenset({"reviewed", "review_undone"})


def undone(entries: Iterable[Entry]) -> list[int]:
    """Reviews whose rows the fold needs to know, since they are taken back."""
    return [entry.data["review"] for entry in entries if entry.kind == "review_undone"]


def fold_review(
    entry: Entry, attempts: Mapping[Key, AttemptState], reviews: dict[int, ReviewState]
) -> ReviewState | None:
    """The row that the event changes, which is put into `reviews`; None when it changes none."""
    review = _reviewed(entry, attempts) if entry.kind == "reviewed" else _taken_back(entry, reviews)
    if review is not None:
        reviews[review.seq] = review
    return review


def _reviewed(entry: Entry, attempts: Mapping[Key, AttemptState]) -> ReviewState | None:
    key, data = entry.key, entry.data
    attempt = attempts.get(key) if key is not None else None
    if attempt is None or attempt.ended_seq is None:
        return None
    return ReviewState(
        seq=entry.seq,
        run_id=entry.run_id,
        task=data["task"],
        attempt=data["attempt"],
        take=data["take"],
        at=entry.at,
        author=data["author"],
        verdict=data["verdict"],
        passed=None if data["passed"] is None else int(data["passed"]),
        label=data["label"],
        note=data["note"],
        blind=int(data["blind"]),
        undone=None,
        touched=entry.seq,
    )


def _taken_back(entry: Entry, reviews: Mapping[int, ReviewState]) -> ReviewState | None:
    review = reviews.get(entry.data["review"])
    if review is None or review.undone is not None or review.author != entry.data["author"]:
        return None
    if (review.run_id, review.task, review.attempt, review.take) != entry.key:
        return None
    review.undone = review.touched = entry.seq
    return review
