"""Intervals of pass rates in closed form. Only the standard library is used: the live grid draws them as it goes."""

import math
from collections.abc import Iterable
from typing import NamedTuple

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


def clustered(counts: Iterable[tuple[int, int]], z: float = Z95, t: float | None = None) -> Interval | None:
    """Interval of the pooled pass rate over tasks like these; None when nothing is scored.

    `counts` are (passed, scored) by task; `z` and `t` are the points of the wanted confidence, 95 % by default, `t`
    with one degree of freedom less than there are tasks.

    Assumes that the tasks are a random sample of the tasks one cares about and that attempts of one task resemble each
    other. Wilson's interval at an effective sample size: the share's binomial variance over its variance between tasks
    (linearised ratio estimator: L. Kish, Survey Sampling, 1965), times (z/t)² for having estimated that variance from
    few tasks (E. L. Korn and B. I. Graubard, Survey Methodology 24, 1998). It is kept between the number of tasks (all
    attempts of a task alike) and the number of attempts (no likeness at all). When everything passed or everything
    failed nothing shows how alike attempts are, and the number of tasks is taken, the careful end: five tasks that
    always pass say little about a sixth.
    """
    pairs = [(passed, scored) for passed, scored in counts if scored]
    n = sum(scored for _, scored in pairs)
    if not n:
        return None
    total = sum(passed for passed, _ in pairs)
    m = len(pairs)
    if m == 1:
        return wilson(total, n, z)
    share = total / n
    fewest = n * n / sum(scored * scored for _, scored in pairs)
    effective = fewest
    if 0 < total < n:
        spread = sum((passed - share * scored) ** 2 for passed, scored in pairs)
        variance = m / (m - 1) * spread / (n * n)
        ratio = (z / (t95(m - 1) if t is None else t)) ** 2
        # A variance of nearly zero is rounding: all tasks have one rate.
        known = share * (1 - share) / variance * ratio if variance > 1e-18 else math.inf
        effective = min(float(n), max(fewest, known))
    return wilson(share * effective if total < n else effective, effective, z)


def newcombe(old: float, around_old: Interval, new: float, around_new: Interval) -> Interval:
    """Interval of the difference `new - old` of two independent shares from the interval of each.

    R. G. Newcombe's hybrid score interval: Statistics in Medicine 17 (1998), 873-890, method 10 when both are Wilson's.
    Never empty and never outside [-1, 1], also for shares of 0 and 1.
    """
    delta = new - old
    low = delta - math.hypot(new - around_new.low, around_old.high - old)
    high = delta + math.hypot(around_new.high - new, old - around_old.low)
    return Interval(max(-1.0, low), min(1.0, high))
