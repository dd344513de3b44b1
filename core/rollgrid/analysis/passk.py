"""pass@j and pass^j: what j attempts at a task would give, estimated from n."""

from functools import lru_cache
from math import comb

__all__ = ["pass_at", "pass_hat"]


@lru_cache(maxsize=65536)
def pass_at(passed: int, n: int, j: int) -> float:
    """The chance that at least one of `j` attempts passes: pass@j.

    Unbiased for any probability of passing: the share of the j-subsets of the n scored attempts that hold a passed one,
    1 - C(n - passed, j) / C(n, j). Assumes independent attempts of one task; needs 1 <= j <= n. M. Chen et al.,
    Evaluating Large Language Models Trained on Code (2021).
    """
    _check(passed, n, j)
    # Whole numbers until the division, so that no rounding builds up at large n.
    return (comb(n, j) - comb(n - passed, j)) / comb(n, j)


@lru_cache(maxsize=65536)
def pass_hat(passed: int, n: int, j: int) -> float:
    """The chance that all of `j` attempts pass: pass^j, which tells how dependable an agent is.

    Unbiased for any probability of passing: the share of the j-subsets of the n scored attempts in which all passed,
    C(passed, j) / C(n, j). Assumes independent attempts of one task; needs 1 <= j <= n. S. Yao et al.,
    tau-bench (2024).
    """
    _check(passed, n, j)
    return comb(passed, j) / comb(n, j)


def _check(passed: int, n: int, j: int) -> None:
    if not 0 <= passed <= n:
        raise ValueError(f"passed must lie in 0..{n}, got {passed}")
    if not 1 <= j <= n:
        raise ValueError(f"j must lie in 1..{n}, the number of scored attempts, got {j}: more cannot be estimated")
