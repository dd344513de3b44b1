"""Two attempts beside each other, drawn line by line; on a narrow screen one above the other, step by step."""

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rollgrid_tui.keymap import bindings
from rollgrid_tui.state.layout import wrap
from rollgrid_tui.state.side_by_side import Sides, Span
from rollgrid_tui.widgets.cells import fit, measure

SIDE_BY_SIDE = 70
"""From this width on the two stand beside each other."""

GAP = 3
INDENT = 2

Piece = tuple[str, str]


class _Line(NamedTuple):
    left: tuple[Piece, ...]
    right: tuple[Piece, ...]
    step: int


class SideBySideView(ScrollView, can_focus=True):
    """Shows `Sides`. `names` stand above the two columns, clean already."""

    DEFAULT_CSS = """
    SideBySideView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"sides--{name}" for name in ("text", "same", "heading", "changed", "left", "right", "name")
    }
    BINDINGS = bindings("transcript")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sides = Sides((), 0)
        self.names = ("", "")
        self.message = ""
        """What to say when there is nothing to compare."""
        self._key: Hashable = None
        self._lines: list[_Line] = []
        self._starts: list[int] = []
        self._looks: dict[str, Style] = {}

    def show(self, sides: Sides, names: tuple[str, str], key: Hashable) -> None:
        """With another key than before it opens at the first difference."""
        if (sides, names, key) == (self.sides, self.names, self._key):
            return
        fresh = key != self._key
        self.sides, self.names, self._key, self.message = sides, names, key, ""
        self._lay_out()
        if fresh:
            first = sides.first_difference
            self._to_step(first if first is not None else 0)
        self.refresh()

    def say(self, message: str) -> None:
        """Nothing to compare; `message` says why."""
        self.sides, self._key, self.message = Sides((), 0), None, message
        self._lay_out()
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        step = self._step_at(self.scroll_offset.y)
        self._lay_out()
        self._to_step(step)
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()

    # -- going through it

    def action_scroll(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)

    def action_page(self, pages: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + pages * max(1, self.size.height - 3), animate=False, force=True)

    def action_edge(self, side: int) -> None:
        self.scroll_to(y=0 if side < 0 else self.max_scroll_y, animate=False, force=True)

    def action_section(self, step: int) -> None:
        top = self.scroll_offset.y
        found = [start for start in self._starts if (start > top if step > 0 else start < top)]
        if found:
            self.scroll_to(y=found[0 if step > 0 else -1], animate=False, force=True)

    def go_to_difference(self, step: int) -> bool:
        """The next (or previous) step that differs; False when there is none."""
        top = self.scroll_offset.y
        places = [start for start, pair in zip(self._starts, self.sides.pairs, strict=True) if pair.differs]
        found = [start for start in places if (start > top if step > 0 else start < top)]
        if not found or (step > 0 and top >= self.max_scroll_y):
            return False
        self.scroll_to(y=found[0 if step > 0 else -1], animate=False, force=True)
        return True

    def _step_at(self, line: int) -> int:
        return self._lines[line].step if 0 <= line < len(self._lines) else 0

    def _to_step(self, step: int) -> None:
        if step < len(self._starts):
            self.scroll_to(y=self._starts[step], animate=False, force=True)

    # -- drawing

    @property
    def _beside(self) -> bool:
        return self.scrollable_size.width >= SIDE_BY_SIDE

    @property
    def _column(self) -> int:
        width = self.scrollable_size.width
        return max(8, (width - GAP) // 2 if self._beside else width)

    def _lay_out(self) -> None:
        width = self._column - INDENT
        lines: list[_Line] = []
        self._starts = []
        for step, pair in enumerate(self.sides.pairs):
            self._starts.append(len(lines))
            mark = "changed" if pair.differs else "heading"
            word = "" if not pair.differs else "differs" if pair.left and pair.right else "only here"
            title = ((mark, pair.title), ("same", f"  {word}"))
            left, right = wrapped(pair.left, width, pair.differs), wrapped(pair.right, width, pair.differs)
            if self._beside:
                lines.append(_Line(title if pair.left else (), title if pair.right else (), step))
                lines += [_Line(a, b, step) for a, b in zip_longest(left, right, fillvalue=())]
            elif pair.differs:
                for name, side in zip(self.names, (left, right), strict=True):
                    if side:
                        lines.append(_Line((*title, ("name", f"  {name}")), (), step))
                        lines += [_Line(line, (), step) for line in side]
            else:
                lines.append(_Line(title, (), step))
                lines += [_Line(line, (), step) for line in left]
            lines.append(_Line((), (), step))
        if self.sides.left_out:
            lines.append(_Line((("same", f"... and {self.sides.left_out} further steps"),), (), len(self.sides.pairs)))
        self._lines = lines
        self.virtual_size = Size(self.scrollable_size.width, len(lines) + 1)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        if self.message:
            text = Segment(f"  {self.message}" if y == 1 else "", self._look("same"))
            return Strip([text]).adjust_cell_length(width, self.rich_style)
        if y == 0:
            if not self._beside:
                names = fit("  and  ".join(self.names), width)
            else:
                names = " " * INDENT + (" " * (GAP + INDENT)).join(
                    fit(name, self._column - INDENT) for name in self.names
                )
            return Strip([Segment(names, self._look("name"))]).adjust_cell_length(width, self.rich_style)
        place = y - 1 + self.scroll_offset.y
        if place >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[place]
        segments = self._side(line.left)
        strip = Strip(segments).adjust_cell_length(self._column, self.rich_style)
        if self._beside:
            strip = Strip([*strip, Segment(" " * GAP, self.rich_style), *self._side(line.right)])
        return strip.adjust_cell_length(width, self.rich_style)

    def _side(self, pieces: Sequence[Piece]) -> list[Segment]:
        return [Segment(text, self._look(look)) for look, text in pieces]

    def _look(self, name: str) -> Style:
        style = self._looks.get(name)
        if style is None:
            part = self.get_component_rich_style(f"sides--{name}", partial=True)
            style = self._looks[name] = self.rich_style + part
        return style


def wrapped(spans: Sequence[Span], width: int, differs: bool) -> list[tuple[Piece, ...]]:
    """Spans as lines of at most `width` columns, set in; each piece with its look."""
    text = "".join(span.text for span in spans)
    if not spans:
        return []
    edges: list[tuple[int, bool]] = []
    at = 0
    for span in spans:
        at += len(span.text)
        edges.append((at, span.differs))
    lines: list[tuple[Piece, ...]] = []
    start = 0
    for line in text.split("\n"):
        offset = start
        for part in wrap(line, max(4, width), measure):
            offset = text.index(part, offset) if part else offset
            pieces = _looks_of(part, offset, edges, "text" if differs else "same")
            lines.append((("text", " " * INDENT), *pieces))
            offset += len(part)
        start += len(line) + 1
    return lines


def _looks_of(part: str, offset: int, edges: Sequence[tuple[int, bool]], plain: str) -> list[Piece]:
    pieces: list[Piece] = []
    end = offset + len(part)
    begin = offset
    for edge, differs in edges:
        if edge <= begin:
            continue
        stop = min(edge, end)
        if stop > begin:
            pieces.append(("changed" if differs else plain, part[begin - offset : stop - offset]))
        begin = stop
        if begin >= end:
            break
    return pieces
