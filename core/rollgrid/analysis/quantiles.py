"""Quantiles of what attempts took and cost."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["LEVELS", "Quantiles", "quantiles"]

LEVELS = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Median, 90th and 99th percentile of `n` measured values, their mean and their sum.

    Of `n_censored` of them only a lower bound is known: they were cut off (a timeout says that the attempt would have
    taken longer). `bounds` says of each level whether the quantile touches such a value and is itself a lower bound.
    """

    n: int
    n_censored: int
    values: tuple[float, ...]
    bounds: tuple[bool, ...]
    mean: float
    total: float

    @property
    def median(self) -> float:
        return self.values[0]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        named = {f"p{level * 100:g}": value for level, value in zip(LEVELS, self.values, strict=True)}
        cut = [f"p{level * 100:g}" for level, bound in zip(LEVELS, self.bounds, strict=True) if bound]
        return {
            "n": self.n,
            "n_censored": self.n_censored,
            **named,
            "lower_bounds": cut,
            "mean": self.mean,
            "total": self.total,
        }


def quantiles(values: Iterable[float], censored: Iterable[float] = ()) -> Quantiles | None:
    """Quantiles of `values` and of the lower bounds `censored` together; None for no value.

    Linear interpolation between order statistics (type 7 of R. J. Hyndman and Y. Fan, The American Statistician 50,
    1996; what spreadsheets and numpy do). Assumes nothing about the distribution. A cut-off value counts as what it had
    reached, which leaves every quantile below it right as long as nothing was cut off earlier than the value there.
    """
    marked = sorted([*((value, False) for value in values), *((value, True) for value in censored)])
    if not marked:
        return None
    found: list[float] = []
    bounds: list[bool] = []
    for level in LEVELS:
        value, touched = _at(marked, level)
        found.append(value)
        bounds.append(touched)
    total = math.fsum(value for value, _ in marked)
    n = len(marked)
    return Quantiles(n, sum(cut for _, cut in marked), tuple(found), tuple(bounds), total / n, total)


def _at(marked: Sequence[tuple[float, bool]], level: float) -> tuple[float, bool]:
    place = (len(marked) - 1) * level
    below = math.floor(place)
    share = place - below
    value, cut = marked[below]
    if share == 0:
        return value, cut or any(one for _, one in marked[:below])
    above, cut_above = marked[below + 1]
    return value + (above - value) * share, cut_above or any(one for _, one in marked[: below + 1])
