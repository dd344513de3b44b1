"""A transcript, drawn line by line: ten megabytes or forty thousand messages open like ten lines."""

from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rollgrid_tui.keymap import bindings
from rollgrid_tui.state.attempt_view import Block, Kind
from rollgrid_tui.state.layout import Layout, Line
from rollgrid_tui.state.search import Search, search
from rollgrid_tui.widgets.cells import fit, measure


class TranscriptView(ScrollView, can_focus=True):
    """Shows blocks. Only what is on the screen, and one chunk above it, is cleaned and wrapped."""

    DEFAULT_CSS = """
    TranscriptView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"transcript--{kind.value}" for kind in Kind),
        "transcript--note",
        "transcript--match",
        "transcript--hit",
    }
    BINDINGS = bindings("transcript")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.blocks: Sequence[Block] = ()
        self.text_layout: Layout | None = None
        self._shown_key: Hashable = None
        self._window: list[Line] = []
        self._window_top: int = -1
        self._looks: dict[str, Style] = {}
        self.words = ""
        """What is searched for."""
        self.found: Search | None = None
        self.hit: int | None = None
        """The place, of those found, that one went to."""
        self._hit_line: int | None = None

    def show(self, blocks: Sequence[Block], key: Hashable, *, follow: bool = False) -> None:
        """Show `blocks`. With the same `key` the place in the text is kept; `follow` then stays at an end reached."""
        if key == self._shown_key and blocks == self.blocks:
            return
        same = key == self._shown_key
        at_end = self.is_vertical_scroll_end
        top = self.scroll_offset.y if same else 0
        self.blocks, self._shown_key = blocks, key
        self._find_again(keep=same)
        self._lay_out()
        if follow and (at_end or not same):
            top = self.max_scroll_y
        self.scroll_to(y=top, animate=False, force=True)
        self._look(round(min(top, self.max_scroll_y)))
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        # Wrapped anew, the same share of the text stays in sight.
        before = self.text_layout.height if self.text_layout else 0
        share = self.scroll_offset.y / before if before else 0.0
        self._lay_out()
        if self.text_layout is not None:
            self.scroll_to(y=int(share * self.text_layout.height), animate=False, force=True)
        self._look(self.scroll_offset.y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._look(round(new_value))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()

    def action_scroll(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)

    def action_page(self, pages: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + pages * max(1, self.size.height - 2), animate=False, force=True)

    def action_edge(self, side: int) -> None:
        self.scroll_to(y=0 if side < 0 else self.max_scroll_y, animate=False, force=True)

    def action_section(self, step: int) -> None:
        if self.text_layout is not None:
            self.scroll_to(y=self.text_layout.heading(self.scroll_offset.y, step), animate=False, force=True)

    # -- searching

    def search(self, words: str) -> None:
        """Mark these words and go to where they stand next; none ends the search."""
        self.words = words
        start = self._window[0].block if self._window else 0
        self._find_again(keep=False)
        places = self.found.places if self.found is not None else ()
        if places:
            self._go_to(next((n for n, place in enumerate(places) if place.block >= start), 0))
        self.refresh()

    def next_match(self, step: int) -> bool:
        """Go to the next place (-1: the one before), around the end if need be; False when there is none."""
        if self.found is None or not self.found.places:
            return False
        count = len(self.found.places)
        self._go_to((0 if step > 0 else -1) % count if self.hit is None else (self.hit + step) % count)
        return True

    def _find_again(self, *, keep: bool) -> None:
        before = self.found.places[self.hit] if keep and self.found is not None and self.hit is not None else None
        self.found = search(self.blocks, self.words) if self.words else None
        places = self.found.places if self.found is not None else ()
        self.hit = places.index(before) if before in places else None
        self._hit_line = None

    def _go_to(self, hit: int) -> None:
        layout = self.text_layout
        if layout is None or self.found is None:
            return
        self.hit = hit
        line = layout.line_of(*self.found.places[hit])
        self._hit_line = line
        self.virtual_size = Size(self.virtual_size.width, layout.height)
        self._window_top = -1
        top = int(min(max(0, line - self.size.height // 3), self.max_scroll_y))
        if self.scroll_offset.y == top:
            self._look(top)
        self.scroll_to(y=top, animate=False, force=True)
        self.refresh()

    def _lay_out(self) -> None:
        width = self.scrollable_size.width
        if width <= 0:
            return
        self.text_layout = Layout(self.blocks, width, measure)
        self._hit_line = None
        self._window_top = -1
        self.virtual_size = Size(width, self.text_layout.height)

    def _look(self, top: int) -> None:
        """Make the lines from `top`; correct the scroll position when heights above turned out otherwise."""
        layout = self.text_layout
        if layout is None or top == self._window_top:
            return
        height = layout.height
        self._window, moved = layout.lines(top, self.size.height)
        self._window_top = top + moved
        if layout.height != height:
            self.virtual_size = Size(self.virtual_size.width, layout.height)
        if moved:
            self.call_next(self.scroll_to, y=top + moved, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_size.width
        if y >= len(self._window):
            return Strip.blank(width, self.rich_style)
        line = self._window[y]
        segments = [Segment(" " * line.indent, self.rich_style), *self._marked(line, self._window_top + y)]
        if line.note:
            room = width - len(line.text) - 2
            segments.append(Segment("  " + fit(line.note, room).rstrip() if room > 0 else "", self._look_of("note")))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _marked(self, line: Line, number: int) -> Iterator[Segment]:
        """The text of a line, with what is searched for marked in it."""
        style, at = self._look_of(line.kind.value), 0
        if self.found is not None:
            marked = style + self._look_of("hit" if number == self._hit_line else "match")
            for match in self.found.pattern.finditer(line.text):
                yield Segment(line.text[at : match.start()], style)
                yield Segment(match.group(), marked)
                at = match.end()
        yield Segment(line.text[at:], style)

    def _look_of(self, name: str) -> Style:
        style = self._looks.get(name)
        if style is None:
            style = self._looks[name] = self.rich_style + self.get_component_rich_style(
                f"transcript--{name}", partial=True
            )
        return style
