"""Where words stand in a transcript. The raw text is searched, as it came; what shows is cleaned from it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rollgrid_tui.state.attempt_view import Block

MOST = 10_000
"""More places than this are not gone through one by one."""


class Place(NamedTuple):
    """A block of the transcript by its index, and a character in its text."""

    block: int
    at: int


class Search(NamedTuple):
    """`complete` is False when there are more places than are kept."""

    pattern: re.Pattern[str]
    places: tuple[Place, ...]
    complete: bool


def search(blocks: Sequence[Block], words: str) -> Search:
    """`words` as they stand, not as an expression. Capitals count only when `words` has one."""
    pattern = re.compile(re.escape(words), 0 if words != words.lower() else re.IGNORECASE)
    places: list[Place] = []
    for index, block in enumerate(blocks):
        for match in pattern.finditer(block.text):
            places.append(Place(index, match.start()))
            if len(places) > MOST:
                return Search(pattern, tuple(places[:MOST]), complete=False)
    return Search(pattern, tuple(places), complete=True)
