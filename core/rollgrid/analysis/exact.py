# numpy's stubs are partly unknown to pyright, other parts of them in each version.
# pyright: reportUnknownMemberType=false

"""The exact test of one task's two pass counts."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["LARGEST", "exact_p"]

LARGEST = 200
"""Attempts on a side up to which Boschloo's test is computed; beyond, Fisher's is."""

_COARSE = 128
_FINE = 33
_TIE = 1 + 1e-9
"""Tables whose Fisher p-values differ by less than this factor are equal, and differ by rounding only."""


def exact_p(passed_a: int, n_a: int, passed_b: int, n_b: int) -> float:
    """The two-sided p-value of Boschloo's test that both sides have one probability of passing.

    Assumes independent attempts; nothing is approximated, so it holds for any number of attempts. Boschloo's test
    orders the tables by Fisher's one-sided p-value and takes the largest probability that any common rate gives to
    tables at least as extreme; the smaller of the two directions counts twice (R. D. Boschloo, Statistica Neerlandica
    24, 1970; also `scipy.stats.boschloo_exact`).

    Fisher's test also keeps its level, but it pretends that the total of passes was fixed beforehand, which is not how
    attempts are made, and pays for that with power: 8 of 8 against 4 of 8 has p = 0.077 by Fisher and 0.028 by
    Boschloo, never the other way round. scipy's function searches for the common rate anew for each table, some tens of
    milliseconds each; here the distribution over all tables of two group sizes is kept and a thousand different tables
    take about a second. Results are kept, since most tasks of a run share few tables. With more than `LARGEST` attempts
    on a side, where the two tests hardly differ and the tables are many, Fisher's p-value is given.
    """
    for passed, n in ((passed_a, n_a), (passed_b, n_b)):
        if not 0 <= passed <= n or n < 1:
            raise ValueError(f"passed must lie in 0..n with n of at least 1, got {passed} of {n}")
    # Which side comes first, and whether passes or failures are counted, changes nothing.
    low, high = sorted(((n_a, passed_a), (n_b, passed_b)))
    turned = sorted(((n_a, n_a - passed_a), (n_b, n_b - passed_b)))
    (n1, x1), (n2, x2) = min((low, high), (turned[0], turned[1]))
    return _kept(x1, n1, x2, n2)


@lru_cache(maxsize=1 << 17)
def _kept(x1: int, n1: int, x2: int, n2: int) -> float:
    if x1 * n2 == x2 * n1:
        return 1.0
    if x1 * n2 > x2 * n1:
        # Count failures instead, so that the first side is always the lower one.
        x1, x2 = n1 - x1, n2 - x2
    if max(n1, n2) > LARGEST:
        return min(1.0, 2 * _fisher_below(x1, n1, x2, n2))
    return min(1.0, 2 * _boschloo_below(x1, n1, x2, n2))


def _fisher_below(x1: int, n1: int, x2: int, n2: int) -> float:
    """The hypergeometric chance of at most `x1` of the passes on the first side."""
    total = x1 + x2
    ways = [math.comb(n1, x) * math.comb(n2, total - x) for x in range(max(0, total - n2), x1 + 1)]
    return sum(ways) / math.comb(n1 + n2, total)


def _boschloo_below(x1: int, n1: int, x2: int, n2: int) -> float:
    import numpy as np

    statistic = _fisher_table(n1, n2)
    # The more pass on the second side, the more extreme; so of each row a tail is, and its chance is looked up. (A
    # product of matrices says the same, but then threads of the linear algebra spin for every table.)
    first = n2 + 1 - np.count_nonzero(statistic <= statistic[x1, x2] * _TIE, axis=1)
    coarse = _angles()
    chances = (_on_grid(n1) * _tails_on_grid(n2)[first]).sum(axis=0)
    best = int(chances.argmax())
    low, high = float(coarse[max(0, best - 1)]), float(coarse[min(_COARSE - 1, best + 1)])
    near = np.linspace(low, high, _FINE)
    finer = (_binomial(n1, near) * _tails(_binomial(n2, near))[first]).sum(axis=0)
    return max(float(chances[best]), float(finer.max()))


@lru_cache(maxsize=1)
def _angles() -> "Floats":
    """Common rates p as angles with p = sin²(angle), on which every binomial is about equally wide."""
    import numpy as np

    return np.linspace(0, math.pi / 2, _COARSE)


@lru_cache(maxsize=256)
def _on_grid(n: int) -> "Floats":
    return _binomial(n, _angles())


@lru_cache(maxsize=256)
def _tails_on_grid(n: int) -> "Floats":
    return _tails(_on_grid(n))


def _tails(chances: "Floats") -> "Floats":
    """Chances of at least 0..n + 1 passes (rows), of those of 0..n."""
    import numpy as np

    return np.vstack((np.cumsum(chances[::-1], axis=0)[::-1], np.zeros((1, chances.shape[1]))))


def _binomial(n: int, angles: "Floats") -> "Floats":
    """Chances of 0..n passes (rows) at each common rate (columns)."""
    import numpy as np

    passes = np.arange(n + 1, dtype=np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # The rates 0 and 1 give 0 * log 0, which is 0 here.
        ones = np.where(passes > 0, passes * 2 * np.log(np.sin(angles)), 0.0)
        rest = np.where(passes < n, (n - passes) * 2 * np.log(np.cos(angles)), 0.0)
    return np.exp(_log_ways(n)[:, None] + ones + rest)


@lru_cache(maxsize=512)
def _log_ways(n: int) -> "Floats":
    """Logarithms of the binomial coefficients n over 0..n."""
    import numpy as np

    factorials = np.array([math.lgamma(x + 1) for x in range(n + 1)])
    return factorials[n] - factorials - factorials[::-1]


@lru_cache(maxsize=128)
def _fisher_table(n1: int, n2: int) -> "Floats":
    """Fisher's one-sided p-value, the first side lower, of every table of two group sizes."""
    import numpy as np

    rows = np.arange(n1 + 1)[:, None]
    columns = np.arange(n2 + 1)[None, :]
    chance = np.exp(_log_ways(n1)[:, None] + _log_ways(n2)[None, :] - _log_ways(n1 + n2)[rows + columns])
    # Tables of one total lie on a diagonal: slant them into columns, add up, and slant back.
    slanted: Any = np.zeros((n1 + 1, n1 + n2 + 1))
    slanted[rows, rows + columns] = chance
    return np.cumsum(slanted, axis=0)[rows, rows + columns]
