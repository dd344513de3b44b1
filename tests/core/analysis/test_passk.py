"""pass@j and pass^j against the counting of every case."""

from itertools import combinations, product
from math import comb

import pytest

from rollgrid.analysis.passk import pass_at, pass_hat


@pytest.mark.parametrize("n", range(1, 9))
def test_they_are_the_shares_of_the_subsets(n):
    for passed in range(n + 1):
        outcomes = [True] * passed + [False] * (n - passed)
        for j in range(1, n + 1):
            subsets = list(combinations(outcomes, j))
            assert pass_at(passed, n, j) == pytest.approx(sum(map(any, subsets)) / len(subsets))
            assert pass_hat(passed, n, j) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_they_are_unbiased(rate, n):
    """Over every outcome of n attempts the estimates average to the true chances, whatever the rate is."""
    for j in range(1, n + 1):
        at = hat = 0.0
        for outcome in product([True, False], repeat=n):
            chance = rate ** sum(outcome) * (1 - rate) ** (n - sum(outcome))
            at += chance * pass_at(sum(outcome), n, j)
            hat += chance * pass_hat(sum(outcome), n, j)
        assert at == pytest.approx(1 - (1 - rate) ** j)
        assert hat == pytest.approx(rate**j)


def test_the_plain_guess_would_be_biased():
    """Why the estimators are what they are: 1 - (1 - c/n)^j is wrong on average."""
    n, j, rate = 4, 3, 0.3
    plain = sum(comb(n, c) * rate**c * (1 - rate) ** (n - c) * (1 - (1 - c / n) ** j) for c in range(n + 1))
    assert abs(plain - (1 - (1 - rate) ** j)) > 0.01


def test_large_counts_lose_no_digit():
    assert pass_at(1, 10_000, 5_000) == pytest.approx(0.5)
    assert pass_hat(9_999, 10_000, 5_000) == pytest.approx(0.5)


@pytest.mark.parametrize("figures", [(1, 8, 0), (1, 8, 9), (9, 8, 1), (-1, 8, 1), (0, 0, 1)])
def test_what_cannot_be_estimated_is_refused(figures):
    for estimator in (pass_at, pass_hat):
        with pytest.raises(ValueError, match="must lie in"):
            estimator(*figures)
