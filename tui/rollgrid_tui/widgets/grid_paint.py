"""What a line of the grid is made of: pieces of text with their style."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from rich.segment import Segment
from rich.style import Style

from rollgrid.text import clean_line
from rollgrid_tui.glyphs import Glyphs
from rollgrid_tui.state import show
from rollgrid_tui.state.figures import Figures, Zone
from rollgrid_tui.state.review_book import Mark
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.cells import fit, fit_middle, fit_right
from rollgrid_tui.widgets.grid_layout import GAP, GridLayout, ruler, with_cursor

_SETTLED_STYLES = {"learning": "grid--learning", "worse": "grid--fail", "better": "grid--pass"}


class Look(Protocol):
    """The style of component classes laid over each other in this order; of none, the grid's own."""

    def __call__(self, *names: str) -> Style: ...


@dataclass(frozen=True, slots=True)
class GridPaint:
    """`first` is how many attempts are scrolled out on the left."""

    view: RunView
    glyphs: Glyphs
    layout: GridLayout
    first: int
    look: Look

    def header(self, cursor: int) -> Iterator[Segment]:
        """`cursor` is the attempt under the cursor."""
        layout, quiet = self.layout, self.look("grid--header")
        yield Segment(fit("task", layout.label) + " " * GAP, quiet)
        marks = ruler(self.view.columns, self.first, layout.visible, layout.pitch).ljust(layout.cells)
        at = (cursor - 1 - self.first) * layout.pitch
        if self.view.columns > 1 and 0 <= at < layout.cells:
            left, number, right = with_cursor(marks, at, str(cursor))
            yield Segment(left, quiet)
            yield Segment(number, self.look("grid--heading-cursor"))
            yield Segment(right, quiet)
        else:
            yield Segment(marks, quiet)
        yield Segment(" " * (layout.figures_start - layout.cells_start - layout.cells), quiet)
        for name, size in layout.figures:
            text = fit(name, size) if name in {"zone", "settled", "interval"} else fit_right(name, size)
            yield Segment(text + " " * GAP, quiet)

    def row(self, task: int, label: str, cursor: int) -> Iterator[Segment]:
        """`cursor` is the attempt under the cursor when this is its row, else 0."""
        row = ("grid--row",) if cursor else ()
        layout = self.layout
        yield Segment(fit_middle(label, layout.label) + " " * GAP, self.look("grid--label", *row))
        yield from self._cells(task, cursor, row)
        figures = self.view.figures(task)
        for name, size in layout.figures:
            yield from self._figure(task, name, size, figures, row)
            yield Segment(" " * GAP, self.look(*row))

    def _cells(self, task: int, cursor: int, row: tuple[str, ...]) -> Iterator[Segment]:
        layout, cells, blank = self.layout, self.view.cells(task), self.look(*row)
        padding = " " * (layout.pitch - 1)
        reviewed = self.view.reviews.changes(task) > 0
        for attempt in range(self.first + 1, self.first + layout.visible + 1):
            if attempt > len(cells):
                # The task wants no such attempt.
                under = self.look(*row, "grid--cursor") if attempt == cursor else blank
                yield Segment(" ", under)
                yield Segment(padding, blank)
                continue
            cell = cells[attempt - 1]
            take = self.view.attempt(task, attempt) if reviewed else None
            mark = None if take is None else self.view.reviews.mark(take)
            name = "grid--disagree" if mark is Mark.disagree else f"grid--{cell.value}"
            if attempt == cursor:
                yield Segment(self.glyphs.cell(cell, mark), self.look(name, "grid--cursor"))
                yield Segment(padding, blank)
            else:
                yield Segment(self.glyphs.cell(cell, mark) + padding, self.look(name, *row))
        yield Segment(" " * (layout.figures_start - layout.cells_start - layout.visible * layout.pitch), blank)

    def _figure(self, task: int, name: str, size: int, figures: Figures, row: tuple[str, ...]) -> Iterator[Segment]:
        if name == "interval":
            for part, text in self.glyphs.interval(figures.interval, figures.rate, size):
                yield Segment(text, self.look(f"grid--{part}", *row))
            return
        if name == "zone":
            style = "grid--learning" if figures.zone is Zone.learning else "grid--quiet"
            text = "" if figures.zone is Zone.unmeasured and not figures.n_ended else figures.zone.value
            yield Segment(fit(text, size), self.look(style, *row))
            return
        if name == "settled":
            yield self._settled(task, size, figures, row)
            return
        if name == "delta":
            delta = self.view.delta(task)
            points = 0 if delta is None else round(delta * 100)
            style = "grid--fail" if points < 0 else "grid--pass" if points > 0 else "grid--quiet"
            yield Segment(
                fit_right("-" if delta is None else f"{points:+d}" if points else "0", size), self.look(style, *row)
            )
            return
        text = {
            "pass": f"{figures.n_passed}/{figures.n_scored}" if figures.n_scored else "-",
            "rate": show.rate(figures.rate),
            "time": show.seconds(figures.latency),
            "tokens": show.count(figures.tokens) if figures.tokens else "-",
            "cost": show.cost(figures.known_cost),
        }[name]
        style = "grid--quiet" if text == "-" or name in {"time", "tokens", "cost"} else "grid--figure"
        yield Segment(fit_right(text, size), self.look(style, *row))

    def _settled(self, task: int, size: int, figures: Figures, row: tuple[str, ...]) -> Segment:
        """What is settled of the task, marked as such; while it is open, the zone as it is seen."""
        settled = self.view.task(task).settled
        if settled is None:
            text = "" if figures.zone is Zone.unmeasured else f"  {figures.zone.value}"
            return Segment(fit(text, size), self.look("grid--quiet", *row))
        mark = self.glyphs.settled if settled.is_claim else self.glyphs.given_up
        word = "unknowable" if settled.claim == "out of reach" else clean_line(settled.claim, size)
        style = _SETTLED_STYLES.get(settled.claim, "grid--figure" if settled.is_claim else "grid--quiet")
        return Segment(fit(f"{mark} {word}", size), self.look(style, *row))
