"""Closed-form intervals, against scipy and published values."""

import random
import subprocess
import sys

import pytest
from scipy import stats

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


def test_attempts_that_are_all_alike_count_as_one_for_each_task():
    # 20 tasks, each all or nothing: 12 of 20, however many attempts were made.
    assert clustered([(8, 8)] * 12 + [(0, 8)] * 8) == pytest.approx(wilson(12, 20))


def test_attempts_without_likeness_count_each():
    assert clustered([(4, 8)] * 10) == pytest.approx(wilson(40, 80))


def test_when_everything_passed_only_the_number_of_tasks_is_known():
    assert clustered([(8, 8)] * 5) == pytest.approx(wilson(5, 5))
    assert clustered([(0, 64)] * 5) == pytest.approx(wilson(0, 5))


def test_the_overall_interval_follows_the_published_recipe():
    # Kish's linearised variance and Korn and Graubard's degrees of freedom, by hand for three tasks of unequal size.
    counts = [(7, 8), (3, 6), (2, 8)]
    n, share = 22, 12 / 22
    variance = 3 / 2 * sum((p - share * s) ** 2 for p, s in counts) / n**2
    effective = share * (1 - share) / variance * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 2)) ** 2
    fewest = n**2 / (64 + 36 + 64)
    assert effective < fewest
    assert clustered(counts) == pytest.approx(wilson(share * fewest, fewest))
    wide = [(7, 8), (6, 8), (7, 8), (6, 8), (8, 8), (5, 8), (7, 8), (6, 8)]
    share = 52 / 64
    variance = 8 / 7 * sum((p - share * s) ** 2 for p, s in wide) / 64**2
    effective = share * (1 - share) / variance * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 7)) ** 2
    effective = min(64, effective)
    assert effective > 8
    assert clustered(wide) == pytest.approx(wilson(share * effective, effective), abs=1e-5)


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
