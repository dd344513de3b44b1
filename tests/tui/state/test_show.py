"""Figures as a few characters."""

import pytest

from rollgrid_tui.state import show


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.04, "40ms"), (0.4, "0.4s"), (9.94, "9.9s"), (12, "12s"), (185, "3m05"), (7800, "2h10")],
)
def test_seconds_fit_six_columns(value, text):
    assert show.seconds(value) == text


@pytest.mark.parametrize(("value", "text"), [(7, "0:07"), (750, "12:30"), (3723, "1:02:03"), (-4, "0:00")])
def test_a_span_reads_like_a_clock(value, text):
    assert show.clock(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(999, "999"), (12_345, "12.3k"), (99_960, "100k"), (999_949, "1000k"), (4_500_000, "4.5M")]
)
def test_counts_are_short(value, text):
    assert show.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0, "$0"), (0.0012, "$0.0012"), (0.34, "$0.34"), (2500, "$2,500")]
)
def test_a_cost_has_two_digits_that_mean_something(value, text):
    assert show.cost(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (12.4, "12/s"), (3.14, "3.1/s"), (0.5, "30/min"), (0.05, "3.0/min")]
)
def test_slow_runs_are_told_by_the_minute(value, text):
    assert show.per_second(value) == text


def test_a_rate_is_a_whole_percentage():
    assert show.rate(2 / 3) == "67%"
    assert show.rate(None) == "-"
