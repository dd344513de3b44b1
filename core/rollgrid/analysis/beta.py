"""Quantiles of the beta distribution. Only the standard library is used: the live grid draws intervals as it goes."""

import math
from statistics import NormalDist

__all__ = ["beta_quantile"]

_CLOSE = 1e-9
_TINY = 1e-300


def beta_quantile(a: float, b: float, chance: float) -> float:
    """The value that a beta variable of shape `a`, `b` stays below with this chance; both shapes above 0.

    Newton's method on the regularised incomplete beta function, kept within brackets; right to eight digits (as
    `scipy.special.betaincinv`, whose import takes longer than drawing the screen).
    """
    if chance <= 0 or chance >= 1:
        return 0.0 if chance <= 0 else 1.0
    low, high = 0.0, 1.0
    x = _first_guess(a, b, chance)
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(200):
        below = _below(a, b, x, log_scale) - chance
        low, high = (x, high) if below < 0 else (low, x)
        if high - low < _CLOSE * max(low, _CLOSE):
            break
        slope = math.exp(log_scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        step = below / slope if slope > _TINY else math.inf
        if abs(step) < _CLOSE * x:
            return x - step
        x -= step
        if not low < x < high:
            # Near 0 the scale of what is looked for is not known, so half of the way is half of the digits.
            x = math.sqrt(low * high) if low > 0 and high < 1e-3 else (low + high) / 2
    return x


def _first_guess(a: float, b: float, chance: float) -> float:
    """From the normal distribution with the same mean and variance, within bounds."""
    mean = a / (a + b)
    spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
    return min(0.999, max(0.001, mean + NormalDist().inv_cdf(chance) * spread))


def _below(a: float, b: float, x: float, log_scale: float) -> float:
    """The chance to stay below `x`: its continued fraction (W. J. Lentz's method), where that converges quickly."""
    front = math.exp(log_scale + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            c = 1 + numerator / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return value
