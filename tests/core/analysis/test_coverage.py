"""Made-up runs with known rates: stated confidence is real confidence.

Small and with fixed seeds, so that it says the same every time; `tests/bench/simulation/coverage.py` is the large one.
With 1000 rounds a share of 0.95 is told to within 0.014 (two standard errors), which the ranges allow for.
"""

import pytest

from support.simulation import (
    CHANGES,
    POPULATIONS,
    RARE_BREAKS,
    RARE_HOPELESS,
    coverage_of_clustered,
    coverage_of_delta,
    coverage_of_pooled,
    coverage_of_wilson,
    discoveries,
)

ROUNDS = 1000


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64])
def test_wilson_covers_as_stated_on_average_over_the_rates(n):
    mean, least = coverage_of_wilson(n)
    assert 0.93 <= mean <= 0.97
    # At single rates near 0 and 1 it is less, and the manual says so.
    assert least > 0.79


ALIKE = ("every task 0.5", "every task 0.9", "mostly good", "always or never")
"""Where tasks hardly differ, or are all or nothing, the interval is rather too wide."""


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: one.name)
@pytest.mark.parametrize(("m", "k"), [(20, 4), (20, 16), (50, 8)])
def test_the_overall_interval_covers_as_stated(population, m, k):
    assert 0.93 <= coverage_of_clustered(population, m, k, ROUNDS, seed=1) <= (1 if population.name in ALIKE else 0.98)


@pytest.mark.parametrize("population", [*POPULATIONS, RARE_HOPELESS], ids=lambda one: one.name)
@pytest.mark.parametrize(("m", "k"), [(3, 8), (5, 2), (5, 32), (10, 8)])
def test_with_few_tasks_the_overall_interval_covers_at_least_as_stated(population, m, k):
    # 0.95 less two standard errors, and a little for the quantities that are only approximated.
    assert coverage_of_clustered(population, m, k, ROUNDS, seed=2) >= 0.925


def test_attempts_taken_for_independent_would_claim_too_much():
    """Why it is clustered: the interval for exactly these tasks does not hold the rate of tasks like these."""
    from support.simulation import holds, np, wilson

    rng = np.random.default_rng(4)
    population = POPULATIONS[5]
    inside = 0
    for _ in range(ROUNDS):
        passed = int(rng.binomial(8, population.draw(rng, 20)).sum())
        inside += holds(wilson(passed, 160), population.mean)
    assert inside / ROUNDS < 0.7


@pytest.mark.parametrize("rates", [[0.5] * 20, [0.9] * 20, [(i + 0.5) / 20 for i in range(20)]])
def test_the_interval_for_exactly_these_tasks_covers_at_least_as_stated(rates):
    assert coverage_of_pooled(rates, 8, ROUNDS, seed=5) >= 0.93


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.name)
def test_the_paired_interval_covers_as_stated_with_unequal_k(change):
    found = coverage_of_delta(change, 15, 8, ROUNDS, seed=6, k_old=16)
    assert found.like_these >= 0.93
    assert found.wrong_verdicts <= 0.07


def test_a_change_in_few_tasks_is_the_hard_case():
    found = coverage_of_delta(RARE_BREAKS, 20, 8, ROUNDS, seed=7)
    assert 0.8 <= found.like_these <= 0.93
    assert found.wrong_verdicts <= 0.02


@pytest.mark.parametrize(("changed", "k_old"), [(0.0, 8), (0.2, 8), (0.2, 16)])
def test_false_findings_stay_below_five_in_a_hundred(changed, k_old):
    found = discoveries(40, 16, changed, 200, seed=8, k_old=k_old)
    assert found.false_rate <= 0.05
    if changed:
        assert found.power > 0.25
    else:
        assert found.any_false <= 0.05
