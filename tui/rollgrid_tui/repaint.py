"""What the terminal shows, cell by cell, and the least to write so that it shows something else.

Textual writes a whole row where one cell of it changed, each piece of it with all its colours. Over SSH that is fifty
times what is needed: a grid at work changes a few cells in every row. So a frame is compared with what was written
before, only the cells that differ are written, and those of one look together, since a change of colours takes more
bytes than a move of the cursor.

Nothing but printable characters of the cells is written, and no hyperlink: the last line of defence against text that
slipped past `rollgrid.text`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from rich.cells import split_graphemes
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.signal import Signal
from textual.strip import Strip

from rollgrid.text import clean_block

TAIL = ""
"""What stands in the second cell of a character that is two cells wide."""

RESET = "\x1b[0m"
GAP = 3
"""Cells between two changes that are written again rather than stepped over: a step takes four bytes."""

MANY = 3
"""From one changed cell in so many on, a frame is written from top to bottom, as the eye expects of a new screen."""

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Look(NamedTuple):
    """The parameters of a SGR sequence by what they set."""

    attributes: tuple[str, ...] = ()
    background: str = "49"
    foreground: str = "39"


PLAIN = Look()


class Run(NamedTuple):
    """Cells side by side that have one look. `settled` is False where terminals disagree on the width."""

    look: Look
    y: int
    x: int
    text: str
    width: int
    settled: bool


class Repaint:
    """Remembers what was written. `forget` when somebody else may have drawn on the terminal."""

    def __init__(self) -> None:
        self._size = Size(0, 0)
        self._texts: list[list[str | None]] = []
        self._looks: list[list[Look]] = []
        self.cells_written = 0
        """How many cells were ever written; tests count them."""

    def forget(self) -> None:
        """Nothing is known of the terminal: the next frame writes every cell that it has."""
        self._size = Size(0, 0)

    def difference(self, update: CompositorUpdate, size: Size, console: Console) -> str:
        """What to write so that a terminal of `size` shows `update` too; empty when it does already."""
        if size != self._size:
            self._size = size
            self._texts = [[None] * size.width for _ in range(size.height)]
            self._looks = [[PLAIN] * size.width for _ in range(size.height)]
        colours = console._color_system or ColorSystem.TRUECOLOR
        runs: list[Run] = []
        for y, x, strips in _pieces(update):
            if 0 <= y < size.height:
                runs.extend(self._replace(y, x, strips, colours))
        if not runs:
            return ""
        changed = sum(run.width for run in runs)
        self.cells_written += changed
        if changed * MANY < size.width * size.height:
            runs.sort()
        return _sequences(runs, size.width)

    def _replace(self, y: int, x: int, strips: Iterable[Strip], colours: ColorSystem) -> Iterator[Run]:
        """Take in a piece of row `y`; the runs that differ from what was there."""
        texts: list[str] = []
        looks: list[Look] = []
        for strip in strips:
            for text, style, _ in strip:
                cells = _cells(text)
                texts += cells
                looks += [_look(Strip.render_ansi(style, colours)) if style is not None else PLAIN] * len(cells)
        room = self._size.width - x
        del texts[room:], looks[room:]
        old_texts, old_looks = self._texts[y], self._looks[y]
        # Of a wide character that is cut, the half that stays goes blank, as terminals have it too.
        if texts and x and old_texts[x] == TAIL:
            x -= 1
            texts.insert(0, " ")
            looks.insert(0, old_looks[x])
        end = x + len(texts)
        if texts and end < self._size.width and old_texts[end] == TAIL:
            texts.append(" ")
            looks.append(old_looks[end])
            end += 1
        if old_texts[x:end] == texts and old_looks[x:end] == looks:
            return
        yield from _runs(y, x, texts, looks, old_texts, old_looks)
        old_texts[x:end] = texts
        old_looks[x:end] = looks


def _pieces(update: CompositorUpdate) -> Iterator[tuple[int, int, Iterable[Strip]]]:
    """The parts of rows that an update has: row, column, and the strips from there on."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield y, update.region.x, strips
    elif isinstance(update, ChopsUpdate):
        for y, first, last in update.spans:
            chops: Mapping[int, Strip | None] = update.chops[y]
            for end, (x, strip) in zip(update.chop_ends[y], chops.items(), strict=False):
                # A piece that reaches out of the span is taken whole: what did not change is not written anyway.
                if strip is not None and x <= last and end > first:
                    yield y, x, (strip,)
    else:
        raise TypeError(f"no way to write a {type(update).__name__}")


def _runs(
    y: int, start: int, texts: Sequence[str], looks: Sequence[Look], old_texts: list[str | None], old_looks: list[Look]
) -> Iterator[Run]:
    count = len(texts)
    changed = [
        text != old_text or look != old_look
        for text, old_text, look, old_look in zip(texts, old_texts[start:], looks, old_looks[start:], strict=False)
    ]
    for place in range(1, count):
        # The two cells of a wide character are written together.
        if not texts[place] and (changed[place] or changed[place - 1]):
            changed[place - 1] = changed[place] = True
    first = 0
    while first < count:
        if not changed[first]:
            first += 1
            continue
        look, end = looks[first], first + 1
        for place in range(end, count):
            if changed[place] and looks[place] == look:
                end = place + 1
            elif changed[place] or place - end >= GAP or looks[place] != look or not _is_plain(texts[place]):
                break
        yield from _settled(look, y, start + first, texts[first:end])
        first = end


def _is_plain(text: str) -> bool:
    return len(text) == 1 and text.isascii()


def _settled(look: Look, y: int, x: int, cells: Sequence[str]) -> Iterator[Run]:
    """`cells` as one run, or as several where the terminal may think otherwise of a character's width.

    After such a character the cursor is set anew, so that the columns behind it hold in any terminal.
    """
    text = "".join(cells)
    if text.isascii():
        yield Run(look, y, x, text, len(cells), True)
        return
    begin = 0
    for place, cell in enumerate(cells, start=1):
        wide = place < len(cells) and not cells[place]
        if cell and (wide or len(cell) > 1):
            if begin < place - 1:
                yield Run(look, y, x + begin, "".join(cells[begin : place - 1]), place - 1 - begin, True)
            width = 2 if wide else 1
            yield Run(look, y, x + place - 1, cell, width, False)
            begin = place - 1 + width
    if begin < len(cells):
        yield Run(look, y, x + begin, "".join(cells[begin:]), len(cells) - begin, True)


def _sequences(runs: Sequence[Run], width: int) -> str:
    parts: list[str] = []
    look: Look | None = None
    at: tuple[int, int] | None = None
    for run in runs:
        if run.look != look:
            parts.append(_change(look, run.look))
            look = run.look
        if at != (run.y, run.x):
            parts.append(_move(at, run.x, run.y))
        parts.append(run.text)
        end = run.x + run.width
        # In the last column the cursor waits to wrap, and terminals differ on where that is.
        at = (run.y, end) if run.settled and end < width else None
    return "".join(parts) + RESET


def _move(at: tuple[int, int] | None, x: int, y: int) -> str:
    if at is not None and at[0] == y and x > at[1]:
        step = x - at[1]
        return f"\x1b[{step}C" if step > 1 else "\x1b[C"
    return f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H"


def _change(old: Look | None, new: Look) -> str:
    """From one look to another; `None` is after a reset, or not known."""
    before = PLAIN if old is None else old
    codes: list[str] = []
    if old is None or (before.attributes and before.attributes != new.attributes):
        # Attributes are taken off one by one in ways that terminals disagree on, so all go.
        codes.append("0")
        before = PLAIN
    if new.attributes != before.attributes:
        codes += new.attributes
    codes += [code for code, known in zip(new[1:], before[1:], strict=True) if code != known]
    return f"\x1b[{';'.join(codes)}m"


@lru_cache(4096)
def _look(ansi: str) -> Look:
    attributes: list[str] = []
    colours = {"3": "39", "4": "49"}
    codes = iter(ansi.split(";") if ansi else ())
    for code in codes:
        if code in {"38", "48"}:
            kind = next(codes)
            values = [next(codes) for _ in range(1 if kind == "5" else 3)]
            colours[code[0]] = ";".join((code, kind, *values))
        elif len(code) >= 2 and (code[:-1] in {"3", "9"}):
            colours["3"] = code
        elif len(code) >= 2 and (code[:-1] in {"4", "10"}):
            colours["4"] = code
        else:
            attributes.append(code)
    return Look(tuple(attributes), colours["4"], colours["3"])


def _cells(text: str) -> list[str]:
    """A cell a character; two for a wide one, the second of them `TAIL`."""
    if text.isascii() and text.isprintable():
        return list(text)
    return list(_wide_cells(text))


@lru_cache(2048)
def _wide_cells(text: str) -> tuple[str, ...]:
    cells: list[str] = []
    for first, end, width in split_graphemes(text)[0]:
        shown = _UNSAFE.sub("", text[first:end])
        if not shown:
            cells += "?" * width
        elif width == 0:
            if cells and not unicodedata.category(shown[0]).startswith("C"):
                cells[-1] += shown
        else:
            cells.append(shown)
            cells += [TAIL] * (width - 1)
    return tuple(cells)


class Ready(CompositorUpdate):
    """Bytes that are to be written as they are."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:
        return self._text


class SparingApp(App[None], inherit_bindings=False):
    """An application that writes only what differs from what its terminal shows."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.repaint = Repaint()
        self.keys_pressed = 0

    def on_mount(self) -> None:
        resumed = cast("Signal[App[None]]", self.app_resume_signal)  # pyright: ignore[reportUnknownMemberType]
        resumed.subscribe(self, lambda _: self.repaint.forget())

    def on_resize(self, event: events.Resize) -> None:
        # What a terminal keeps of its content when it changes its size is its own affair.
        self.repaint.forget()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.keys_pressed += 1
        if isinstance(event, events.Paste):
            # Inputs draw what was pasted, and not all of them are ours.
            event.text = clean_block(event.text)
        await super().on_event(event)

    def action_redraw(self) -> None:
        """For a terminal that somebody else wrote to."""
        self.repaint.forget()
        self.screen.refresh()

    def _display(self, screen: Screen[None], renderable: RenderableType | None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        shows = self._running and not self._closed and not self.is_headless and not self._batch_count
        if shows and not self.is_inline and isinstance(renderable, CompositorUpdate):
            text = self.repaint.difference(renderable, self.size, self.console)
            renderable = cast("RenderableType", Ready(text)) if text else None
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]
