"""What the review screen says of the queue and of the attempt under the cursor."""

from collections.abc import Callable, Mapping
from typing import Any

from rollgrid.store.rows import AttemptRow
from rollgrid.text import clean_line
from rollgrid_tui.state.attempt_view import (
    BODY,
    Block,
    Kind,
    conversation,
    expected_blocks,
    figures,
    section,
    verdict,
)
from rollgrid_tui.state.review_book import Mark, mark_of, review_blocks
from rollgrid_tui.state.review_view import Item, ReviewView, Which

Piece = tuple[str, str]
"""Text that is clean, and how it looks."""

LOOKS = {"pass": "good", "fail": "bad", "partial": "bad", "error": "warn", "timeout": "warn"}


def queue_row(state: ReviewView, item: Item) -> list[tuple[str, str]]:
    """Task, attempt, score, what the author said, and how many others agree or disagree, as (text, look)."""
    own, row = state.own(item), state.row(item)
    hidden = state.is_hidden(item)
    marks = [mark_of(review, row) for review in state.reviews(item) if review.author != state.author]
    agree, against = marks.count(Mark.agree), marks.count(Mark.disagree)
    score = state.cell(item).value
    if own is None:
        mine = ("-", "quiet")
    elif own.passed is None:
        mine = ("note" if own.label is None else "label", "quiet")
    elif (mark := mark_of(own, row)) is None:
        mine = ("pass" if own.passed else "fail", "text")
    else:
        mine = (mark.value, "good" if mark is Mark.agree else "warn")
    counts = f"{agree}+ {against}-" if agree or against else "-"
    return [
        (clean_line(state.view.task(item.task).id, 120), "text"),
        (str(item.attempt), "quiet"),
        ("hidden", "quiet") if hidden else (score, LOOKS.get(score, "quiet")),
        mine,
        ("?" if hidden else counts, "warn" if against and not hidden else "quiet"),
    ]


def evidence(
    state: ReviewView,
    item: Item,
    row: AttemptRow | None,
    transcript: Mapping[str, Any] | None,
    prompt: str,
    expected: Any,
) -> list[Block]:
    """What one judges by: score and reviews first, then what is expected, then what was said and done.

    While the score is hidden nothing shows that depends on it: no verdict, no reason, no review, no figure.
    """
    talk = conversation(transcript)
    if not talk and prompt:
        talk = section("user", Block(Kind.text, prompt, indent=BODY))
    if state.is_hidden(item):
        return [*expected_blocks(expected), *talk]
    return [
        *verdict(row, transcript),
        *review_blocks(state.reviews(item)),
        *expected_blocks(expected),
        *talk,
        *figures(row, transcript, live=False),
    ]


def why_empty(state: ReviewView, key: Callable[[str], str]) -> list[list[tuple[str, str]]]:
    """What an empty queue says, as lines of (look, text): what would fill it, and the key that does so."""
    if state.view.run is None:
        return [[("quiet", "Reading the log ...")]]
    if state.filter.text:
        return [
            [("strong", "No attempt of this queue matches the filter.")],
            [("quiet", f"{key('review.back')} takes the filter away, {key('review.filter')} changes it.")],
        ]
    other = f"{key('review.which')} goes on to the next queue."
    if state.blind:
        return [
            [("strong", "No attempt has a score yet.")],
            [("quiet", "In blind mode the queue holds every attempt that was scored, in random order.")],
        ]
    if state.which is Which.failed:
        return [
            [("strong", "No attempt has failed.")],
            [("quiet", "Attempts that the scorer failed show here, for you to say whether it was right.")],
            [("quiet", other)],
        ]
    if state.which is Which.disagreements:
        return [
            [("strong", "Nobody disagrees with the scorer.")],
            [("quiet", f"Attempts show here that somebody marked with {key('review.disagree')}.")],
            [("quiet", other)],
        ]
    return [
        [("strong", "No attempt has ended yet.")],
        [("quiet", "Attempts show here as soon as they have ended.")],
    ]
