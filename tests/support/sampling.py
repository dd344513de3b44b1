"""Made-up tasks with known rates that are sampled until something is decided, beside a fixed number of attempts."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from rollgrid.analysis.exact import exact_p
from rollgrid.analysis.sequential import Claim, Question, ZoneQuestion
from rollgrid.analysis.sequential_change import ChangeQuestion
from rollgrid.analysis.wilson import newcombe, wilson

Rng = np.random.Generator
Rates = Any


class Walk(NamedTuple):
    """All that can happen to a task of one rate, added up exactly."""

    mean_attempts: float
    claims: dict[Claim, float]
    undecided: float


def walk(question: Question, rate: float, most: int) -> Walk:
    """Looks after every attempt, up to `most`: each path with its chance, nothing is drawn."""
    paths, claims, mean = {0: 1.0}, dict[Claim, float](), 0.0
    for n in range(1, most + 1):
        ahead: dict[int, float] = {}
        mean += sum(paths.values())
        for passed, weight in paths.items():
            for after, share in ((passed + 1, weight * rate), (passed, weight * (1 - rate))):
                if not share:
                    continue
                found = question.judge(after, n)
                if found.settled and found.claim is not None:
                    claims[found.claim] = claims.get(found.claim, 0.0) + share
                else:
                    ahead[after] = ahead.get(after, 0.0) + share
        paths = ahead
    return Walk(mean, claims, sum(paths.values()))


def true_zones(question: ZoneQuestion, rate: float) -> set[Claim]:
    """The claims that hold for this rate; one always does, and between the limits two."""
    found: set[Claim] = set()
    if rate > 1 - question.edge:
        found.add(Claim.saturated)
    if rate < question.edge:
        found.add(Claim.hopeless)
    if question.core < rate < 1 - question.core:
        found.add(Claim.learning)
    return found


def true_changes(question: ChangeQuestion, before: float, now: float) -> set[Claim]:
    found = {Claim.out_of_reach}
    if now < before:
        found.add(Claim.worse)
    if now > before:
        found.add(Claim.better)
    if now > before - question.delta:
        found.add(Claim.not_worse)
    if now < before + question.delta:
        found.add(Claim.not_better)
    if Claim.not_worse in found and Claim.not_better in found:
        found.add(Claim.same)
    return found


def wrong_share(told: Walk, true: set[Claim]) -> float:
    return sum(share for claim, share in told.claims.items() if claim not in true)


@lru_cache(maxsize=16)
def fixed_zone_k(question: ZoneQuestion) -> int:
    """The least number of attempts with which exact tests at the same level always settle a zone."""
    return next(k for k in range(5, 1000) if all(fixed_zones(question, passed, k) for passed in range(k + 1)))


def fixed_zones(question: ZoneQuestion, passed: int, k: int) -> set[Claim]:
    """What exact binomial tests of exactly `k` attempts say, looked at once."""
    alpha, found = question.alpha, set[Claim]()
    if binom.sf(passed - 1, k, 1 - question.edge) <= alpha:
        found.add(Claim.saturated)
    if binom.cdf(passed, k, question.edge) <= alpha:
        found.add(Claim.hopeless)
    if binom.cdf(passed, k, 1 - question.core) <= alpha and binom.sf(passed - 1, k, question.core) <= alpha:
        found.add(Claim.learning)
    return found


def fixed_changes(question: ChangeQuestion, passed: int, k: int) -> set[Claim]:
    """What Boschloo's test and Newcombe's interval of exactly `k` attempts say, looked at once."""
    a, n = question.baseline_passed, question.baseline_scored
    if exact_p(a, n, passed, k) <= question.alpha:
        return {Claim.worse if passed * n < a * k else Claim.better}
    old, new = wilson(a, n), wilson(passed, k)
    assert old is not None
    assert new is not None
    around = newcombe(a / n, old, passed / k, new)
    found: set[Claim] = set()
    if around.low > -question.delta:
        found.add(Claim.not_worse)
    if around.high < question.delta:
        found.add(Claim.not_better)
    return found | {Claim.same} if len(found) == 2 else found


class Mix(NamedTuple):
    """What tasks of an environment pass; `draw` gives rates of so many tasks."""

    name: str
    draw: Callable[[Rng, int], Rates]


def _mixed(saturated: float, learning: float) -> Callable[[Rng, int], Rates]:
    def draw(rng: Rng, m: int) -> Rates:
        kind = rng.random(m)
        return np.where(kind < saturated, 1.0, np.where(kind < saturated + learning, rng.random(m), 0.0))

    return draw


def _flaky(rng: Rng, m: int) -> Rates:
    """As above, but nothing is certain: saturated tasks fail once in fifty, hopeless ones pass once in fifty."""
    return 0.02 + 0.96 * _mixed(0.6, 0.25)(rng, m)


MIXES = (
    Mix("60 % saturated, 25 % learning, 15 % hopeless", _mixed(0.6, 0.25)),
    Mix("80 % saturated, 15 % learning, 5 % hopeless", _mixed(0.8, 0.15)),
    Mix("thirds", _mixed(1 / 3, 1 / 3)),
    Mix("60/25/15, nothing certain (2 % flakes)", _flaky),
    Mix("evenly spread", lambda rng, m: rng.random(m)),
)
HARD_MIXES = (
    Mix("seven of eight (every task 0.875)", lambda rng, m: np.full(m, 0.875)),
    Mix("mostly good (beta, mean 0.8)", lambda rng, m: rng.beta(8, 2, m)),
)


class Comparison(NamedTuple):
    """Until decided beside a fixed number of attempts, on the same attempts."""

    fixed_k: int
    attempts: float
    """Mean attempts of a task."""
    same: float
    """Share of tasks that both settle alike, of those that both settle."""
    both_right: float
    """Share in which both are right, alike or, where two claims are true, not."""
    undecided: float
    wrong: float
    wrong_fixed: float

    @property
    def share(self) -> float:
        return self.attempts / self.fixed_k


def compare_zones(mix: Mix, m: int, most: int, seed: int, question: ZoneQuestion | None = None) -> Comparison:
    """`m` tasks, each sampled until its zone is settled or it has had `most` attempts."""
    asked = question or ZoneQuestion()
    rng = np.random.default_rng(seed)
    k = fixed_zone_k(asked)
    n_same = n_both = n_right = n_open = n_wrong = n_wrong_fixed = total = 0
    for rate in mix.draw(rng, m):
        passes = rng.random(max(k, most)) < rate
        n, claim = settle(asked, passes, most)
        total += n
        fixed, true = fixed_zones(asked, int(passes[:k].sum()), k), true_zones(asked, float(rate))
        n_open += claim is None
        n_wrong += claim is not None and claim not in true
        n_wrong_fixed += not fixed & true
        if claim is not None:
            n_both += 1
            n_same += claim in fixed
            n_right += claim in true and bool(fixed & true)
    return Comparison(k, total / m, n_same / n_both, n_right / n_both, n_open / m, n_wrong / m, n_wrong_fixed / m)


def settle(question: Question, passes: Any, most: int) -> tuple[int, Claim | None]:
    """How many of these attempts were looked at, and what was settled."""
    counts = np.cumsum(passes[:most]).tolist()
    for n, passed in enumerate(counts, start=1):
        found = question.judge(passed, n)
        if found.settled:
            return n, found.claim
    return most, None


class ChangeComparison(NamedTuple):
    attempts: float
    wrong: float
    wrong_fixed: float
    found: float
    """Share of the changes of delta or more that were called one, by sampling until decided."""
    found_fixed: float
    settled: float
    settled_fixed: float


def compare_changes(
    mix: Mix, m: int, most: int, baseline_k: int, broken: float, seed: int, delta: float = 0.3
) -> ChangeComparison:
    """The share `broken` of tasks lost six tenths of its rate; the baseline has `baseline_k` attempts of each."""
    rng = np.random.default_rng(seed)
    total = wrong = wrong_fixed = found = found_fixed = changed = settled = settled_fixed = 0
    for rate, lost in zip(mix.draw(rng, m), rng.random(m) < broken, strict=True):
        now = 0.4 * rate if lost else rate
        question = ChangeQuestion(int(rng.binomial(baseline_k, rate)), baseline_k, delta=delta)
        passes = rng.random(most) < now
        n, claim = settle(question, passes, most)
        fixed = fixed_changes(question, int(passes.sum()), most)
        true = true_changes(question, float(rate), float(now))
        total += n
        wrong += claim is not None and claim not in true
        wrong_fixed += bool(fixed) and not fixed & true
        settled += claim not in (None, Claim.out_of_reach)
        settled_fixed += bool(fixed)
        if rate - now >= delta:
            changed += 1
            found += claim is Claim.worse
            found_fixed += Claim.worse in fixed
    some = max(1, changed)
    return ChangeComparison(
        total / m, wrong / m, wrong_fixed / m, found / some, found_fixed / some, settled / m, settled_fixed / m
    )
