"""What a cell, a row and a run amount to."""

import pytest

from rollgrid_tui.state.figures import Cell, Figures, Zone, add, cell_of, clustered, figures_of, wilson
from support.fake_log import attempt_row


@pytest.mark.parametrize(
    "outcome", ["fail", "partial", "error", "timeout", "cancelled", "running", "retrying", "superseded"]
)
def test_a_cell_shows_what_its_attempt_came_to(outcome):
    assert cell_of(attempt_row(0, 1, outcome), live=True).value == outcome


def test_a_passed_attempt_and_one_not_started():
    assert cell_of(attempt_row(0, 1), live=True) is Cell.passed
    assert cell_of(None, live=True) is Cell.pending


def test_what_was_in_flight_when_the_runner_went_away_is_lost():
    assert cell_of(attempt_row(0, 1, "running"), live=False) is Cell.cancelled


def test_a_scorer_that_failed_leaves_an_error_not_a_fail():
    row = attempt_row(0, 1, "pass", passed=None, value=None, error="scorer: KeyError: 'x'")
    assert cell_of(row, live=True) is Cell.error


def test_rates_divide_by_scored_attempts_only():
    rows = [attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(0, 3, "error"), attempt_row(0, 4, "timeout")]
    figures = figures_of([cell_of(row, live=True) for row in rows], rows)
    assert (figures.n_passed, figures.n_scored, figures.n_unscored, figures.n_errors) == (1, 2, 2, 2)
    assert figures.rate == 0.5


def test_a_superseded_attempt_counts_nowhere_but_its_cost_was_paid():
    row = attempt_row(0, 1, "superseded", cost=0.5)
    figures = figures_of([Cell.superseded], [row])
    assert (figures.n_ended, figures.n_scored, figures.n_errors, figures.n_superseded) == (0, 0, 0, 1)
    assert figures.known_cost == 0.5


def test_nothing_scored_has_no_rate_no_interval_and_no_zone():
    assert Figures().rate is None
    assert Figures().interval is None
    assert Figures().zone is Zone.unmeasured
    assert Figures().known_cost is None


@pytest.mark.parametrize(
    ("passed", "scored", "zone"), [(0, 4, Zone.hopeless), (4, 4, Zone.saturated), (1, 4, Zone.learning)]
)
def test_the_zone_is_told_from_passes(passed, scored, zone):
    assert Figures(n_passed=passed, n_scored=scored).zone is zone


def test_latency_is_of_attempts_that_completed():
    rows = [attempt_row(0, 1, duration_seconds=2.0), attempt_row(0, 2, "timeout", duration_seconds=120.0)]
    assert figures_of([Cell.passed, Cell.timeout], rows).latency == 2.0


def test_replacing_a_rows_figures_in_a_total():
    one, two = Figures(n_ended=1, cost=0.5), Figures(n_ended=2, cost=0.75)
    assert add(add(Figures(), Figures(), one), one, two) == two


def test_wilsons_interval_matches_published_values():
    # R: prop.test(8, 10, correct = FALSE)
    interval = wilson(8, 10)
    assert interval is not None
    assert interval.low == pytest.approx(0.4901625, abs=1e-6)
    assert interval.high == pytest.approx(0.9433178, abs=1e-6)
    assert wilson(0, 5) == pytest.approx((0.0, 0.4344825), abs=1e-6)
    assert wilson(0, 0) is None


def test_attempts_that_resemble_each_other_within_a_task_widen_the_interval():
    spread = clustered([(4, 8)] * 8)
    clumped = clustered([(8, 8)] * 4 + [(0, 8)] * 4)
    assert spread is not None
    assert clumped is not None
    assert clumped.high - clumped.low > 1.5 * (spread.high - spread.low)


def test_the_overall_interval_of_one_task_or_of_none():
    assert clustered([]) is None
    assert clustered([(0, 0)]) is None
    assert clustered([(3, 4)]) == wilson(3, 4)
