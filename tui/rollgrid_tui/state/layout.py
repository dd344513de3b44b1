"""Blocks of text as screen lines of one width, made where the eye is.

A transcript of ten megabytes has to open at once. So the text is cut into chunks, a chunk's height is estimated until
it is first shown, and only then is it cleaned, wrapped and measured. `Layout.lines` keeps what is on the screen in
place: when an estimate above it turns out wrong, it says by how many lines everything moved.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from rollgrid.text import clean_block, clean_line
from rollgrid_tui.state.attempt_view import Block, Kind

CHUNK = 4096
"""Characters of raw text that are laid out in one go."""

EXACT = 200_000
"""A text of up to this many characters is laid out whole at once, so that nothing ever moves."""

Measure = Callable[[str], int]
"""Columns that a character takes."""


class Line(NamedTuple):
    kind: Kind
    text: str
    indent: int = 0
    note: str = ""
    block: int = 0


class _Chunk:
    __slots__ = ("block", "end", "height", "lines", "start")

    def __init__(self, block: int, start: int, end: int, height: int) -> None:
        self.block = block
        self.start = start
        self.end = end
        self.height = height
        self.lines: list[Line] | None = None


class Layout:
    """Lines of `blocks` at `width` columns."""

    def __init__(self, blocks: Sequence[Block], width: int, measure: Measure) -> None:
        self.blocks = blocks
        self.width = max(8, width)
        self._measure = measure
        self.chunks_made = 0
        self._chunks: list[_Chunk] = []
        for index, block in enumerate(blocks):
            self._cut(index, block)
        self._starts: list[int] = []
        if sum(len(block.text) for block in blocks) <= EXACT and len(blocks) <= CHUNK:
            for chunk in self._chunks:
                self._make(chunk)
        self._sum()

    @property
    def height(self) -> int:
        return self._starts[-1]

    def lines(self, top: int, count: int) -> tuple[list[Line], int]:
        """`count` lines from line `top`, and by how much `top` moved for chunks above that were measured only now."""
        moved = 0
        place = self._place(top)
        changed = False
        # One chunk above is made as well, so that scrolling up meets known heights.
        for index in range(max(0, place - 1), len(self._chunks)):
            chunk = self._chunks[index]
            if self._starts[index] + moved >= top + moved + count and index > place:
                break
            if chunk.lines is None:
                before = chunk.height
                self._make(chunk)
                changed |= before != chunk.height
                if index < place:
                    moved += chunk.height - before
        if changed:
            self._sum()
        found: list[Line] = []
        top += moved
        index = self._place(top)
        skip = top - self._starts[index] if self._chunks else 0
        while len(found) < count and index < len(self._chunks):
            chunk = self._chunks[index]
            lines = chunk.lines if chunk.lines is not None else self._make(chunk)
            found.extend(lines[skip : skip + count - len(found)])
            skip = max(0, skip - len(lines))
            index += 1
        return found, moved

    def line_of(self, block: int, at: int, above: int = 100) -> int:
        """The line that shows character `at` of a block's text. `above` lines before it are measured too, so that the
        line is where this says when one goes there."""
        index = bisect_right(self._chunks, (block, at), key=lambda chunk: (chunk.block, chunk.start)) - 1
        if index < 0:
            return 0
        room, first = above, index
        while room > 0 and first > 0:
            first -= 1
            if self._chunks[first].lines is None:
                self._make(self._chunks[first])
            room -= self._chunks[first].height
        chunk = self._chunks[index]
        if chunk.lines is None:
            self._make(chunk)
        self._sum()
        return self._starts[index] + self._line_in(chunk, at)

    def _line_in(self, chunk: _Chunk, at: int) -> int:
        block = self.blocks[chunk.block]
        if block.kind is Kind.heading:
            return 0
        width = self.width - block.indent
        before = clean_block(block.text[chunk.start : at]).split("\n")
        lines = clean_block(block.text[chunk.start : chunk.end]).split("\n")
        row, column = len(before) - 1, len(before[-1])
        above = sum(len(wrap(line, width, self._measure, block.hang)) for line in lines[:row])
        start = place = 0
        for number, piece in enumerate(wrap(lines[row], width, self._measure, block.hang)):
            # A space at which the line was broken belongs to no piece.
            start = max(start, lines[row].find(piece.lstrip() if block.hang else piece, start))
            if start > column:
                break
            place, start = number, start + len(piece.lstrip() if block.hang else piece)
        return above + place

    def heading(self, line: int, step: int = 1) -> int:
        """The line of the section that starts after `line` (or, with step -1, before it); `line` when there is none."""
        place = self._place(line)
        order = range(place + 1, len(self._chunks)) if step > 0 else range(place, -1, -1)
        for index in order:
            chunk = self._chunks[index]
            if self.blocks[chunk.block].kind is Kind.heading and (step > 0 or self._starts[index] < line):
                return self._starts[index]
        return line

    def _place(self, line: int) -> int:
        return max(0, min(bisect_right(self._starts, line) - 1, len(self._chunks) - 1))

    def _sum(self) -> None:
        self._starts = [0, *accumulate(chunk.height for chunk in self._chunks)]

    def _cut(self, index: int, block: Block) -> None:
        text = block.text
        width = max(1, self.width - block.indent)
        step = max(width, CHUNK // width * width)
        start = 0
        while True:
            end = start + step
            if end >= len(text):
                height = text.count("\n", start) + 1 + (len(text) - start) // (width + 1)
                self._chunks.append(_Chunk(index, start, len(text), height))
                return
            newline = text.rfind("\n", start, end)
            # A chunk that ends at a newline leaves it out: the next chunk starts a line anyway.
            stop, following = (newline, newline + 1) if newline > start else (end, end)
            height = text.count("\n", start, stop) + 1 + (stop - start) // (width + 1)
            self._chunks.append(_Chunk(index, start, stop, height))
            start = following

    def _make(self, chunk: _Chunk) -> list[Line]:
        self.chunks_made += 1
        block = self.blocks[chunk.block]
        if block.kind is Kind.heading:
            lines = [Line(block.kind, clean_line(block.text, 200), 0, clean_line(block.note, 400), chunk.block)]
        else:
            width = self.width - block.indent
            text = clean_block(block.text[chunk.start : chunk.end])
            lines = [
                Line(block.kind, part, block.indent, "", chunk.block)
                for line in text.split("\n")
                for part in wrap(line, width, self._measure, block.hang)
            ]
        chunk.lines = lines
        chunk.height = len(lines)
        return lines


def wrap(line: str, width: int, measure: Measure, hang: int = 0) -> list[str]:
    """`line` in pieces of at most `width` columns, broken at a space where there is one in the second half.

    The pieces after the first are set in by `hang`.
    """
    if hang and hang < width // 2:
        first, *others = wrap(line, width, measure)
        if not others:
            return [first]
        return [first, *(" " * hang + piece for piece in wrap(line[len(first) :].lstrip(), width - hang, measure))]
    if line.isascii():
        if len(line) <= width:
            return [line]
        return _wrap(line, width, None)
    return _wrap(line, width, measure)


def _wrap(line: str, width: int, measure: Measure | None) -> list[str]:
    pieces: list[str] = []
    start = 0
    while start < len(line):
        end = min(len(line), start + width) if measure is None else _reach(line, start, width, measure)
        if end < len(line):
            space = line.rfind(" ", start + (end - start) // 2, end + 1)
            if space > start:
                pieces.append(line[start:space])
                start = space + 1
                continue
        pieces.append(line[start:end])
        start = end
    return pieces or [""]


def _reach(line: str, start: int, width: int, measure: Measure) -> int:
    """The furthest end of a piece from `start` that fits; a mark stays with the character it sits on."""
    used = 0
    for end in range(start, len(line)):
        used += measure(line[end])
        if used > width and end > start:
            return end
    return len(line)
