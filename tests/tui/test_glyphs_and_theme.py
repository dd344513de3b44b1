"""Glyphs that hold their width, colours that can be read."""

import unicodedata

import pytest
from rich.cells import cell_len
from textual.color import Color

from rollgrid_tui import theme
from rollgrid_tui.glyphs import ASCII, CELL_WORDS, UNICODE, wants_ascii
from rollgrid_tui.state.figures import Cell, Interval, wilson


def characters(glyphs):
    return [*glyphs.cells.values(), glyphs.done, glyphs.rest, glyphs.track, glyphs.span, *glyphs.point, glyphs.storm]


@pytest.mark.parametrize("character", characters(UNICODE))
def test_no_glyph_is_of_ambiguous_width(character):
    assert unicodedata.east_asian_width(character) in {"N", "Na"}
    assert cell_len(character) == 1


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_state_has_a_glyph_and_words_of_its_own(glyphs):
    assert set(glyphs.cells) == set(CELL_WORDS) == set(Cell)
    assert len(set(glyphs.cells.values())) == len(Cell)


def test_the_ascii_set_is_ascii():
    assert "".join(characters(ASCII)).isascii()


@pytest.mark.parametrize(
    ("environ", "encoding", "ascii"),
    [
        ({"TERM": "xterm-256color"}, "UTF-8", False),
        ({"TERM": "tmux-256color"}, "utf8", False),
        ({"TERM": "linux"}, "UTF-8", True),
        ({"TERM": "xterm"}, "ANSI_X3.4-1968", True),
        ({"TERM": "xterm"}, "latin-1", True),
        ({"TERM": "xterm"}, "no-such-thing", True),
    ],
)
def test_ascii_is_for_the_console_and_for_locales_that_are_not_utf8(environ, encoding, ascii):
    assert wants_ascii(environ, encoding) is ascii


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("passed", range(9))
def test_an_interval_bar_has_its_width_and_one_point(glyphs, passed):
    runs = glyphs.interval(wilson(passed, 8), passed / 8, 12)
    assert sum(len(text) for _, text in runs) == 12
    assert [len(text) for part, text in runs if part == "point"] == [1]


def test_an_interval_bar_of_nothing_is_its_track():
    assert UNICODE.interval(None, None, 5) == [("track", "⠤⠤⠤⠤⠤")]
    assert ASCII.interval(Interval(0.5, 1.0), 0.75, 8) == [
        ("track", "----"),
        ("span", "=="),
        ("point", "|"),
        ("span", "="),
    ]


@pytest.mark.parametrize(
    ("share", "bar"), [(0, "----"), (0.001, "#---"), (0.5, "##--"), (0.999, "###-"), (1, "####"), (1.5, "####")]
)
def test_a_progress_bar_is_empty_only_before_the_first_and_full_only_after_the_last(share, bar):
    assert "".join(ASCII.progress(share, 4)) == bar


def luminance(color):
    def linear(value):
        value /= 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one, two):
    high, low = sorted((luminance(Color.parse(one)), luminance(Color.parse(two))), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("each", [theme.DARK, theme.LIGHT], ids=lambda each: each.name)
def test_text_can_be_read_on_every_background_it_stands_on(each):
    faint = {"faint", "cell-pending"}
    for name, value in each.variables.items():
        if name.startswith(("cell-", "good", "bad", "warn", "muted")) and name not in faint:
            for background in (each.background, each.surface, each.variables["cursor-row"]):
                assert contrast(value, background) >= (3.0 if name == "cell-superseded" else 4.5), (name, background)
    for background in (each.background, each.surface, each.variables["cursor-cell"]):
        assert contrast(each.foreground, background) >= 7
    assert contrast(each.accent, each.background) >= 4.5


def deuteranope(value):
    """How a deuteranope sees a colour (Viénot, Brettel and Mollon, 1999)."""
    color = Color.parse(value)
    r, g, b = ((v / 255) ** 2.2 for v in (color.r, color.g, color.b))
    mixed = 0.29275 * r + 0.70725 * g
    return (mixed, mixed, -0.02234 * r + 0.02234 * g + b)


@pytest.mark.parametrize("each", [theme.DARK, theme.LIGHT], ids=lambda each: each.name)
def test_pass_fail_and_error_differ_for_eyes_that_confuse_red_and_green(each):
    names = ("cell-pass", "cell-fail", "cell-error", "cell-running")
    seen = [deuteranope(each.variables[name]) for name in names]
    for i, one in enumerate(seen):
        for two in seen[i + 1 :]:
            assert sum(abs(a - b) for a, b in zip(one, two, strict=True)) > 0.05


@pytest.mark.parametrize(
    ("wanted", "environ", "chosen"),
    [
        ("auto", {"TERM": "xterm-256color"}, "dark"),
        ("auto", {"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "light"),
        ("auto", {"TERM": "rxvt", "COLORTERM": "truecolor", "COLORFGBG": "15;default;0"}, "dark"),
        ("auto", {"TERM": "linux"}, "terminal"),
        ("auto", {"TERM": "xterm"}, "terminal"),
        ("light", {"TERM": "linux"}, "light"),
        ("light", {"TERM": "xterm-256color", "NO_COLOR": "1"}, "terminal"),
    ],
)
def test_the_theme_follows_the_terminal_unless_it_is_set(wanted, environ, chosen):
    assert theme.choose(wanted, environ) == chosen


def test_every_theme_names_every_colour():
    assert len({frozenset(theme.DEFAULTS) - set(each.variables) for each in theme.THEMES.values()}) == 1
    for each in theme.THEMES.values():
        assert set(theme.DEFAULTS) <= set(each.variables)
