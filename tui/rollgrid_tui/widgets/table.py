"""A list of rows with columns, drawn line by line: what the alerts, the baselines and the diff show."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rollgrid_tui.keymap import bindings
from rollgrid_tui.widgets.cells import fit, fit_middle, fit_right

HEADER = 1
GAP = 2

LOOKS = ("text", "quiet", "strong", "accent", "good", "bad", "warn", "track", "span", "point")

Piece = tuple[str, str]
"""A look, and text that is clean already."""


class Column(NamedTuple):
    """`width` in columns; `grow` is its share of the room that is left; it shows where the table is `least` wide."""

    name: str
    width: int
    right: bool = False
    grow: int = 0
    least: int = 0


class Row(NamedTuple):
    """A cell is one piece, which is cut to its column, or several, which fill it."""

    key: Hashable
    cells: tuple[tuple[Piece, ...], ...]


def cell(text: str, look: str = "text") -> tuple[Piece, ...]:
    return ((look, text),)


class Table(ScrollView, can_focus=True):
    """The cursor stays with its row when rows move."""

    @dataclass
    class CursorMoved(Message):
        table: "Table"

    @dataclass
    class Opened(Message):
        table: "Table"

    DEFAULT_CSS = """
    Table {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {*(f"table--{look}" for look in LOOKS), "table--header", "table--cursor"}
    BINDINGS = bindings("list")

    cursor: reactive[Hashable] = reactive[Hashable](None, repaint=False)

    def __init__(self, columns: Sequence[Column], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.rows: Sequence[Row] = ()
        self.empty_lines: Sequence[Sequence[Piece]] = ()
        """What to say when there is no row."""
        self._places: dict[Hashable, int] = {}
        self._looks: dict[tuple[str, ...], Style] = {}

    @property
    def place(self) -> int:
        return self._places.get(self.cursor, 0)

    def show(self, rows: Sequence[Row], empty_lines: Sequence[Sequence[Piece]] = ()) -> None:
        """Draw again the rows that differ; all of them when rows came, went or moved."""
        before, self.rows = self.rows, rows
        moved = [row.key for row in before] != [row.key for row in rows]
        if moved or (not rows and empty_lines != self.empty_lines):
            self.empty_lines = empty_lines
            old_place = self.place
            self._places = {row.key: place for place, row in enumerate(rows)}
            self.virtual_size = Size(self.scrollable_size.width, len(rows) + HEADER)
            if rows and self.cursor not in self._places:
                self.cursor = rows[min(old_place, len(rows) - 1)].key
            self._keep_in_sight()
            self.refresh()
            return
        for place, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                self._refresh_row(place)

    def _refresh_row(self, place: int) -> None:
        y = place + HEADER - self.scroll_offset.y
        if HEADER <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.scrollable_size.width, len(self.rows) + HEADER)
        self._keep_in_sight()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()

    def watch_cursor(self, old: Hashable, new: Hashable) -> None:
        for key in (old, new):
            if key in self._places:
                self._refresh_row(self._places[key])
        self._keep_in_sight()
        self.post_message(self.CursorMoved(self))

    def _keep_in_sight(self) -> None:
        place, visible, top = self.place, self.size.height - HEADER, self.scroll_offset.y
        if place < top:
            self.scroll_to(y=place, animate=False, force=True)
        elif 0 < visible <= place - top:
            self.scroll_to(y=place - visible + 1, animate=False, force=True)

    def _go(self, place: int) -> None:
        if self.rows:
            self.cursor = self.rows[max(0, min(place, len(self.rows) - 1))].key

    def action_cursor(self, step: int) -> None:
        self._go(self.place + step)

    def action_page(self, pages: int) -> None:
        self._go(self.place + pages * max(1, self.size.height - HEADER - 1))

    def action_edge(self, side: int) -> None:
        self._go(0 if side < 0 else len(self.rows))

    def action_open(self) -> None:
        if self.rows:
            self.post_message(self.Opened(self))

    def on_click(self, event: events.Click) -> None:
        place = event.y - HEADER + self.scroll_offset.y
        if event.y >= HEADER and place < len(self.rows):
            self._go(place)
            if event.chain == 2:
                self.action_open()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        if not self.rows:
            return self._empty_line(y, width)
        shown = shared(self.columns, width)
        if y < HEADER:
            look = self._look("table--header")
            segments = [
                Segment(_put(self.columns[i], self.columns[i].name, size) + " " * GAP, look) for i, size in shown
            ]
            return Strip(segments).adjust_cell_length(width, self.rich_style)
        place = y - HEADER + self.scroll_offset.y
        if place >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = ("table--cursor",) if place == self.place else ()
        fill = self._look(*row) if row else self.rich_style
        segments: list[Segment] = []
        for index, size in shown:
            pieces = self.rows[place].cells[index]
            if len(pieces) == 1:
                look, text = pieces[0]
                segments.append(Segment(_put(self.columns[index], text, size), self._look(f"table--{look}", *row)))
            else:
                segments += [Segment(text, self._look(f"table--{look}", *row)) for look, text in pieces]
            segments.append(Segment(" " * GAP, fill))
        return Strip(Segment.simplify(segments)).adjust_cell_length(width, fill)

    def _empty_line(self, y: int, width: int) -> Strip:
        top = max(0, min(2, self.size.height - len(self.empty_lines)))
        if not top <= y < top + len(self.empty_lines):
            return Strip.blank(width, self.rich_style)
        segments = [Segment("  ", self.rich_style)]
        segments += [Segment(text, self._look(f"table--{look}")) for look, text in self.empty_lines[y - top]]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _look(self, *names: str) -> Style:
        style = self._looks.get(names)
        if style is None:
            style = self.rich_style
            for name in names:
                style += self.get_component_rich_style(name, partial=True)
            self._looks[names] = style
        return style


def shared(columns: Sequence[Column], width: int) -> list[tuple[int, int]]:
    """Which columns show in `width` columns, by number, and how wide each is."""
    shown = [index for index, column in enumerate(columns) if width >= column.least]
    room = max(0, width - sum(columns[index].width + GAP for index in shown))
    shares = sum(columns[index].grow for index in shown)
    return [
        (index, columns[index].width + (room * columns[index].grow // shares if columns[index].grow else 0))
        for index in shown
    ]


def _put(column: Column, text: str, size: int) -> str:
    if column.right:
        return fit_right(text, size)
    return fit_middle(text, size) if column.name in {"task", "file"} else fit(text, size)
