"""How the grid shares out its width."""

import pytest

from rollgrid_tui.widgets.grid_layout import FIGURES, GAP, lay_out, natural_width, ruler, with_cursor


def used(shape):
    return shape.figures_start + sum(size + GAP for _, size in shape.figures) - GAP


@pytest.mark.parametrize("width", [40, 60, 79, 80, 99, 120, 200])
@pytest.mark.parametrize("columns", [1, 4, 8, 16, 64, 100])
@pytest.mark.parametrize("label", [2, 12, 60])
def test_it_never_takes_more_than_there_is(width, columns, label):
    assert used(lay_out(width, columns, label)) <= width


@pytest.mark.parametrize("width", [60, 79, 80, 99, 120, 200])
@pytest.mark.parametrize("columns", [1, 8, 64])
def test_with_a_baseline_the_difference_stands_behind_the_rate_at_any_width(width, columns):
    shape = lay_out(width, columns, 30, True)
    assert used(shape) <= width
    assert [name for name, _ in shape.figures][:3] == ["pass", "rate", "delta"]


@pytest.mark.parametrize("columns", [1, 8, 64])
def test_pass_and_rate_are_there_at_80_columns_whatever_k(columns):
    assert [name for name, _ in lay_out(80, columns, 30).figures][:3] == ["pass", "rate", "zone"]


def test_eight_attempts_show_whole_with_the_interval_at_80_columns():
    shape = lay_out(80, 8, 14)
    assert (shape.pitch, shape.max_scroll) == (2, 0)
    assert "interval" in [name for name, _ in shape.figures]


def test_sixty_four_attempts_scroll_at_80_columns_and_show_whole_at_200():
    assert lay_out(80, 64, 14).max_scroll > 0
    wide = lay_out(200, 64, 14)
    assert (wide.pitch, wide.max_scroll) == (2, 0)


def test_single_columns_come_before_scrolling():
    shape = lay_out(120, 64, 14)
    assert (shape.pitch, shape.max_scroll) == (1, 0)


def test_at_its_natural_width_every_figure_shows():
    shape = lay_out(natural_width(8, 20), 8, 20)
    assert shape.figures == FIGURES
    assert shape.label == 20


def test_the_ruler_marks_the_first_and_every_fifth():
    assert ruler(16, 0, 16, 2).rstrip() == "1       5         10        15"
    assert ruler(16, 0, 16, 1).rstrip() == "1   5    10   15"
    assert ruler(64, 7, 8, 1).rstrip() == "  10"
    assert ruler(4, 0, 8, 1) == "1       "


@pytest.mark.parametrize(
    ("at", "number", "shown"),
    [
        (4, "3", "1   3   5         10  "),
        (2, "2", "1 2     5         10  "),
        (1, "2", " 2      5         10  "),
        (8, "5", "1       5         10  "),
        (18, "10", "1       5         10  "),
        (16, "9", "1       5       9 10  "),
        (20, "11", "1       5           11"),
        (21, "12", "1       5           12"),
    ],
)
def test_the_cursors_number_stands_over_its_column_and_pushes_out_what_it_would_touch(at, number, shown):
    marks = "1       5         10  "
    left, middle, right = with_cursor(marks, at, number)
    assert middle == number
    assert left + middle + right == shown
