"""The runs of a log, a line each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rollgrid_tui.glyphs import Glyphs
from rollgrid_tui.keymap import bindings
from rollgrid_tui.state import show
from rollgrid_tui.state.runs_view import RunLine, RunsView
from rollgrid_tui.widgets.cells import fit, fit_right
from rollgrid_tui.widgets.words import STATE_STYLES, one_line

HEADER = 1
GAP = 2

FIXED: tuple[tuple[str, int, int], ...] = (
    ("run", 7, 0),
    ("state", 11, 0),
    ("k", 4, 0),
    ("progress", 9, 0),
    ("passed", 6, 0),
    ("interval", 12, 120),
    ("learning", 8, 90),
    ("unscored", 8, 100),
    ("cost", 8, 110),
    ("age", 4, 0),
)
"""Columns with their width, and the width of the list from which on they show."""

LEFT = frozenset({"run", "state", "environment", "model", "interval"})


class RunsList(ScrollView, can_focus=True):
    """Shows a `RunsView`. The cursor stays with its run."""

    @dataclass
    class CursorMoved(Message):
        run_id: str

    @dataclass
    class Opened(Message):
        run_id: str

    @dataclass
    class HistoryWanted(Message):
        env_name: str

    DEFAULT_CSS = """
    RunsList {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "runs--header",
        "runs--text",
        "runs--quiet",
        "runs--cursor",
        "runs--track",
        "runs--span",
        "runs--point",
        "runs--simulated",
        "runs--strong",
        "runs--accent",
        "runs--bad",
        *(f"runs--{state}" for state in STATE_STYLES),
    }
    BINDINGS = bindings("runs")

    cursor: reactive[str] = reactive("", repaint=False)

    def __init__(self, view: RunsView, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view
        self.glyphs = glyphs
        self.empty_lines: list[list[tuple[str, str]]] = []
        """What to say when there is no run: lines of (look, text)."""
        self._seen_version = -1
        self._seen_empty: list[list[tuple[str, str]]] = []
        self._looks: dict[tuple[str, ...], Style] = {}

    @property
    def place(self) -> int:
        return self.view.place(self.cursor) or 0

    def show_changes(self) -> None:
        empty = self.empty_lines
        if self.view.version == self._seen_version and (self.view.lines or empty == self._seen_empty):
            return
        self._seen_version, self._seen_empty = self.view.version, empty
        self.virtual_size = Size(self.scrollable_size.width, len(self.view.lines) + HEADER)
        if self.view.lines and self.view.place(self.cursor) is None:
            self.cursor = self.view.lines[0].run.run_id
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.scrollable_size.width, len(self.view.lines) + HEADER)
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()

    def watch_cursor(self, old: str, new: str) -> None:
        for run_id in (old, new):
            place = self.view.place(run_id)
            if place is not None:
                self.refresh(Region(0, place + HEADER - self.scroll_offset.y, self.size.width, 1))
        place, rows, top = self.place, self.size.height - HEADER, self.scroll_offset.y
        if place < top:
            self.scroll_to(y=place, animate=False, force=True)
        elif rows > 0 and place >= top + rows:
            self.scroll_to(y=place - rows + 1, animate=False, force=True)
        self.post_message(self.CursorMoved(new))

    def _go(self, place: int) -> None:
        lines = self.view.lines
        if lines:
            self.cursor = lines[max(0, min(place, len(lines) - 1))].run.run_id

    def action_cursor(self, step: int) -> None:
        self._go(self.place + step)

    def action_page(self, pages: int) -> None:
        self._go(self.place + pages * max(1, self.size.height - HEADER - 1))

    def action_edge(self, side: int) -> None:
        self._go(0 if side < 0 else len(self.view.lines))

    def action_history(self) -> None:
        if self.view.lines:
            self.post_message(self.HistoryWanted(self.view.lines[self.place].run.env_name))

    def action_open(self) -> None:
        if self.view.lines:
            self.post_message(self.Opened(self.view.lines[self.place].run.run_id))

    def on_click(self, event: events.Click) -> None:
        place = event.y - HEADER + self.scroll_offset.y
        if event.y >= HEADER and place < len(self.view.lines):
            self._go(place)
            if event.chain == 2:
                self.action_open()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        if not self.view.lines:
            return self._empty_line(y, width)
        columns = self._columns(width)
        if y < HEADER:
            header = self._look("runs--header")
            segments = [Segment(_put(name, name, size) + " " * GAP, header) for name, size in columns]
            return Strip(segments).adjust_cell_length(width, self.rich_style)
        place = y - HEADER + self.scroll_offset.y
        if place >= len(self.view.lines):
            return Strip.blank(width, self.rich_style)
        row = ("runs--cursor",) if place == self.place else ()
        fill = self._look(*row) if row else self.rich_style
        segments: list[Segment] = []
        for name, size in columns:
            segments.extend(self._column(self.view.lines[place], name, size, row))
            segments.append(Segment(" " * GAP, fill))
        return Strip(segments).adjust_cell_length(width, fill)

    def _columns(self, width: int) -> list[tuple[str, int]]:
        fixed = [(name, size) for name, size, least in FIXED if width >= least]
        free = max(16, width - sum(size + GAP for _, size in fixed) - 2 * GAP)
        environment = min(40, free * 3 // 5)
        texts = [("environment", environment), ("model", min(40, free - environment))]
        return [*fixed[:2], *texts, *fixed[2:]]

    def _column(self, line: RunLine, name: str, size: int, row: tuple[str, ...]) -> Iterator[Segment]:
        run = line.run
        if name == "interval":
            for part, text in self.glyphs.interval(line.interval, line.rate, size):
                yield Segment(text, self._look(f"runs--{part}", *row))
            return
        look = "runs--quiet"
        if name == "state":
            look, text = f"runs--{line.state}" if line.state in STATE_STYLES else look, line.state
        elif name == "environment":
            look, text = "runs--text", one_line(run.env_name, size * 2)
        elif name == "model":
            simulated = run.model_kind == "simulated" and not run.model.startswith("simulated")
            text = one_line(("simulated " if simulated else "") + run.model, size * 2)
            look = "runs--simulated" if run.model_kind == "simulated" else look
        elif name == "passed":
            look, text = "runs--text", show.rate(line.rate)
        else:
            text = {
                "run": run.run_id,
                "k": run.k_text,
                "learning": "-" if line.n_learning is None else str(line.n_learning),
                "progress": f"{show.count(run.n_ended)}/{show.count(run.n_planned)}",
                "unscored": str(line.n_unscored) if line.n_unscored else "-",
                "cost": show.cost(run.cost),
                "age": line.age,
            }[name]
        yield Segment(_put(name, one_line(text, size * 2), size), self._look(look, *row))

    def _empty_line(self, y: int, width: int) -> Strip:
        top = max(1, self.size.height // 3 - len(self.empty_lines) // 2)
        if not top <= y < top + len(self.empty_lines):
            return Strip.blank(width, self.rich_style)
        line = self.empty_lines[y - top]
        # The lines are set as one block in the middle, so that their beginnings align.
        longest = max(sum(len(text) for _, text in each) for each in self.empty_lines)
        indent = max(1, (width - longest) // 2)
        segments = [Segment(" " * indent, self.rich_style)]
        segments += [Segment(text, self._look(f"runs--{look}")) for look, text in line]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _look(self, *names: str) -> Style:
        style = self._looks.get(names)
        if style is None:
            style = self.rich_style
            for name in names:
                style += self.get_component_rich_style(name, partial=True)
            self._looks[names] = style
        return style


def _put(name: str, text: str, size: int) -> str:
    return fit(text, size) if name in LEFT else fit_right(text, size)
