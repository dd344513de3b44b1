"""The exact test, against scipy and against the enumeration of every outcome."""

import random
from math import comb

import pytest
from scipy import stats

from rollgrid.analysis import exact
from rollgrid.analysis.exact import exact_p


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 3), (2, 5), (8, 8), (8, 4), (5, 16)])
def test_small_tables_have_scipys_p_value(n_a, n_b):
    rng = random.Random(n_a * 100 + n_b)
    tables = [(a, b) for a in range(n_a + 1) for b in range(n_b + 1)]
    for a, b in rng.sample(tables, min(6, len(tables))):
        theirs = stats.boschloo_exact([[a, b], [n_a - a, n_b - b]], n=64).pvalue
        assert exact_p(a, n_a, b, n_b) == pytest.approx(theirs, rel=1e-4), (a, b)


@pytest.mark.parametrize("table", [(64, 64, 32, 64), (30, 32, 10, 32), (50, 64, 20, 40), (16, 64, 30, 64)])
def test_large_tables_have_scipys_p_value(table):
    a, n_a, b, n_b = table
    theirs = stats.boschloo_exact([[a, b], [n_a - a, n_b - b]], n=64).pvalue
    assert exact_p(*table) == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize(("n_a", "n_b"), [(4, 4), (8, 8), (5, 9), (3, 12)])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_the_level_is_kept_at_every_rate(n_a, n_b, level):
    """The chance of p <= level under one common rate, summed over every outcome, never exceeds the level."""
    small = [(a, b) for a in range(n_a + 1) for b in range(n_b + 1) if exact_p(a, n_a, b, n_b) <= level]
    for step in range(101):
        rate = step / 100
        chance = sum(
            comb(n_a, a) * comb(n_b, b) * rate ** (a + b) * (1 - rate) ** (n_a + n_b - a - b) for a, b in small
        )
        assert chance <= level + 1e-6


def test_it_is_never_above_fishers_p_value():
    n_a, n_b = 8, 12
    for a in range(n_a + 1):
        for b in range(n_b + 1):
            lower = stats.hypergeom.cdf(a, n_a + n_b, n_a, a + b)
            upper = stats.hypergeom.sf(a - 1, n_a + n_b, n_a, a + b)
            assert exact_p(a, n_a, b, n_b) <= min(1.0, 2 * min(lower, upper)) + 1e-9


def test_the_example_of_the_docstring():
    assert stats.fisher_exact([[8, 4], [0, 4]])[1] == pytest.approx(0.077, abs=5e-4)
    assert exact_p(8, 8, 4, 8) == pytest.approx(0.028, abs=5e-4)


def test_neither_the_side_nor_what_is_counted_matters():
    for a, b in ((7, 2), (0, 5), (3, 3)):
        p = exact_p(a, 8, b, 12)
        assert exact_p(b, 12, a, 8) == p
        assert exact_p(8 - a, 8, 12 - b, 12) == p


def test_equal_rates_have_a_p_value_of_one():
    assert exact_p(3, 3, 8, 8) == 1.0
    assert exact_p(2, 4, 8, 16) == 1.0
    assert exact_p(0, 1, 0, 64) == 1.0


def test_beyond_the_largest_size_it_is_fishers_test():
    n = exact.LARGEST + 50
    expected = min(1.0, 2 * stats.hypergeom.cdf(100, 2 * n, n, 230))
    assert exact_p(100, n, 130, n) == pytest.approx(expected)


def test_a_table_is_computed_once():
    exact._kept.cache_clear()
    for _ in range(1000):
        exact_p(5, 8, 2, 8)
        exact_p(2, 8, 5, 8)
    assert exact._kept.cache_info().misses == 1


@pytest.mark.parametrize("table", [(5, 4, 1, 4), (-1, 4, 1, 4), (0, 0, 1, 4)])
def test_counts_that_cannot_be_are_refused(table):
    with pytest.raises(ValueError, match="passed must lie in"):
        exact_p(*table)
