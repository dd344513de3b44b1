"""Only the cells that differ are written, and a terminal then shows what textual meant."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip

from rollgrid_tui.repaint import Repaint
from support.emulator import Emulator

WIDTH, HEIGHT = 12, 4
SIZE = Size(WIDTH, HEIGHT)
CONSOLE = Console(color_system="truecolor", force_terminal=True, legacy_windows=False)
STYLES = [
    Style(),
    Style(color="#45b8a0", bgcolor="#12161b"),
    Style(color="#f0875a", bgcolor="#12161b"),
    Style(color="#45b8a0", bgcolor="#273d56", bold=True),
    Style(color="red", reverse=True),
    Style(color="bright_red", bgcolor="bright_blue", underline=True),
    Style(color="color(200)", bold=True, italic=True),
]
TEXTS = [
    "a",
    "b",
    " ",
    "  ",
    "✓",
    "✗ ",
    "⠤⠤",
    "漢",
    "字漢",
    "🚀",
    "e\u0301",
    "x漢",
    "391",
    "longer than that",
]

segments = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(STYLES)).map(lambda pair: Segment(*pair)), max_size=6
)
rows = segments.map(lambda parts: Strip(parts).adjust_cell_length(WIDTH, STYLES[1]))
frames = st.lists(rows, min_size=HEIGHT, max_size=HEIGHT)


def layout(strips):
    return LayoutUpdate([[strip] for strip in strips], Region(0, 0, WIDTH, len(strips)))


def shown(strips):
    """What a terminal shows that textual wrote all of it to."""
    terminal = Emulator(WIDTH, HEIGHT)
    terminal.feed(layout(strips).render_segments(CONSOLE))
    return terminal.cells


@given(st.lists(frames, min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_the_terminal_shows_every_frame_as_textual_meant_it(sequence):
    terminal, repaint = Emulator(WIDTH, HEIGHT), Repaint()
    for strips in sequence:
        terminal.feed(repaint.difference(layout(strips), SIZE, CONSOLE))
        assert terminal.cells == shown(strips)
        assert repaint.difference(layout(strips), SIZE, CONSOLE) == ""
    assert not terminal.unknown


@given(frames, frames, st.integers(0, HEIGHT - 1), st.integers(0, WIDTH - 1), st.integers(1, WIDTH))
@settings(max_examples=80, deadline=None)
def test_a_part_of_a_row_is_written_in_its_place(before, after, y, x, width):
    end = min(WIDTH, x + width)
    cuts = sorted({0, x, end, WIDTH})
    pieces = dict(zip(cuts, after[y].divide(cuts[1:]), strict=False))
    chops = [{} for _ in range(HEIGHT)]
    chops[y] = {at: piece if at == x else None for at, piece in pieces.items()}
    ends = [[] for _ in range(HEIGHT)]
    ends[y] = cuts[1:]
    terminal, repaint = Emulator(WIDTH, HEIGHT), Repaint()
    terminal.feed(repaint.difference(layout(before), SIZE, CONSOLE))
    update = ChopsUpdate(chops, [(y, x, end)], ends)
    terminal.feed(repaint.difference(update, SIZE, CONSOLE))
    whole = [Strip.join([before[y].crop(0, x), pieces[x], before[y].crop(end, WIDTH)]) if n == y else strip
             for n, strip in enumerate(before)]  # fmt: skip
    assert terminal.cells == shown(whole)


def row(*parts):
    return Strip([Segment(text, style) for text, style in parts]).adjust_cell_length(WIDTH, STYLES[1])


def test_a_changed_cell_costs_a_move_a_look_and_the_cell():
    repaint = Repaint()
    quiet, green, red = STYLES[1], STYLES[1], STYLES[2]
    repaint.difference(layout([row(("task-1 ", quiet), ("✓✓", green), ("  1/2", quiet))] * HEIGHT), SIZE, CONSOLE)
    written = repaint.cells_written
    changed = [row(("task-1 ", quiet), ("✓✓", green), ("  1/2", quiet))] * (HEIGHT - 1)
    last = row(("task-1 ", quiet), ("✓", green), ("✗", red), ("  1/2", quiet))
    text = repaint.difference(layout([*changed, last]), SIZE, CONSOLE)
    assert repaint.cells_written == written + 1
    assert re.sub(r"\x1b\[[0-9;]*[mH]", "", text) == "✗"
    assert text.count("H") == 1


def test_cells_of_one_look_are_written_together_wherever_they_are():
    repaint = Repaint()
    wide = Size(60, 20)
    green, red = STYLES[1], STYLES[2]

    def frame(texts):
        strips = [Strip([Segment(a, green), Segment(b, red), Segment(" " * 58, green)]) for a, b in texts]
        return LayoutUpdate([[strip] for strip in strips], Region(0, 0, 60, 20))

    repaint.difference(frame([("a", "b")] * 20), wide, CONSOLE)
    text = repaint.difference(frame([("c", "d")] * 20), wide, CONSOLE)
    assert text.count("\x1b[") - text.count("H") == 3, "two looks and the reset at the end"


def test_after_a_forgotten_terminal_every_cell_is_written_again():
    repaint, strips = Repaint(), [row(("same", STYLES[1]))] * HEIGHT
    first = repaint.difference(layout(strips), SIZE, CONSOLE)
    assert repaint.difference(layout(strips), SIZE, CONSOLE) == ""
    repaint.forget()
    assert repaint.difference(layout(strips), SIZE, CONSOLE) == first


def test_another_size_is_another_terminal():
    repaint = Repaint()
    first = repaint.difference(layout([row(("same", STYLES[1]))] * HEIGHT), SIZE, CONSOLE)
    assert repaint.difference(layout([row(("same", STYLES[1]))] * HEIGHT), Size(WIDTH + 1, HEIGHT), CONSOLE) == first


def test_what_follows_a_wide_character_holds_its_column_in_a_terminal_that_draws_it_narrow():
    text = Repaint().difference(layout([row(("a漢b🚀c", STYLES[1]))] * HEIGHT), SIZE, CONSOLE)
    assert "漢\x1b[1;4Hb🚀\x1b[1;7Hc" in text


@pytest.mark.parametrize("payload", ["\x1b]52;c;ZXZpbA==\x07", "\x9b31m", "\x00", "\u202e", "\ud800", "\r\n", "\x7f"])
def test_a_control_character_in_a_cell_never_reaches_the_terminal(payload):
    strip = Strip([Segment(f"a{payload}b", STYLES[1])], WIDTH)
    text = Repaint().difference(LayoutUpdate([[strip]], Region(0, 0, WIDTH, 1)), Size(WIDTH, 1), CONSOLE)
    rest = re.sub(r"\x1b\[[0-9;]*[mHC]", "", text)
    assert rest.isprintable()
    assert not set(rest) & set("\x1b\x07\x9b\x00\u202e\ud800\r\n\x7f")


def test_a_hyperlink_of_a_style_is_not_written():
    strip = Strip([Segment("here", Style(link="http://example.test/"))], 4)
    text = Repaint().difference(LayoutUpdate([[strip]], Region(0, 0, 4, 1)), Size(4, 1), CONSOLE)
    assert "\x1b]" not in text
    assert "here" in text
