"""The live grid: a row a task, a column an attempt, drawn line by line."""

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rollgrid.text import clean_line
from rollgrid_tui.glyphs import Glyphs
from rollgrid_tui.keymap import bindings
from rollgrid_tui.state.figures import Cell
from rollgrid_tui.state.run_view import Changes, RunView
from rollgrid_tui.widgets.grid_layout import MAX_LABEL, GridLayout, lay_out, natural_width
from rollgrid_tui.widgets.grid_paint import GridPaint

HEADER = 1
"""Lines above the rows."""


class RolloutGrid(ScrollView, can_focus=True):
    """Shows a `RunView`. The cursor is (task, attempt); it stays with its task when rows are sorted."""

    @dataclass
    class CursorMoved(Message):
        task: int
        attempt: int

    @dataclass
    class Opened(Message):
        task: int
        attempt: int

    DEFAULT_CSS = """
    RolloutGrid {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"grid--{cell.value}" for cell in Cell),
        "grid--disagree",
        "grid--label",
        "grid--header",
        "grid--figure",
        "grid--quiet",
        "grid--learning",
        "grid--track",
        "grid--span",
        "grid--point",
        "grid--row",
        "grid--cursor",
        "grid--heading-cursor",
    }
    BINDINGS = bindings("grid")

    cursor: reactive[tuple[int, int]] = reactive((0, 1), repaint=False)

    def __init__(self, view: RunView, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view
        self.glyphs = glyphs
        self.rows_rendered = 0
        """Rows that were drawn because no strip was kept; tests count them."""
        self.empty_text = ""
        """What to say when there is no row."""
        self._first_column = 0
        self._shaped: tuple[tuple[int, int, int, bool, bool], GridLayout] = (
            (0, 0, 0, False, False),
            lay_out(0, 0, 0),
        )
        self._clean_labels: dict[int, str] = {}
        self._longest_label = 0
        self._kept_strips: LRUCache[object, Strip] = LRUCache(512)
        self._looks: dict[tuple[str, ...], Style] = {}

    # -- what changed

    def show_changes(self, changes: Changes) -> None:
        """Draw again what changed, and nothing else."""
        if changes.structure:
            self._reshape()
            return
        for task in changes.rows:
            self._refresh_task(task)

    def _reshape(self) -> None:
        """Rows or columns came, went or moved."""
        view = self.view
        for index in range(len(self._clean_labels), view.n_tasks):
            label = clean_line(view.task(index).id, MAX_LABEL * 4)
            self._clean_labels[index] = label
            self._longest_label = max(self._longest_label, len(label))
        width = self.scrollable_size.width
        self._first_column = max(0, min(self._first_column, self._shape.max_scroll))
        self.virtual_size = Size(width, len(view.order) + HEADER)
        if view.order and view.place(self.cursor[0]) is None:
            self.cursor = (view.order[0], self.cursor[1])
        self._keep_cursor_in_sight()
        self.refresh()

    def _refresh_task(self, task: int) -> None:
        place = self.view.place(task)
        if place is None:
            return
        y = place + HEADER - self.scroll_offset.y
        if HEADER <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self, event: events.Resize) -> None:
        self._reshape()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()
        self._kept_strips.clear()

    @property
    def _shape(self) -> GridLayout:
        # Asked for while drawing, so that rows drawn before a resize was told are not drawn in vain.
        view = self.view
        width = self.scrollable_size.width
        key = (width, view.columns, self._longest_label, view.has_baseline, self._until_decided)
        if self._shaped[0] != key:
            self._shaped = (key, lay_out(*key))
        return self._shaped[1]

    @property
    def natural_width(self) -> int:
        """The width beyond which it has no use for more."""
        view = self.view
        return natural_width(view.columns, self._longest_label, view.has_baseline, self._until_decided)

    @property
    def _until_decided(self) -> bool:
        return self.view.run is not None and self.view.run.until_decided

    # -- cursor

    def validate_cursor(self, cursor: tuple[int, int]) -> tuple[int, int]:
        task, attempt = cursor
        return (task, max(1, min(attempt, max(1, self.view.columns))))

    def watch_cursor(self, old: tuple[int, int], new: tuple[int, int]) -> None:
        if old == new:
            return
        self._refresh_task(old[0])
        self._refresh_task(new[0])
        if old[1] != new[1]:
            self.refresh(Region(0, 0, self.size.width, HEADER))
        self._keep_cursor_in_sight()
        self.post_message(self.CursorMoved(*new))

    def _keep_cursor_in_sight(self) -> None:
        task, attempt = self.cursor
        place = self.view.place(task)
        rows = self.size.height - HEADER
        if place is None or rows <= 0:
            return
        top = self.scroll_offset.y
        if place < top:
            self.scroll_to(y=place, animate=False, force=True)
        elif place >= top + rows:
            self.scroll_to(y=place - rows + 1, animate=False, force=True)
        visible = self._shape.visible
        first = min(max(self._first_column, attempt - visible), attempt - 1, self._shape.max_scroll)
        if first != self._first_column:
            self._first_column = max(0, first)
            self.refresh()

    def _go(self, place: int, attempt: int) -> None:
        order = self.view.order
        if order:
            self.cursor = (order[max(0, min(place, len(order) - 1))], attempt)

    def _cursor_place(self) -> int:
        return self.view.place(self.cursor[0]) or 0

    def action_move(self, rows: int, columns: int) -> None:
        self._go(self._cursor_place() + rows, self.cursor[1] + columns)

    def action_page(self, pages: int) -> None:
        self._go(self._cursor_place() + pages * max(1, self.size.height - HEADER - 1), self.cursor[1])

    def action_edge_row(self, side: int) -> None:
        self._go(0 if side < 0 else len(self.view.order), self.cursor[1])

    def action_edge_column(self, side: int) -> None:
        self.cursor = (self.cursor[0], 1 if side < 0 else self.view.columns)

    def action_open(self) -> None:
        if self.view.order:
            self.post_message(self.Opened(*self.cursor))

    def on_click(self, event: events.Click) -> None:
        place = event.y - HEADER + self.scroll_offset.y
        if event.y < HEADER or place >= len(self.view.order):
            return
        column = (event.x - self._shape.cells_start) // self._shape.pitch
        inside = 0 <= event.x - self._shape.cells_start < self._shape.cells
        self._go(place, self._first_column + column + 1 if inside else self.cursor[1])
        if event.chain == 2 and inside:
            self.action_open()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        if y < HEADER:
            return Strip(self._paint().header(self.cursor[1])).adjust_cell_length(width, self.rich_style)
        place = y - HEADER + self.scroll_offset.y
        if place >= len(self.view.order):
            if y == HEADER + 1 and not self.view.order:
                text = Segment(f"  {self.empty_text}", self._style("grid--quiet"))
                return Strip([text]).adjust_cell_length(width, self.rich_style)
            return Strip.blank(width, self.rich_style)
        task = self.view.order[place]
        cursor = self.cursor[1] if task == self.cursor[0] else 0
        key = (task, self.view.version(task), cursor, self._first_column, self._shape, width)
        strip = self._kept_strips.get(key)
        if strip is None:
            self.rows_rendered += 1
            fill = self._style("grid--row") if cursor else self.rich_style
            segments = self._paint().row(task, self._clean_labels.get(task, ""), cursor)
            # Neighbours of one style become one segment, so that fewer colour changes are written.
            strip = Strip(Segment.simplify(segments)).adjust_cell_length(width, fill)
            self._kept_strips[key] = strip
        return strip

    def _paint(self) -> GridPaint:
        return GridPaint(self.view, self.glyphs, self._shape, self._first_column, self._style)

    def _style(self, *names: str) -> Style:
        """Component styles resolved once, laid over each other in this order."""
        style = self._looks.get(names)
        if style is None:
            style = self.rich_style
            for name in names:
                style += self.get_component_rich_style(name, partial=True)
            self._looks[names] = style
        return style
