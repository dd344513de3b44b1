"""Intervals of pass rates in closed form. Only the standard library is used: the live grid draws them as it goes."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from rollgrid.analysis.beta import beta_quantile

__all__ = ["T95", "Z95", "Interval", "clustered", "newcombe", "t95", "wilson"]

Z95 = 1.959963984540054
"""The two-sided 95 % point of the normal distribution."""

T95 = (
    *(12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139),
    *(2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963),
    *(2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272),
)
"""The two-sided 95 % points of Student's distribution for 1 to 30 degrees of freedom."""


class Interval(NamedTuple):
    low: float
    high: float


def t95(freedom: int) -> float:
    """The two-sided 95 % point of Student's distribution, for at least one degree of freedom.

    A table up to 30, then three terms of its expansion about the normal point, right to six digits (M. Abramowitz and
    I. A. Stegun, Handbook of Mathematical Functions, 1964, 26.7.5). Here rather than from scipy, since the live grid
    needs it and importing scipy takes longer than drawing the screen.
    """
    if freedom <= len(T95):
        return T95[freedom - 1]
    z = Z95
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def wilson(passed: float, n: float, z: float = Z95) -> Interval | None:
    """Wilson's score interval of a share, by default at 95 %; None for no observation.

    Assumes independent attempts with one probability of passing, which is how attempts of one task are made. Counts may
    be effective ones that are no whole numbers. E. B. Wilson, JASA 22 (1927); recommended for small n by Brown, Cai
    and DasGupta, Statistical Science 16 (2001). Its coverage is right on average over the probability; at a given one
    it swings around 95 %, since counts are whole numbers (docs/statistics.md has figures).
    """
    if n <= 0:
        return None
    share = passed / n
    z2 = z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(max(0.0, share * (1 - share) / n) + z2 / (4 * n * n))
    low = 0.0 if passed <= 0 else max(0.0, centre - half)
    high = 1.0 if passed >= n else min(1.0, centre + half)
    return Interval(low, high)


def clustered(counts: Iterable[tuple[int, int]], z: float = Z95) -> Interval | None:
    """Interval of the pooled pass rate over tasks like these; None when nothing is scored.

    `counts` are (passed, scored) by task; `z` is the normal point of the wanted confidence, 95 % by default.

    Assumes that the tasks are a random sample of the tasks one cares about, and nothing of how their rates are spread:
    a task's observed rate is a number between 0 and 1, whatever its attempts have in common, and the interval is one
    for the mean of such numbers. The uncertainty about the mean is that of the Bayesian bootstrap (D. B. Rubin, Annals
    of Statistics 9, 1981) with a task more that was not seen, of the worst kind (rate 0) for the lower end and of the
    best for the upper (N. Gaffke, Mathematical Methods of Statistics 14, 2005; E. Learned-Miller and P. Thomas,
    arXiv:1905.06208). Without that task some tasks that all look alike would claim that no other kind exists. It weighs
    half a task, as in H. Jeffreys' interval of a share, which this is when each task always passes or never does. The
    distribution is taken as the beta distribution with its mean and variance. Tasks with more scored attempts weigh
    more, as they do in the rate; their effective number is L. Kish's (Survey Sampling, 1965).

    A single task says nothing about others; of that Wilson's interval is given. The interval is never narrower than
    Wilson's of all attempts, which answers for exactly these tasks.
    """
    pairs = [(passed, scored) for passed, scored in counts if scored]
    n = sum(scored for _, scored in pairs)
    if not n:
        return None
    total = sum(passed for passed, _ in pairs)
    pooled = wilson(total, n, z)
    if len(pairs) == 1 or pooled is None:
        return pooled
    share = total / n
    square = math.fsum(passed * passed / scored for passed, scored in pairs) / n
    m = n * n / sum(scored * scored for _, scored in pairs)
    chance = math.erfc(z / math.sqrt(2)) / 2
    low, high = _lower(share, square, m, chance), 1 - _lower(1 - share, 1 - 2 * share + square, m, chance)
    return Interval(min(low, pooled.low), max(high, pooled.high))


def _lower(mean: float, square: float, m: float, chance: float) -> float:
    """The quantile of the mean of `m` tasks with this mean and mean square, and half a task of rate 0."""
    if mean <= 0:
        return 0.0
    mass = m + 0.5
    centre = mean * m / mass
    variance = (square * m / mass - centre * centre) / (mass + 1)
    size = centre * (1 - centre) / variance - 1
    return beta_quantile(centre * size, (1 - centre) * size, chance)


def newcombe(old: float, around_old: Interval, new: float, around_new: Interval) -> Interval:
    """Interval of the difference `new - old` of two independent shares from the interval of each.

    R. G. Newcombe's hybrid score interval: Statistics in Medicine 17 (1998), 873-890, method 10 when both are Wilson's.
    Never empty and never outside [-1, 1], also for shares of 0 and 1.
    """
    delta = new - old
    low = delta - math.hypot(new - around_new.low, around_old.high - old)
    high = delta + math.hypot(around_new.high - new, old - around_old.low)
    return Interval(max(-1.0, low), min(1.0, high))
