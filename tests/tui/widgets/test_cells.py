"""Text in an exact number of columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rollgrid.text import clean_line
from rollgrid_tui.widgets.cells import fit, fit_middle, fit_right


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 5, "abc  "),
        ("abcdefgh", 6, "abc..."),
        ("日本語テキスト", 8, "日本 ..."),
        ("abcdef", 3, "abc"),
        ("日本", 3, "日 "),
    ],
)
def test_text_is_padded_or_cut(text, width, shown):
    assert fit(text, width) == shown


def test_figures_are_set_to_the_right():
    assert fit_right("12", 4) == "  12"


def test_names_that_begin_alike_keep_their_end():
    assert fit_middle("task-0001-sum", 10) == "task..-sum"
    assert fit_middle("short", 10) == "short     "


@given(st.text(), st.integers(1, 30))
def test_the_width_is_exact_whatever_the_text(text, width):
    clean = clean_line(text)
    for put in (fit, fit_right, fit_middle):
        assert cell_len(put(clean, width)) == width
