r"""The one sanitiser: whatever a model, a tool or a user wrote becomes text that is safe to put on a terminal.

Everything that could act on a terminal, hide, reorder its neighbours or be drawn with another width than it is counted
with is replaced by a visible stand-in in plain ASCII, which names the code point: `\x1b` for ESC, `\u202e` for the
right-to-left override, `\ud800` for a lone surrogate. So the columns of a table hold, nothing is silently lost, and a
stand-in survives any locale.

Replaced are the Unicode categories Cc, Cf, Cs, Zl and Zp (controls, bidirectional and zero-width characters, lone
surrogates, line and paragraph separators), the default-ignorable letters and fillers that draw nothing, non-characters,
and the skin-tone modifiers. A pair of regional indicators (a flag) becomes `:DE:`. A variation selector after a
character only chooses between two drawings of it and is left out; two in a row can only be a hidden message and are
shown. Of a stack of combining marks the first four stay and `\+96` tells how many more there were; a mark with nothing
to sit on is shown by its number.
"""

import re
import sys
import unicodedata
from functools import cache

__all__ = ["MAX_MARKS", "clean_block", "clean_line"]

MAX_MARKS = 4
"""Combining marks that a character may carry; the most that a living orthography needs is three or four."""

TAB_WIDTH = 4
CUT = "..."

# Code points that never reach the output: every Cf of Unicode up to 16, controls, surrogates, separators, the
# default-ignorable ones of other categories, non-characters of the basic plane, emoji modifiers. Written out, since
# asking `unicodedata` for all 1.1 million would cost a fifth of a second at import; a test compares the two.
_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\xad"
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bcaf\U0001d173-\U0001d17a"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff"
)
_FORBIDDEN = re.compile(f"[{_HIDDEN}]")
_FORBIDDEN_IN_BLOCK = re.compile(f"[{_HIDDEN}]".replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))
_LONE_SELECTOR = re.compile("(?<![\ufe00-\ufe0f])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])")
_INDICATORS = re.compile("[\U0001f1e6-\U0001f1ff]+")
_NOT_LATIN = re.compile("[^\x00-\u02ff]")
_TAB = re.compile("\t")
_AFTER_NEWLINE = re.compile("\n([^\x00-\u02ff])")

_PRINTABLE_ASCII = bytes(range(0x20, 0x7F))


class _StandIns(dict[str, str]):
    """Code point to stand-in, made when first met."""

    def __missing__(self, character: str) -> str:
        number = ord(character)
        if number < 0x100:
            shown = f"\\x{number:02x}"
        elif number < 0x10000:
            shown = f"\\u{number:04x}"
        else:
            shown = f"\\U{number:08x}"
        self[character] = shown
        return shown


_STAND_INS = _StandIns({"\n": "\\n", "\r": "\\r"})


def clean_line(text: str, limit: int | None = None) -> str:
    r"""`text` as one line: a newline shows as `\n`, a tab as spaces.

    With `limit` the result has at most that many characters and ends in `...` where something was left out; only as
    much of `text` is looked at as that needs.
    """
    if limit is None:
        return _clean(text, block=False)
    # Stand-ins are never shorter than what they stand for; left-out selectors and marks are what the slack is for.
    head = text[: 2 * limit + 64]
    shown = _clean(head, block=False)
    if len(shown) <= limit and len(head) == len(text):
        return shown
    if limit <= len(CUT):
        return shown[:limit]
    return shown[: limit - len(CUT)].rstrip() + CUT


def clean_block(text: str) -> str:
    r"""`text` as lines: newlines stay, `\r\n` is one of them, tabs are expanded."""
    return _clean(text, block=True)


def _clean(text: str, *, block: bool) -> str:
    if text.isascii():
        # Model output is mostly this, by the megabyte: one pass in C finds that there is nothing to do.
        left = text.encode().translate(None, _PRINTABLE_ASCII)
        if not left or (block and not left.strip(b"\n")):
            return text
    if block and "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\ufe0f" in text or "\ufe0e" in text:
        text = _LONE_SELECTOR.sub("", text)
    if "\t" in text:
        text = _expand_tabs(text, block=block)
    forbidden = _FORBIDDEN_IN_BLOCK if block else _FORBIDDEN
    text = forbidden.sub(_stand_in, text)
    if _NOT_LATIN.search(text) is not None:
        text = _INDICATORS.sub(_flag, text)
        stacks, homeless = _mark_patterns()
        text = stacks.sub(_cap, text)
        if homeless.match(text):
            text = _STAND_INS[text[0]] + text[1:]
        if block:
            text = _AFTER_NEWLINE.sub(_shown_if_homeless, text)
    return text


def _expand_tabs(text: str, *, block: bool) -> str:
    if block and "\r" not in text:
        return text.expandtabs(TAB_WIDTH)
    # `expandtabs` restarts its count at \r and \n, which in a line are shown and take cells.
    return _TAB.sub(" " * TAB_WIDTH, text)


def _stand_in(match: re.Match[str]) -> str:
    return _STAND_INS[match.group()]


def _shown_if_homeless(match: re.Match[str]) -> str:
    first = match.group(1)
    return "\n" + _STAND_INS[first] if _mark_patterns()[1].match(first) else match.group()


def _flag(match: re.Match[str]) -> str:
    letters = "".join(chr(ord(character) - 0x1F1E6 + ord("A")) for character in match.group())
    return f":{letters}:"


def _cap(match: re.Match[str]) -> str:
    run = match.group()
    return f"{run[:MAX_MARKS]}\\+{len(run) - MAX_MARKS}"


@cache
def _mark_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for too many combining marks in a row, and for a single one.

    Marks are the categories Mn and Me and the vowels and finals of conjoining Hangul, all drawn into the cell before
    them. The table is taken from this Python's Unicode when the first text that may need it is met (some 20 ms).
    """
    ranges: list[list[int]] = [[0x1161, 0x11FF], [0xD7B0, 0xD7FF]]
    for low, high in ((0x300, 0x3400), (0xA600, 0xD800), (0xFB00, 0x1F000)):
        for number in range(low, min(high, sys.maxunicode + 1)):
            if unicodedata.category(chr(number)) in {"Mn", "Me"}:
                if ranges[-1][1] == number - 1:
                    ranges[-1][1] = number
                else:
                    ranges.append([number, number])
    marks = "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges) + "]"
    return re.compile(f"{marks}{{{MAX_MARKS + 1},}}"), re.compile(marks)
