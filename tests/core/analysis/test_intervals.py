"""Closed-form intervals, against scipy and published values."""

import itertools
import random
import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

from rollgrid.analysis.beta import beta_quantile
from rollgrid.analysis.critical import false_discovery, t_point, z_point
from rollgrid.analysis.wilson import Interval, clustered, newcombe, t95, wilson
from support.simulation import interval_of


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13, 64, 500])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_wilson_is_scipys(n, confidence):
    for passed in range(n + 1):
        theirs = stats.binomtest(passed, n).proportion_ci(confidence, "wilson")
        ours = wilson(passed, n, z_point(confidence))
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_never_leaves_the_unit_interval_and_never_has_no_width():
    for n in range(1, 40):
        for passed in range(n + 1):
            interval = interval_of(passed, n)
            assert 0 <= interval.low < interval.high <= 1
            assert interval.low <= passed / n <= interval.high
    assert interval_of(8, 8).high == 1.0
    assert interval_of(0, 8).low == 0.0


def test_no_observation_has_no_interval():
    assert wilson(0, 0) is None
    assert clustered([]) is None
    assert clustered([(0, 0), (0, 0)]) is None


def test_the_table_of_students_distribution_is_scipys():
    for freedom in range(1, 400):
        assert t95(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=5e-6)
        assert t_point(0.9, freedom) == pytest.approx(stats.t.ppf(0.95, freedom))
    assert z_point(0.95) == pytest.approx(stats.norm.ppf(0.975), abs=1e-12)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95])
def test_a_confidence_in_percent_is_refused(confidence):
    with pytest.raises(ValueError, match=r"such as 0\.95"):
        z_point(confidence)


def test_one_task_has_the_interval_of_its_attempts():
    assert clustered([(3, 8)]) == wilson(3, 8)
    assert clustered([(3, 8), (0, 0)]) == wilson(3, 8)


def test_tasks_that_always_pass_or_never_do_have_jeffreys_interval():
    # 20 tasks, each all or nothing: 12 of 20, however many attempts were made.
    expected = (special.betaincinv(12, 8.5, 0.025), special.betaincinv(12.5, 8, 0.975))
    assert clustered([(8, 8)] * 12 + [(0, 8)] * 8) == pytest.approx(expected, abs=1e-8)
    assert clustered([(64, 64)] * 12 + [(0, 64)] * 8) == pytest.approx(expected, abs=1e-8)


def test_attempts_without_likeness_say_more_than_tasks_and_less_than_attempts():
    def width(counts):
        interval = clustered(counts)
        return interval.high - interval.low

    assert clustered([(4, 8)] * 10) == wilson(40, 80)
    spread = [(2, 8), (6, 8)] * 5
    assert width([(4, 8)] * 10) < width(spread) < width([(8, 8), (0, 8)] * 5)


def test_when_everything_passed_only_the_number_of_tasks_is_known():
    assert clustered([(8, 8)] * 5) == pytest.approx((special.betaincinv(5, 0.5, 0.025), 1.0), abs=1e-8)
    assert clustered([(0, 64)] * 5) == pytest.approx((0.0, special.betaincinv(0.5, 5, 0.975)), abs=1e-8)


def test_one_failure_more_never_makes_the_interval_narrower_at_its_lower_end():
    ends = [clustered([(8, 8)] * 4 + [(8 - failed, 8)]).low for failed in range(9)]
    assert all(later < earlier + 1e-4 for earlier, later in itertools.pairwise(ends))


def test_the_overall_interval_is_the_bayesian_bootstrap_with_half_a_task_at_the_end():
    counts = [(7, 8), (3, 6), (2, 8), (8, 8), (5, 8), (1, 2)]
    passed, scored = np.array(counts, dtype=float).T
    n = scored.sum()
    weights = scored * (n / (scored**2).sum())
    drawn = np.random.default_rng(1).dirichlet([*weights, 0.5], 200_000)
    low = np.quantile(drawn[:, :-1] @ (passed / scored), 0.025)
    high = np.quantile(drawn[:, :-1] @ (passed / scored) + drawn[:, -1], 0.975)
    # The beta distribution with the same mean and variance stands for the drawn one.
    assert clustered(counts) == pytest.approx((low, high), abs=0.015)


@pytest.mark.parametrize("chance", [0.0001, 0.025, 0.5, 0.975])
def test_quantiles_of_the_beta_distribution_are_scipys(chance):
    for a in (0.02, 0.5, 1.0, 3.7, 40.0, 2000.0):
        for b in (0.02, 0.5, 1.0, 12.0, 900.0):
            assert beta_quantile(a, b, chance) == pytest.approx(float(special.betaincinv(a, b, chance)), abs=1e-7)
    assert (beta_quantile(2, 3, 0), beta_quantile(2, 3, 1)) == (0.0, 1.0)


def test_the_difference_of_two_shares_is_newcombes():
    # Newcombe (1998), table II, example (a): 56/70 against 48/80, method 10.
    interval = newcombe(48 / 80, interval_of(48, 80), 56 / 70, interval_of(56, 70))
    assert interval == pytest.approx((0.0524, 0.3339), abs=5e-5)
    # Example (h): 10/10 against 0/10.
    assert newcombe(0, interval_of(0, 10), 1, interval_of(10, 10)) == pytest.approx((0.6075, 1.0), abs=5e-5)


def test_a_difference_turns_its_sign_with_the_sides():
    ahead = newcombe(0.2, interval_of(2, 10), 0.7, interval_of(7, 10))
    back = newcombe(0.7, interval_of(7, 10), 0.2, interval_of(2, 10))
    assert ahead == pytest.approx(Interval(-back.high, -back.low))


def test_adjusted_p_values_are_benjamini_and_hochbergs():
    # By hand: sorted 0.01, 0.02, 0.03, 0.5 times 4/rank, each at most the next.
    assert false_discovery([0.5, 0.01, 0.03, 0.02]) == pytest.approx([0.5, 0.04, 0.04, 0.04])
    assert false_discovery([0.3]) == [0.3]
    assert false_discovery([]) == []


def test_adjusted_p_values_are_scipys_and_need_no_scipy():
    draws = random.Random(7)
    for n in (1, 2, 3, 50, 1000):
        found = [draws.choice((1.0, draws.random(), draws.random() ** 9, 0.25)) for _ in range(n)]
        assert false_discovery(found) == [float(value) for value in stats.false_discovery_control(found)]
    code = (
        "import sys; from rollgrid.analysis.critical import false_discovery; false_discovery([0.1, 0.2]); "
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
