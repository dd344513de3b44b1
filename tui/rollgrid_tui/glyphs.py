"""The characters that the dashboard draws with, all one cell wide in every terminal.

East-Asian-ambiguous characters (most box drawing, blocks, arrows, the middle dot) are drawn two cells wide by some
terminals, so none of them is used; a test goes through what the screens show. The ASCII set is for the Linux console,
for locales that are not UTF-8, and for whoever asks for it.
"""

import codecs
import locale
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from rollgrid_tui.state.figures import Cell, Interval
from rollgrid_tui.state.review_book import Mark


@dataclass(frozen=True, slots=True)
class Glyphs:
    """`bar` are the marks of an interval bar: track, interval, and the rate itself in a left and right half cell."""

    cells: Mapping[Cell, str]
    done: str
    rest: str
    track: str
    span: str
    point: tuple[str, str]
    live: str
    cursor: str
    storm: str
    settled: str
    given_up: str
    reviewed: Mapping[tuple[Mark, bool], str]
    """Of a cell that people reviewed, by what they say and whether the attempt passed."""

    def cell(self, cell: Cell, mark: Mark | None) -> str:
        """A cell of the grid; where people say whether the score is right, that shows."""
        return self.cells[cell] if mark is None else self.reviewed[mark, cell is Cell.passed]

    def progress(self, share: float, width: int) -> tuple[str, str]:
        """A bar of `width` cells as its done part and the rest."""
        done = round(max(0.0, min(1.0, share)) * width)
        # A bar is empty only before the first and full only after the last attempt.
        if 0 < share < 1:
            done = max(1, min(width - 1, done))
        return self.done * done, self.rest * (width - done)

    def interval(self, interval: Interval | None, rate: float | None, width: int) -> list[tuple[str, str]]:
        """An interval bar of `width` cells as runs of (part, text); parts are `track`, `span` and `point`."""
        if interval is None or rate is None:
            return [("track", self.track * width)]
        low = min(int(interval.low * width), width - 1)
        high = min(int(interval.high * width), width - 1)
        half = min(int(rate * width * 2), width * 2 - 1)
        cells: list[tuple[str, str]] = []
        for place in range(width):
            if place == half // 2:
                cells.append(("point", self.point[half % 2]))
            elif low <= place <= high:
                cells.append(("span", self.span))
            else:
                cells.append(("track", self.track))
        return [(part, "".join(text for _, text in run)) for part, run in groupby(cells, key=lambda cell: cell[0])]


UNICODE = Glyphs(
    cells={
        Cell.pending: "⋅",
        Cell.running: "◔",
        Cell.retrying: "◌",
        Cell.passed: "✓",
        Cell.failed: "✗",
        Cell.partial: "◒",
        Cell.error: "⚠",
        Cell.timeout: "◷",
        Cell.cancelled: "⊘",
        Cell.superseded: "▪",
    },
    done="⣶",
    rest="⣀",
    track="⠤",
    span="⠶",
    point=("⡇", "⢸"),
    live="◔",
    cursor="▸",
    storm="⚠",
    settled="⊨",
    given_up="⊭",
    reviewed={
        (Mark.agree, True): "⊞",
        (Mark.agree, False): "⊠",
        (Mark.disagree, True): "⚑",
        (Mark.disagree, False): "⚑",
    },
)

ASCII = Glyphs(
    cells={
        Cell.pending: ".",
        Cell.running: "o",
        Cell.retrying: "r",
        Cell.passed: "+",
        Cell.failed: "x",
        Cell.partial: "%",
        Cell.error: "!",
        Cell.timeout: "T",
        Cell.cancelled: "-",
        Cell.superseded: "s",
    },
    done="#",
    rest="-",
    track="-",
    span="=",
    point=("|", "|"),
    live="o",
    cursor=">",
    storm="!",
    settled="=",
    given_up="?",
    reviewed={
        (Mark.agree, True): "P",
        (Mark.agree, False): "F",
        (Mark.disagree, True): "D",
        (Mark.disagree, False): "D",
    },
)

CELL_WORDS: Mapping[Cell, str] = {
    Cell.pending: "not started",
    Cell.running: "running",
    Cell.retrying: "waiting to try a model call again",
    Cell.passed: "passed",
    Cell.failed: "failed, score 0",
    Cell.partial: "failed with part of the score",
    Cell.error: "error, unscored",
    Cell.timeout: "timed out, unscored",
    Cell.cancelled: "cancelled or lost, unscored",
    Cell.superseded: "no longer counts, to be run again",
}

MARK_WORDS: Mapping[tuple[Mark, bool], str] = {
    (Mark.agree, True): "passed, and a person agrees",
    (Mark.agree, False): "failed, and a person agrees",
    (Mark.disagree, False): "reviewed: a person disagrees with the score",
}


def wants_ascii(environ: Mapping[str, str], encoding: str | None = None) -> bool:
    """Whether this terminal had better get ASCII: the Linux console, or a locale that is not UTF-8."""
    if environ.get("TERM") in {"linux", "dumb", "vt100", "vt220"}:
        return True
    name = encoding or locale.getpreferredencoding(False)
    try:
        return codecs.lookup(name).name != "utf-8"
    except LookupError:
        return True


def glyphs(*, ascii: bool) -> Glyphs:
    return ASCII if ascii else UNICODE
