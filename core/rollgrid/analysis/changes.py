# numpy's stubs are partly unknown to pyright, other parts of them in each version.
# pyright: reportUnknownMemberType=false

"""Where a pass rate changed in a row of runs: an exact test for one task, one over all tasks, and segments. Pure.

A change point is where the best split of the runs into earlier and later ones is better than chance explains. Looking
for the best split is looking many times, so the p-value is that of the *maximum* over all splits; what is found is
split further in the same way (binary segmentation: A. J. Scott and M. Knott, Biometrics 30, 1974). Over all tasks also
a stretch of runs in the middle is looked for.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rollgrid.analysis.critical import false_discovery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "Counts",
    "Segment",
    "Split",
    "best_split",
    "likely_places",
    "overall_changes",
    "overall_segment",
    "task_changes",
]

Counts = Sequence[tuple[int, int]]
"""Passed and scored in each run, in order of time."""

_TIE = 1e-9
_DRAWS = 10_000
_BATCH = 1000
_SEED = 20_260_101


class Split(NamedTuple):
    """The runs from `at` on differ from those before. `p_value` is of the best split, whichever it is."""

    at: int
    p_value: float


class Segment(NamedTuple):
    """The runs from `low` to before `high` differ from the others. `p_value` is of the best one, whichever it is."""

    low: int
    high: int
    p_value: float


def best_split(counts: Counts) -> Split | None:
    """The split of one task's runs that Fisher's exact test finds most remarkable; None where there is none to try.

    Assumes that attempts are independent and, if nothing changed, pass with one probability. Given the total of passes
    the probability itself drops out, and every assignment of passes to attempts is equally likely. The statistic is the
    smallest two-sided Fisher p-value over all splits, and its distribution is computed, not approximated: the passes so
    far are a Markov chain, which is followed from run to run without those paths that have been as remarkable at any
    split. (Maximally selected statistics: R. Miller and D. Siegmund, Biometrics 38, 1982; exact ones: J. A. Koziol,
    Biometrics 47, 1991.) So the p-value holds for one attempt a run as for a hundred, and for runs of any sizes.
    Runs in which nothing was scored count for nothing.
    """
    kept = [(index, passed, scored) for index, (passed, scored) in enumerate(counts) if scored]
    if len(kept) < 2:
        return None
    at, p_value = _scan(tuple((passed, scored) for _, passed, scored in kept))
    return Split(kept[at][0], p_value)


@lru_cache(maxsize=1 << 14)
def _scan(counts: tuple[tuple[int, int], ...]) -> tuple[int, float]:
    import numpy as np

    n, passed = sum(scored for _, scored in counts), sum(one for one, _ in counts)
    if passed in (0, n):
        return 1, 1.0
    fishers: list[Floats] = []
    seen: list[float] = []
    so_far = gone = 0
    for one, scored in counts[:-1]:
        so_far, gone = so_far + one, gone + scored
        fisher = _two_sided(n, passed, gone)
        fishers.append(fisher)
        seen.append(float(fisher[so_far]))
    observed = min(seen)
    # The first of equal ones; equal up to rounding.
    at = next(index for index, value in enumerate(seen) if value <= observed + _TIE) + 1
    rate = passed / n
    alive: Floats = np.zeros(passed + 1)
    alive[0] = 1.0
    absorbed = 0.0
    left = n
    for (_, scored), fisher in zip(counts[:-1], fishers, strict=True):
        alive = np.convolve(alive, _binomial(scored, rate))[: passed + 1]
        left -= scored
        # From here a path may go anywhere, as long as it comes to the total.
        rest = _binomial(left, rate)
        to_come = np.zeros(passed + 1)
        reach = min(left, passed)
        to_come[passed - reach :] = rest[: reach + 1][::-1]
        crossed = fisher <= observed + _TIE
        absorbed += float((alive * to_come)[crossed].sum())
        alive[crossed] = 0.0
    return at, min(1.0, absorbed / float(_binomial(n, rate)[passed]))


@lru_cache(maxsize=1 << 10)
def _binomial(n: int, rate: float) -> "Floats":
    """Chances of 0..n passes."""
    import numpy as np

    if rate in (0.0, 1.0):
        only = np.zeros(n + 1)
        only[round(rate * n)] = 1.0
        return only
    places = np.arange(n + 1)
    logs = _log_factorials(n)
    return np.exp(logs[n] - logs - logs[::-1] + places * math.log(rate) + (n - places) * math.log1p(-rate))


@lru_cache(maxsize=1 << 10)
def _log_factorials(n: int) -> "Floats":
    import numpy as np

    return np.array([math.lgamma(x + 1) for x in range(n + 1)])


@lru_cache(maxsize=1 << 12)
def _two_sided(n: int, passed: int, gone: int) -> "Floats":
    """The logarithm of Fisher's p-value, the smaller tail doubled, for 0..passed of the passes among the first `gone`
    of n attempts. Impossible numbers have a p-value of 1, which nothing falls below.
    """
    import numpy as np

    logs = _log_factorials(n)
    low, high = max(0, passed - (n - gone)), min(passed, gone)
    x = np.arange(low, high + 1)
    ways = logs[gone] - logs[x] - logs[gone - x] + logs[n - gone] - logs[passed - x] - logs[n - gone - passed + x]
    chances = ways - (logs[n] - logs[passed] - logs[n - passed])
    below = np.logaddexp.accumulate(chances)
    above = np.logaddexp.accumulate(chances[::-1])[::-1]
    fisher = np.zeros(passed + 1)
    fisher[low : high + 1] = np.minimum(0.0, math.log(2) + np.minimum(below, above))
    return fisher


def overall_segment(tasks: Sequence[Counts]) -> Segment | None:
    """The runs in a row in which the passes of all tasks together are most unlike those of the other runs.

    A rate that falls and stays low is a segment that lasts to the end; one that falls and is put right lies in the
    middle, which a search for a single split might miss (circular binary segmentation: A. B. Olshen and others,
    Biostatistics 5, 2004). Each task is compared with itself, so that it does not matter how hard it is or which runs
    have it: the statistic is the number of passes in the segment less the number that the task's own total makes
    likely, summed over tasks and divided by its standard deviation (the score statistic of N. Mantel and W. Haenszel,
    1959, with the tasks as strata), the largest over all segments. Its p-value takes the sums as jointly normal with
    their exact covariances, a good approximation for a sum over some dozens of attempts, and draws them 10 000 times
    with one seed, so that the same runs always give the same number. For a single task it is that of `best_split`,
    exact. None where there is nothing to try.

    Assumes that tasks are independent. It answers for these tasks; it finds what many of them share, also when none of
    them changed by more than chance alone.
    """
    import numpy as np

    runs = max((len(counts) for counts in tasks), default=0)
    if len(tasks) == 1:
        split = best_split(tasks[0])
        return None if split is None else Segment(split.at, runs, split.p_value)
    if runs < 2:
        return None
    # Of the passes before each run, from none (before the first) to all (after the last).
    shift: Floats = np.zeros(runs + 1)
    covariance: Floats = np.zeros((runs + 1, runs + 1))
    for counts in tasks:
        passed = sum(one for one, _ in counts)
        n = sum(scored for _, scored in counts)
        if not 0 < passed < n:
            continue
        gone = np.array([0, *itertools.accumulate(scored for _, scored in counts)], dtype=np.float64)
        shift += np.array([0, *itertools.accumulate(one for one, _ in counts)]) - gone * passed / n
        first, last = np.minimum(gone[:, None], gone[None, :]), np.maximum(gone[:, None], gone[None, :])
        covariance += first * (n - last) * passed * (n - passed) / (n * n * (n - 1))
    low, high = np.triu_indices(runs + 1, 1)
    spread = np.sqrt(covariance[low, low] + covariance[high, high] - 2 * covariance[low, high])
    possible = spread > 1e-9
    # What is left when the segment starts with the first run is one that ends with the last.
    possible &= low > 0
    if not possible.any():
        return None
    low, high, spread = low[possible], high[possible], spread[possible]
    heights = np.abs(shift[high] - shift[low]) / spread
    best = int(heights.argmax())
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))).T
    random = np.random.default_rng(_SEED)
    beaten = 0
    for _ in range(_DRAWS // _BATCH):
        draws = random.standard_normal((_BATCH, runs + 1)) @ root
        drawn = np.abs(draws[:, high] - draws[:, low]) / spread
        beaten += int((drawn.max(axis=1) >= heights[best] - _TIE).sum())
    return Segment(int(low[best]), int(high[best]), (1 + beaten) / (1 + _DRAWS))


def task_changes(tasks: Sequence[Counts], level: float = 0.05) -> list[list[Split]]:
    """The change points of each task, in order of time; `p_value` is adjusted for the number of tasks looked at.

    All tasks are split once, with Benjamini and Hochberg's control of the false-discovery rate over them; the parts of
    those that changed are split again, with the same control over the parts, and so on. When nothing changed anywhere
    the chance of any finding is therefore at most `level`; otherwise at most that share of the findings of one round is
    wrong on average (D. Yekutieli, JASA 103, 2008, on such hierarchies).
    """
    found: list[list[Split]] = [[] for _ in tasks]
    open_parts = [(index, 0, len(counts)) for index, counts in enumerate(tasks)]
    while open_parts:
        splits = [_part(best_split, tasks[index], low, high) for index, low, high in open_parts]
        tried = [(place, split) for place, split in zip(open_parts, splits, strict=True) if split is not None]
        adjusted = false_discovery([split.p_value for _, split in tried])
        open_parts = list[tuple[int, int, int]]()
        for ((index, low, high), split), q in zip(tried, adjusted, strict=True):
            if q <= level:
                found[index].append(Split(split.at, q))
                open_parts += [(index, low, split.at), (index, split.at, high)]
    return [sorted(one) for one in found]


def overall_changes(tasks: Sequence[Counts], level: float = 0.05) -> list[Split]:
    """The change points of all tasks together, in order of time.

    The parts that a segment leaves are looked at again when it was found, with the level of the whole shared out among
    them, so that the chance of any finding is at most `level` when nothing changed.
    """
    found: list[Split] = []
    runs = max((len(counts) for counts in tasks), default=0)
    open_parts = [(0, runs, level)]
    while open_parts:
        low, high, allowed = open_parts.pop()
        segment = overall_segment([counts[low:high] for counts in tasks])
        if segment is None or segment.p_value > allowed:
            continue
        edges = [low, low + segment.low, *([low + segment.high] if low + segment.high < high else []), high]
        found += [Split(at, segment.p_value) for at in edges[1:-1]]
        open_parts += [(*part, allowed / (len(edges) - 1)) for part in itertools.pairwise(edges)]
    return sorted(found)


def likely_places(tasks: Sequence[Counts], low: int, high: int) -> tuple[int, int]:
    """The first and the last place at which the one change among the runs `low` to `high` may well have been.

    Those whose likelihood, with a rate of its own for each task on either side, is at least a seventh of the best one's
    (1.92 less in its logarithm): about 95 % confidence (K. J. Worsley, Biometrika 73, 1986). With few attempts and a
    small change that is several runs.
    """
    heights = {
        at: sum(_log_likelihood(counts[low:at]) + _log_likelihood(counts[at:high]) for counts in tasks)
        for at in range(low + 1, high)
    }
    best = max(heights.values())
    likely = [at for at, height in heights.items() if height >= best - 1.92]
    return likely[0], likely[-1]


def _log_likelihood(counts: Counts) -> float:
    passed, scored = sum(one for one, _ in counts), sum(n for _, n in counts)
    if passed in (0, scored):
        return 0.0
    return passed * math.log(passed / scored) + (scored - passed) * math.log(1 - passed / scored)


def _part(search: Callable[[Counts], Split | None], counts: Counts, low: int, high: int) -> Split | None:
    split = search(counts[low:high])
    return None if split is None else Split(low + split.at, split.p_value)
