"""Plain text for terminals: widths, encodings, and the few colours there are."""

import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TextIO, cast

Style = Literal["pass", "fail", "unscored", "heading", "dim"]

_CODES: dict[Style, str] = {"pass": "32", "fail": "31", "unscored": "33", "heading": "1", "dim": "2"}


class Line(NamedTuple):
    """A line of a report, sanitised already."""

    text: str
    style: Style | None = None


class Glyphs(NamedTuple):
    """One character for each outcome, each one cell wide in every terminal."""

    passed: str
    failed: str
    error: str
    timeout: str
    cancelled: str
    paused: str


UNICODE = Glyphs("✓", "✗", "⚠", "◔", "⊘", "▪")
ASCII = Glyphs("+", "x", "!", "T", "C", "P")


def stdout_glyphs() -> Glyphs:
    """The Unicode set where standard output can show it, else the ASCII one."""
    try:
        "".join(UNICODE).encode(_encoding(sys.stdout))
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def for_stdout(text: str) -> str:
    """`text` with escapes for what standard output cannot encode, so that printing it never raises."""
    return _encodable(text, _encoding(sys.stdout))


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _encodable(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def width(text: str) -> int:
    """The terminal cells that a sanitised line takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def pad(text: str, cells: int) -> str:
    """`text` in exactly `cells` terminal cells: filled up with blanks, or cut with `...`."""
    taken = width(text)
    if taken <= cells:
        return text + " " * (cells - taken)
    kept = ""
    room = cells - 3
    for character in text:
        room -= width(character)
        if room < 0:
            break
        kept += character
    return kept + "..." + " " * (cells - 3 - width(kept))


def scoring_text(about: Mapping[str, Any]) -> str | None:
    """Which scoring a result shows, in one line, from what is known about it; None for a run's own scores."""
    told = about.get("scoring")
    if not isinstance(told, dict):
        return None
    told = cast("dict[str, Any]", told)
    at = told.get("at")
    when = (
        f", {time.strftime('%Y-%m-%d %H:%M', time.localtime(at))}"
        if isinstance(at, (int, float)) and 0 <= at < 1e11
        else ""
    )
    return f"scores of scoring {told.get('number')} by {told.get('scorer')} ({told.get('author')}{when})"


def write_lines(lines: Iterable[Line], stream: TextIO | None, *, console: Any = None) -> None:
    """Print lines as they are: no markup is looked for. Colours only on a terminal and without `NO_COLOR`."""
    if console is not None:
        for line in lines:
            console.print(line.text, markup=False, highlight=False, emoji=False, soft_wrap=True)
        return
    if stream is None:
        return
    colours = _wants_colour(stream)
    encoding = _encoding(stream)
    for line in lines:
        text = _encodable(line.text, encoding)
        if colours and line.style is not None and text:
            text = f"\x1b[{_CODES[line.style]}m{text}\x1b[0m"
        stream.write(text + "\n")


def _wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
