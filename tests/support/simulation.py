"""Made-up runs with known rates, to see how often an interval holds the truth and how often a verdict is wrong."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rollgrid.analysis.comparison import Count, Verdict, compare_counts, overall_delta
from rollgrid.analysis.critical import z_point
from rollgrid.analysis.wilson import Interval, clustered, wilson

Rng = np.random.Generator
Rates = Any
"""An array of pass rates, one for each task."""

ROUNDING = 1e-12


class Population(NamedTuple):
    """Where tasks come from: `draw` gives rates of so many tasks, `mean` is the rate over all there are."""

    name: str
    mean: float
    draw: Callable[[Rng, int], Rates]


def _mixed(rng: Rng, m: int) -> Rates:
    """What evaluations look like: most tasks always pass, some never do, some are in between."""
    kind = rng.random(m)
    return np.where(kind < 0.6, 1.0, np.where(kind < 0.85, rng.random(m), 0.0))


POPULATIONS = (
    Population("every task 0.5", 0.5, lambda rng, m: np.full(m, 0.5)),
    Population("every task 0.9", 0.9, lambda rng, m: np.full(m, 0.9)),
    Population("evenly spread", 0.5, lambda rng, m: rng.random(m)),
    Population("mostly at the ends", 0.5, lambda rng, m: rng.beta(0.5, 0.5, m)),
    Population("mostly good", 0.8, lambda rng, m: rng.beta(8, 2, m)),
    Population("saturated, learning, hopeless", 0.725, _mixed),
    Population("always or never", 0.8, lambda rng, m: (rng.random(m) < 0.8) * 1.0),
)


RARE_HOPELESS = Population(
    "0.97, one in ten at 0.02", 0.9 * 0.97 + 0.1 * 0.02, lambda rng, m: np.where(rng.random(m) < 0.9, 0.97, 0.02)
)
"""The hard case for every method that looks at a sample of tasks: few of them may hold none of the rare bad ones."""


class Change(NamedTuple):
    """How a second run's rates come from the first one's; `mean` is the mean change over all tasks."""

    name: str
    mean: float
    draw: Callable[[Rng, int], tuple[Rates, Rates]]


def _same(population: Population) -> Callable[[Rng, int], tuple[Rates, Rates]]:
    def draw(rng: Rng, m: int) -> tuple[Rates, Rates]:
        rates = population.draw(rng, m)
        return rates, rates

    return draw


def _scaled(rng: Rng, m: int) -> tuple[Rates, Rates]:
    rates = rng.random(m)
    return rates, 0.8 * rates


def _shifted(rng: Rng, m: int) -> tuple[Rates, Rates]:
    rates = rng.random(m)
    # Each task moves towards a rate of its own, up or down alike.
    return rates, 0.7 * rates + 0.3 * rng.random(m)


def _rare(rng: Rng, m: int) -> tuple[Rates, Rates]:
    rates = np.full(m, 0.9)
    return rates, np.where(rng.random(m) < 0.1, 0.1, rates)


CHANGES = (
    *(Change(f"nothing, {one.name}", 0.0, _same(one)) for one in POPULATIONS[:6]),
    Change("every task loses a fifth", -0.1, _scaled),
    Change("every task moves its own way", 0.0, _shifted),
)

RARE_BREAKS = Change("a tenth of the tasks breaks", -0.08, _rare)
"""Few tasks carry the whole change: the hard case for every method that looks at a sample of tasks."""


def coverage_of_wilson(n: int, steps: int = 2000) -> tuple[float, float]:
    """Mean and least coverage of Wilson's interval over an even grid of rates; exact, nothing is drawn."""
    from scipy.stats import binom

    rates = (np.arange(steps) + 0.5) / steps
    limits = np.array([interval_of(passed, n) for passed in range(n + 1)])
    chances = binom.pmf(np.arange(n + 1)[:, None], n, rates)
    covered = (chances * ((limits[:, :1] <= rates) & (rates <= limits[:, 1:]))).sum(axis=0)
    return float(covered.mean()), float(covered.min())


def interval_of(passed: int, n: int) -> Interval:
    interval = wilson(passed, n)
    assert interval is not None
    return interval


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low - ROUNDING <= truth <= interval.high + ROUNDING


def coverage_of_clustered(
    population: Population, m: int, k: int, rounds: int, seed: int, confidence: float = 0.95
) -> float:
    """How often the overall interval of `m` tasks with `k` attempts holds the rate over all tasks there are."""
    rng = np.random.default_rng(seed)
    z = z_point(confidence)
    inside = 0
    for _ in range(rounds):
        passed = rng.binomial(k, population.draw(rng, m)).tolist()
        inside += holds(clustered([(one, k) for one in passed], z), population.mean)
    return inside / rounds


def coverage_of_pooled(rates: Rates, k: int, rounds: int, seed: int) -> float:
    """How often the interval for exactly these tasks holds their mean rate, when they are run again and again."""
    rng = np.random.default_rng(seed)
    m = len(rates)
    return (
        sum(holds(wilson(int(rng.binomial(k, rates).sum()), m * k), float(np.mean(rates))) for _ in range(rounds))
        / rounds
    )


class DeltaCoverage(NamedTuple):
    like_these: float
    wrong_verdicts: float
    """Share of rounds in which a change was claimed although there was none, or of the wrong sign."""


def coverage_of_delta(
    change: Change, m: int, k: int, rounds: int, seed: int, k_old: int | None = None
) -> DeltaCoverage:
    """How often the overall interval of the paired delta holds the true mean change."""
    rng = np.random.default_rng(seed)
    before = k_old or k
    inside = wrong = 0
    for _ in range(rounds):
        old_rates, new_rates = change.draw(rng, m)
        old, new = rng.binomial(before, old_rates).tolist(), rng.binomial(k, new_rates).tolist()
        found = overall_delta([(Count(a, before), Count(b, k)) for a, b in zip(old, new, strict=True)])
        inside += holds(found.interval, change.mean)
        if found.interval is not None:
            claimed = (found.interval.low > 0) - (found.interval.high < 0)
            wrong += bool(claimed) and claimed * change.mean <= 0
    return DeltaCoverage(inside / rounds, wrong / rounds)


class Discoveries(NamedTuple):
    false_rate: float
    """The mean share of wrong findings among all findings of a comparison."""
    any_false: float
    """Share of comparisons with at least one wrong finding."""
    power: float
    """The share of the truly changed tasks that were found."""


def discoveries(m: int, k: int, changed: float, rounds: int, seed: int, k_old: int | None = None) -> Discoveries:
    """Per-task verdicts on comparisons in which the share `changed` of the tasks lost six tenths of its rate."""
    rng = np.random.default_rng(seed)
    before = k_old or k
    rates, any_false, found_true, true = [], 0, 0, 0
    for _ in range(rounds):
        old_rates = _mixed(rng, m)
        broken = (rng.random(m) < changed) & (old_rates > 0)
        new_rates = np.where(broken, 0.4 * old_rates, old_rates)
        old, new = rng.binomial(before, old_rates).tolist(), rng.binomial(k, new_rates).tolist()
        told = compare_counts(
            {f"t{i}": Count(passed, before) for i, passed in enumerate(old)},
            {f"t{i}": Count(passed, k) for i, passed in enumerate(new)},
            env_name="simulated",
            policy_changed=False,
        )
        moved = [one.verdict in (Verdict.improved, Verdict.regressed) for one in told.tasks]
        right = [one.verdict is Verdict.regressed and bool(broken[i]) for i, one in enumerate(told.tasks)]
        false = sum(moved) - sum(right)
        rates.append(false / max(1, sum(moved)))
        any_false += false > 0
        found_true += sum(right)
        true += int(broken.sum())
    return Discoveries(sum(rates) / rounds, any_false / rounds, found_true / true if true else 0.0)
