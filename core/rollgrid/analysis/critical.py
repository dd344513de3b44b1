"""Critical points of the distributions that the intervals use, for any confidence."""

import importlib
from statistics import NormalDist
from typing import Any

from rollgrid.analysis.wilson import Z95, t95

__all__ = ["checked_confidence", "false_discovery", "t_point", "z_point"]


def checked_confidence(confidence: float) -> float:
    """`confidence` as it is. Raises `ValueError` unless it lies strictly between 0 and 1: 0.95, not 95."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")
    return confidence


def z_point(confidence: float) -> float:
    """The two-sided point of the normal distribution."""
    return Z95 if confidence == 0.95 else NormalDist().inv_cdf((1 + checked_confidence(confidence)) / 2)


def t_point(confidence: float, freedom: int) -> float:
    """The two-sided point of Student's distribution (scipy, except at 95 %, where a table spares the import)."""
    if confidence == 0.95:
        return t95(freedom)
    special: Any = importlib.import_module("scipy.special")
    return float(special.stdtrit(freedom, (1 + checked_confidence(confidence)) / 2))


def false_discovery(p_values: list[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, in the order given.

    Calling everything with an adjusted value of at most 0.05 a finding keeps the expected share of wrong findings at
    5 % or less, for tests that are independent or positively dependent. Y. Benjamini and Y. Hochberg, JRSS B 57 (1995).
    The figures are those of `scipy.stats.false_discovery_control`, whose import takes longer than a comparison.
    """
    n = len(p_values)
    adjusted = list(p_values)
    least = 1.0
    # From the largest p-value down: none may be above that of a larger one.
    for rank, place in zip(range(n, 0, -1), sorted(range(n), key=p_values.__getitem__, reverse=True), strict=True):
        least = min(least, p_values[place] * (n / rank))
        adjusted[place] = least
    return adjusted
