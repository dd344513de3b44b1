"""The live grid: a row a task, a column an attempt, drawn line by line."""

from collections.abc import Iterator
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
from rollgrid_tui.state import show
from rollgrid_tui.state.figures import Cell, Figures, Zone
from rollgrid_tui.state.run_view import Changes, RunView
from rollgrid_tui.widgets.cells import fit, fit_middle, fit_right
from rollgrid_tui.widgets.grid_layout import GAP, MAX_LABEL, GridLayout, lay_out, natural_width, ruler

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
        self._shaped: tuple[tuple[int, int, int], GridLayout] = ((0, 0, 0), lay_out(0, 0, 0))
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
        key = (self.scrollable_size.width, self.view.columns, self._longest_label)
        if self._shaped[0] != key:
            self._shaped = (key, lay_out(*key))
        return self._shaped[1]

    @property
    def natural_width(self) -> int:
        """The width beyond which it has no use for more."""
        return natural_width(self.view.columns, self._longest_label)

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
            return self._header_row(width)
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
            strip = Strip(Segment.simplify(self._task_row(task, cursor))).adjust_cell_length(width, fill)
            self._kept_strips[key] = strip
        return strip

    def _header_row(self, width: int) -> Strip:
        layout, quiet = self._shape, self._style("grid--header")
        segments = [Segment(fit("task", layout.label) + " " * GAP, quiet)]
        marks = ruler(self.view.columns, self._first_column, layout.visible, layout.pitch).ljust(layout.cells)
        at = (self.cursor[1] - 1 - self._first_column) * layout.pitch
        number = str(self.cursor[1])
        if self.view.columns > 1 and 0 <= at < layout.cells:
            at = min(at, layout.cells - len(number))
            # The cursor's own number takes the place of the marks that it would touch.
            left = at if marks[max(0, at - 1) : at].strip() == "" else marks.rfind(" ", 0, at) + 1
            right = at + len(number)
            if marks[right : right + 1].strip():
                right = marks.find(" ", right) if " " in marks[right:] else len(marks)
            segments += [
                Segment(marks[:left] + " " * (at - left), quiet),
                Segment(number, self._style("grid--heading-cursor")),
                Segment(" " * (right - at - len(number)) + marks[right:], quiet),
            ]
        else:
            segments.append(Segment(marks, quiet))
        segments.append(Segment(" " * (layout.figures_start - layout.cells_start - layout.cells), quiet))
        for name, size in layout.figures:
            text = fit(name, size) if name in {"zone", "interval"} else fit_right(name, size)
            segments.append(Segment(text + " " * GAP, quiet))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _task_row(self, task: int, cursor: int) -> Iterator[Segment]:
        """`cursor` is the attempt under the cursor when this is its row, else 0."""
        row = ("grid--row",) if cursor else ()
        layout, view = self._shape, self.view
        yield Segment(
            fit_middle(self._clean_labels.get(task, ""), layout.label) + " " * GAP, self._style("grid--label", *row)
        )
        cells = view.cells(task)
        blank = self._style(*row) if row else self.rich_style
        padding = " " * (layout.pitch - 1)
        for attempt in range(self._first_column + 1, self._first_column + layout.visible + 1):
            if attempt > len(cells):
                yield Segment(" " * layout.pitch, blank)
                continue
            cell = cells[attempt - 1]
            style = f"grid--{cell.value}"
            if attempt == cursor:
                yield Segment(self.glyphs.cells[cell], self._style(style, "grid--cursor"))
                if padding:
                    yield Segment(padding, blank)
            else:
                yield Segment(self.glyphs.cells[cell] + padding, self._style(style, *row))
        rest = layout.figures_start - layout.cells_start - layout.visible * layout.pitch
        yield Segment(" " * rest, blank)
        figures = view.figures(task)
        for name, size in layout.figures:
            yield from self._figure(name, size, figures, row)
            yield Segment(" " * GAP, blank)

    def _figure(self, name: str, size: int, figures: Figures, row: tuple[str, ...]) -> Iterator[Segment]:
        if name == "interval":
            for part, text in self.glyphs.interval(figures.interval, figures.rate, size):
                yield Segment(text, self._style(f"grid--{part}", *row))
            return
        if name == "zone":
            style = "grid--learning" if figures.zone is Zone.learning else "grid--quiet"
            text = "" if figures.zone is Zone.unmeasured and not figures.n_ended else figures.zone.value
            yield Segment(fit(text, size), self._style(style, *row))
            return
        text = {
            "pass": f"{figures.n_passed}/{figures.n_scored}" if figures.n_scored else "-",
            "rate": show.rate(figures.rate),
            "time": show.seconds(figures.latency),
            "tokens": show.count(figures.tokens) if figures.tokens else "-",
            "cost": show.cost(figures.known_cost),
        }[name]
        style = "grid--quiet" if text == "-" or name in {"time", "tokens", "cost"} else "grid--figure"
        yield Segment(fit_right(text, size), self._style(style, *row))

    def _style(self, *names: str) -> Style:
        """Component styles resolved once, laid over each other in this order."""
        style = self._looks.get(names)
        if style is None:
            style = self.rich_style
            for name in names:
                style += self.get_component_rich_style(name, partial=True)
            self._looks[names] = style
        return style
