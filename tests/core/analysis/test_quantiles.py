"""Quantiles, and what a timeout does to them."""

import numpy as np
import pytest

from rollgrid.analysis.quantiles import LEVELS, quantiles


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_they_are_numpys(n):
    values = np.random.default_rng(n).exponential(size=n)
    told = quantiles(values.tolist())
    assert told is not None
    assert told.values == pytest.approx(np.quantile(values, LEVELS).tolist())
    assert (told.n, told.mean, told.total) == (n, pytest.approx(values.mean()), pytest.approx(values.sum()))
    assert told.bounds == (False, False, False)


def test_no_value_has_no_quantile():
    assert quantiles([]) is None


def test_a_quantile_among_the_cut_off_is_a_lower_bound():
    told = quantiles([1.0] * 8, [120.0] * 2)
    assert told is not None
    assert (told.median, told.bounds) == (1.0, (False, True, True))
    assert (told.n, told.n_censored) == (10, 2)
    assert told.to_dict()["lower_bounds"] == ["p90", "p99"]


def test_a_value_that_was_cut_off_early_makes_all_above_it_lower_bounds():
    told = quantiles([5.0] * 9, [0.1])
    assert told is not None
    assert told.bounds == (True, True, True)
