"""A terminal in a list: enough of one to see what a stream of bytes draws."""

import re
from typing import NamedTuple

from rich.cells import split_graphemes

_SEQUENCE = re.compile(r"\x1b\[([?>=<!]?[0-9;:]*) ?([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>()78]B?")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Drawn(NamedTuple):
    """A cell: what stands in it, and the SGR parameters that hold there by what they set."""

    text: str
    look: tuple[tuple[str, str], ...]


BLANK = Drawn(" ", ())


class Emulator:
    """Cursor, colours, attributes and wide characters. Other sequences are kept in `unknown` and do nothing.

    What is written beside the screen, or no terminal should be given, is an `AssertionError`, unless it is `lenient`.
    """

    def __init__(self, columns: int, rows: int, *, lenient: bool = False) -> None:
        self.columns, self.rows = columns, rows
        self.lenient = lenient
        self.cells = [[BLANK] * columns for _ in range(rows)]
        self.unknown: list[str] = []
        self._x = self._y = 0
        self._look: dict[str, str] = {}
        self._rest = ""

    def feed(self, text: str) -> None:
        text, place = self._rest + text, 0
        for match in _SEQUENCE.finditer(text):
            self._print(text[place : match.start()])
            self._obey(match.group(1), match.group(2), match.group())
            place = match.end()
        # A sequence may be cut where the reading ended.
        whole, escape, rest = text[place:].partition("\x1b")
        self._print(whole)
        self._rest = escape + rest

    def text(self) -> list[str]:
        return ["".join(cell.text for cell in row).rstrip() for row in self.cells]

    def _print(self, text: str) -> None:
        # A line feed alone goes down; textual sets the cursor anew behind each.
        text = text.replace("\n", "")
        look = tuple(sorted(self._look.items()))
        for first, end, width in split_graphemes(text)[0]:
            character = text[first:end]
            if _CONTROL.search(character):
                assert self.lenient, f"{character!r} was written"
                continue
            for step in range(width):
                self._put(self._x + step, Drawn(character if step == 0 else "", look))
            self._x += width

    def _put(self, x: int, drawn: Drawn) -> None:
        if not (0 <= x < self.columns and self._y < self.rows):
            assert self.lenient, f"written beside the screen, at column {x} of row {self._y}"
            return
        row = self.cells[self._y]
        # Half of a wide character cannot stay without the other.
        if drawn.text and not row[x].text and x:
            row[x - 1] = BLANK
        if x + 1 < self.columns and not row[x + 1].text:
            row[x + 1] = BLANK
        row[x] = drawn

    def _obey(self, numbers: str | None, kind: str | None, whole: str) -> None:
        if numbers is None or kind is None or (not numbers[:1].isdigit() and numbers):
            self.unknown.append(whole)
            return
        values = [int(number) if number else 0 for number in numbers.split(";")]
        if kind == "H":
            self._y = max(1, values[0]) - 1
            self._x = max(1, values[1] if len(values) > 1 else 1) - 1
        elif kind == "C":
            self._x += max(1, values[0])
        elif kind == "m":
            self._colour(numbers)
        else:
            self.unknown.append(whole)

    def _colour(self, numbers: str) -> None:
        codes = iter(numbers.split(";"))
        for code in codes:
            if code in {"", "0"}:
                self._look.clear()
            elif code in {"39", "49"}:
                self._look.pop("fore" if code == "39" else "back", None)
            elif code in {"38", "48"}:
                kind = next(codes)
                value = ";".join((kind, *(next(codes) for _ in range(1 if kind == "5" else 3))))
                self._look["fore" if code == "38" else "back"] = value
            elif re.fullmatch(r"[39][0-7]", code):
                self._look["fore"] = code
            elif re.fullmatch(r"(4|10)[0-7]", code):
                self._look["back"] = code
            else:
                self._look[f"attribute {code}"] = code
