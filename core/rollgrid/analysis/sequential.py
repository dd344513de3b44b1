"""Questions about one task that may be looked at after every attempt: in which zone does its pass rate lie?

A test made for a fixed number of attempts is wrong more often than it says when it is looked at again and again until
it says yes. The tests here are e-processes: bets against a hypothesis at fair odds, whose stake has an expected value
of at most one, whenever one stops, as long as the hypothesis is true. By Ville's inequality it ever grows to 1/alpha
with a chance of at most alpha, however often and for whatever reason one looks (J. Ville, 1939; H. Robbins, Annals of
Mathematical Statistics 41, 1970; A. Ramdas, P. Grünwald, V. Vovk and G. Shafer, Statistical Science 38, 2023). That is
the guarantee that sampling until something is decided needs. scipy has none of this. A group-sequential test would need
the times of the looks fixed beforehand, which a run that is steered, resumed and cut by a budget does not have.

Only the standard library is used: a runner decides after every attempt.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol

__all__ = [
    "NO_CLAIMS",
    "Alternatives",
    "Claim",
    "Finding",
    "Question",
    "ZoneQuestion",
    "false_discovery_e",
    "log_bet",
    "log_sum",
]


class Claim(StrEnum):
    """What can be settled of a task. Several may be true at once; each is made only when its opposite is rejected."""

    saturated = "saturated"
    learning = "learning"
    hopeless = "hopeless"
    better = "better"
    worse = "worse"
    same = "same"
    not_worse = "not worse"
    not_better = "not better"
    out_of_reach = "out of reach"
    """No number of attempts settles it, as the baseline itself has too few."""
    too_close = "too close"
    """Not settled with as many attempts as a run may take."""
    unmeasured = "unmeasured"
    """No evidence: the attempts gave no score."""


NO_CLAIMS = frozenset({Claim.out_of_reach, Claim.too_close, Claim.unmeasured})
"""That nothing is claimed, and why not."""


class Finding(NamedTuple):
    """How a question stands. `evidence` is the e-value of the claim, of the nearest one while there is none.

    A claim that is not `settled` is true as far as it goes, and more attempts may say more.
    """

    claim: Claim | None
    evidence: float
    settled: bool


class Question(Protocol):
    """Something to be settled of a task from counts of scored attempts."""

    @property
    def alpha(self) -> float:
        """The chance of a wrong claim about one task that is put up with."""
        ...

    def judge(self, passed: int, scored: int) -> Finding: ...

    def says(self, claim: Claim) -> str:
        """The claim in words."""
        ...


Alternatives = Sequence[tuple[float, float]]
"""Rates with weights that sum to one."""

_LEARNING_GRID = tuple(((i + 1) / 10, 1 / 9) for i in range(9))


@dataclass(frozen=True, slots=True)
class ZoneQuestion:
    """In which zone does a task's true pass rate p lie?

    The zones of a row are what was seen: a single failure takes a row from saturated to learning for good. What is
    claimed here is about p, and the claims overlap, so that one of them is always true and can be found:

    - `saturated`: p > 1 - edge. Rejected is p <= 1 - edge.
    - `hopeless`: p < edge. Rejected is p >= edge.
    - `learning`: core < p < 1 - core. Both p <= core and p >= 1 - core are rejected.

    Between 1 - edge and 1 - core (by default 80 and 95 %) saturated and learning are both true, and either is a right
    answer: the indifference region of A. Wald's sequential tests (1945), without which no number of attempts would do.
    The defaults are where it matters: with the usual 8 attempts a task of 80 % shows a mixed row 5 times in 6, and a
    task of 95 % shows a full row 2 times in 3. One pass and one failure put a row into the learning zone as it is seen;
    for the claim it takes at least two of each, so that one flake of a saturated task does not make it.

    Each hypothesis is rejected when its e-process reaches 1/alpha. A wrong claim is then made of a task with a chance
    of at most alpha: at most one hypothesis that is near the truth can be rejected wrongly, and the others' chances are
    too small to matter (added up exactly in the tests). Assumes independent attempts of one rate.
    """

    edge: float = 0.2
    core: float = 0.05
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.core < self.edge < 0.5:
            raise ValueError(
                f"the zones' limits must be 0 < core < edge < 0.5, got core {self.core!r} and edge {self.edge!r}"
            )
        check_alpha(self.alpha)

    def judge(self, passed: int, scored: int) -> Finding:
        """How it stands after `passed` of `scored`. Raises `ValueError` for counts that cannot be."""
        check_counts(passed, scored)
        return _zone(self, passed, scored)

    def says(self, claim: Claim) -> str:
        match claim:
            case Claim.saturated:
                return f"saturated: passes more than {_percent(1 - self.edge)} of the time"
            case Claim.hopeless:
                return f"hopeless: passes less than {_percent(self.edge)} of the time"
            case _:
                return f"learning: passes {_percent(self.core)} to {_percent(1 - self.core)} of the time"


@lru_cache(maxsize=1 << 16)
def _zone(question: ZoneQuestion, passed: int, scored: int) -> Finding:
    failed = scored - passed
    edge, core = question.edge, question.core
    good = ((1.0, 0.5), (1 - core, 0.5))
    above = log_bet(passed, failed, 1 - edge, good)
    below = log_bet(failed, passed, 1 - edge, good)
    mixed = min(log_bet(failed, passed, core, _LEARNING_GRID), log_bet(passed, failed, core, _LEARNING_GRID))
    limit = -math.log(question.alpha)
    best, claim = max(
        (above, Claim.saturated), (below, Claim.hopeless), (mixed, Claim.learning), key=lambda one: one[0]
    )
    return Finding(claim, as_value(best), True) if best >= limit else Finding(None, as_value(best), False)


def log_bet(passed: int, failed: int, null: float, alternatives: Alternatives) -> float:
    """The logarithm of an e-process against "the rate is at most `null`", after so many passes and failures.

    The mixture of likelihood ratios of rates above `null` to `null` (Robbins's method of mixtures). An attempt
    multiplies the stake of the rate q by q/null when it passes and (1-q)/(1-null) when it fails; for a true rate of at
    most `null` the mean of that is at most one, so each stake is a supermartingale, and so is their mean. The mixture
    is of a few rates rather than of a beta density: on what saturated tasks show, pass after pass, a bet on a rate of
    one gains as fast as anything can, and a beta mixture takes half as many attempts again. Raises `ValueError` for an
    alternative that is not above `null`, as the bound would not hold.
    """
    stakes: list[float] = []
    for rate, weight in alternatives:
        if rate <= null:
            raise ValueError(f"the alternative {rate} is not above {null}")
        if rate == 1 and failed:
            continue
        stake = math.log(weight) + passed * math.log(rate / null)
        if failed:
            stake += failed * math.log((1 - rate) / (1 - null))
        stakes.append(stake)
    return log_sum(stakes)


def log_sum(logs: Sequence[float]) -> float:
    """The logarithm of a sum of exponentials; minus infinity of none."""
    top = max(logs, default=-math.inf)
    return top if math.isinf(top) else top + math.log(math.fsum(math.exp(one - top) for one in logs))


def as_value(log: float) -> float:
    """The exponential, without overflow."""
    return math.exp(min(log, 700.0))


def false_discovery_e(e_values: Sequence[float], alpha: float) -> list[bool]:
    """Which hypotheses are rejected by the e-BH procedure: the R largest, R the most with each at least m / (alpha R).

    The expected share of wrong rejections is at most alpha whatever the dependence, and also when each e-value was
    stopped when it looked best (R. Wang and A. Ramdas, JRSS B 84, 2022). That is what Benjamini and Hochberg's
    procedure on p-values of a fixed number of attempts cannot promise.
    """
    check_alpha(alpha)
    m = len(e_values)
    ranked = sorted(e_values, reverse=True)
    enough = max((r for r in range(1, m + 1) if ranked[r - 1] >= m / (alpha * r)), default=0)
    return [enough > 0 and value >= m / (alpha * enough) for value in e_values]


def check_counts(passed: int, scored: int) -> None:
    if not 0 <= passed <= scored:
        raise ValueError(f"passed must lie in 0..scored, got {passed} of {scored}")


def check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, such as 0.05, got {alpha!r}")


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
