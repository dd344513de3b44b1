"""Is a task better or worse than in the baseline? Looked at after every attempt of the current run."""

import math
from dataclasses import dataclass
from functools import lru_cache

from rollgrid.analysis.sequential import Claim, Finding, as_value, check_alpha, check_counts, log_sum

__all__ = ["ChangeQuestion", "bets_of"]

Counts = tuple[int, int]
"""Passed and failed."""

_HELD = 0.3
"""Part of the stake on the current run that is kept back. With very many attempts the current rate is as good as known,
and what the baseline alone says of it must not be lost on bets about it."""

_SURE = 0.98
_HALVINGS = 18
"""The place of the least is then known to 1e-5, and its value, which is flat there, to 1e-9."""


_LOG_HELD, _LOG_BET = math.log(_HELD), math.log(1 - _HELD)

# Where the bets are placed. Most tasks of most baselines pass always, or never, so these get more.
_RATES = (0.0, *((i + 1) / 10 for i in range(9)), 1.0)
_ABOVE = tuple(math.log(0.4 if place == 10 else 0.6 / 9) for place in range(1, 11))
_FINE = (0.0, 0.05, *((i + 1) / 10 for i in range(9)), 0.95, 1.0)
_ALIKE = tuple((rate, math.log(0.3 if rate in (0.0, 1.0) else 0.4 / 11)) for rate in _FINE)


@dataclass(frozen=True, slots=True)
class ChangeQuestion:
    """Did the pass rate change by `delta` or more? The baseline's rate b is known from a sample only.

    With c the current rate, the claims overlap so that one of them is always true:

    - `worse`: c < b, `better`: c > b.
    - `same`: the two differ by less than `delta`.
    - `not worse`, `not better`: half of `same`: c > b - delta, or c < b + delta. Made where the other half is out of
      reach, as the baseline has too few attempts to tell.

    A change between 0 and `delta` may be called either way; one of `delta` or more can only be called a change.

    Each hypothesis says that c lies at or beyond b + delta (with delta 0 for a change), b being any rate t. Against
    each t two stakes are bet, that of the baseline against b <= t, and that of the current run against c >= t + delta:
    the likelihood averaged over rates outside, divided by the greatest inside (universal inference: L. Wasserman, A.
    Ramdas and S. Balakrishnan, PNAS 117, 2020). At the true b that is at most a likelihood ratio to the truth for the
    baseline, and given the baseline one for the current run, so that their product is an e-process over the attempts of
    the current run; the least product over all t, which is what is looked at, is no larger. Part of the second stake is
    not bet at all, which keeps it an e-process. Each hypothesis is rejected at 2/alpha, so that both directions
    together are wrong with a chance of at most alpha. Assumes independent attempts, and that the size of the baseline
    was not chosen by how it came out.
    """

    baseline_passed: int
    baseline_scored: int
    delta: float = 0.2
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_counts(self.baseline_passed, self.baseline_scored)
        if not self.baseline_scored:
            raise ValueError("a baseline with no scored attempts compares with nothing")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, such as 0.2, got {self.delta!r}")
        check_alpha(self.alpha)

    def judge(self, passed: int, scored: int) -> Finding:
        """How it stands after `passed` of `scored`. Raises `ValueError` for counts that cannot be."""
        check_counts(passed, scored)
        return _change(self, passed, scored)

    def says(self, claim: Claim) -> str:
        points = f"{round(100 * self.delta, 1):g} points"
        match claim:
            case Claim.better | Claim.worse:
                return f"{claim} than the baseline"
            case Claim.same:
                return f"within {points} of the baseline"
            case Claim.not_worse | Claim.not_better:
                return f"{claim} than the baseline by {points}"
            case _:
                return f"a baseline of {self.baseline_passed}/{self.baseline_scored} is too small to tell {points}"


class Bets:
    """The four hypotheses of a question. Counting failures for passes turns each direction into the other."""

    def __init__(self, question: ChangeQuestion) -> None:
        passed, failed = question.baseline_passed, question.baseline_scored - question.baseline_passed
        self.worse = Null((passed, failed), 0.0, turned=False)
        self.better = Null((failed, passed), 0.0, turned=True)
        self.not_worse = Null((failed, passed), question.delta, turned=True)
        self.not_better = Null((passed, failed), question.delta, turned=False)


@lru_cache(maxsize=4096)
def bets_of(question: ChangeQuestion) -> Bets:
    """The e-processes that a question is decided by."""
    return Bets(question)


@lru_cache(maxsize=1 << 17)
def _change(question: ChangeQuestion, passed: int, scored: int) -> Finding:
    bets = bets_of(question)
    now = (passed, scored - passed)
    limit = math.log(2 / question.alpha)
    worse, better = bets.worse.evidence(now), bets.better.evidence(now)
    if max(worse, better) >= limit:
        return Finding(Claim.worse if worse >= better else Claim.better, as_value(max(worse, better)), True)
    kept, held = bets.not_worse.evidence(now), bets.not_better.evidence(now)
    if min(kept, held) >= limit:
        return Finding(Claim.same, as_value(min(kept, held)), True)
    if kept >= limit:
        more = _within_reach((bets.better, bets.not_better), now, limit, spread=1.0)
        return Finding(Claim.not_worse, as_value(kept), not more)
    if held >= limit:
        more = _within_reach((bets.worse, bets.not_worse), now, limit, spread=1.0)
        return Finding(Claim.not_better, as_value(held), not more)
    nearest = as_value(max(worse, better, min(kept, held)))
    every = (bets.worse, bets.better, bets.not_worse, bets.not_better)
    if not _within_reach(every, now, limit, spread=2.0):
        return Finding(Claim.out_of_reach, nearest, True)
    return Finding(None, nearest, False)


def _within_reach(tests: "tuple[Null, ...]", now: Counts, limit: float, spread: float) -> bool:
    """Whether more attempts can get any of these rejected, at a rate that what was seen leaves likely.

    Rates are looked at up to `_SURE` only: to tell one from certainty takes more attempts than anybody will buy.
    """
    passed, scored = now[0], now[0] + now[1]
    rates = [0.0, 0.25, 0.5, 0.75, 1.0]
    if scored:
        middle = (passed + 0.5) / (scored + 1)
        away = spread * math.sqrt(middle * (1 - middle) / (scored + 1))
        rates = [passed / scored, middle - away, middle + away]
    known = [min(_SURE, max(1 - _SURE, rate)) for rate in rates]
    return any(test.limit_at(rate) >= limit for test in tests for rate in known)


class Null:
    """The hypothesis c >= b + delta about the rates b of the baseline and c of the current run.

    `turned`: the rates are those of failures. Evidence is a logarithm.
    """

    def __init__(self, base: Counts, delta: float, *, turned: bool) -> None:
        self._base = base
        self._seen = _rate(base, 0.0)
        self._delta = delta
        self._turned = turned
        if delta:
            stakes = [weight + _log_likelihood(rate, base) for rate, weight in _ALIKE]
        else:
            stakes = [weight + _log_likelihood(rate, base) for rate, weight in zip(_RATES[1:], _ABOVE, strict=True)]
        self._stakes = stakes
        self._before = log_sum(stakes)

    def evidence(self, now: Counts) -> float:
        """The e-process after so many passes and failures of the current run.

        The least, over every value t that b may have, of two stakes multiplied: the baseline's against b <= t and the
        current run's against c >= t + delta. Its logarithm is convex in t between the rates as seen, and does not get
        smaller outside.
        """
        if self._turned:
            now = (now[1], now[0])
        both, base, delta = self._mixture(now), self._base, self._delta
        seen = _rate(now, 1.0)

        def stake(t: float) -> tuple[float, float]:
            held, share = _held(both - self._before - _log_likelihood(max(t + delta, seen), now))
            return self._before - _log_likelihood(min(t, self._seen), base) + held, share

        low, high = max(0.0, seen - delta), min(1 - delta, self._seen)
        if low >= high:
            return stake(high)[0]  # what was seen lies inside the hypothesis
        for _ in range(_HALVINGS):
            t = (low + high) / 2
            if _slope(t, base) + stake(t)[1] * _slope(t + delta, now) > 0:
                low = t
            else:
                high = t
        return stake((low + high) / 2)[0]

    def limit_at(self, rate: float) -> float:
        """What the evidence tends to with ever more attempts of this rate: c is known then, and b is not."""
        t = (1 - rate if self._turned else rate) - self._delta
        if t < 0:
            return math.inf
        return self._before - _log_likelihood(min(t, self._seen), self._base) + _LOG_HELD

    def _mixture(self, now: Counts) -> float:
        """The likelihood of baseline and current run, averaged over pairs of rates outside of the hypothesis."""
        if self._delta:
            likely = [_log_likelihood(rate, now) for rate, _ in _ALIKE]
            return log_sum([before + after for before, after in zip(self._stakes, likely, strict=True)])
        likely = [_log_likelihood(rate, now) for rate in _RATES[:-1]]
        return log_sum(
            [before + log_sum(likely[:n]) - math.log(n) for n, before in enumerate(self._stakes, start=1)],
        )


def _held(stake: float) -> tuple[float, float]:
    """The logarithm of a stake of which the part `_HELD` is not bet, and which share of it the rest has become."""
    if stake == math.inf:
        return math.inf, 1.0
    bet = _LOG_BET + stake
    high, low = (bet, _LOG_HELD) if bet > _LOG_HELD else (_LOG_HELD, bet)
    total = high + math.log1p(math.exp(low - high))
    return total, math.exp(bet - total)


def _rate(counts: Counts, unknown: float) -> float:
    return counts[0] / sum(counts) if any(counts) else unknown


def _slope(rate: float, counts: Counts) -> float:
    """The derivative of the log-likelihood."""
    passed, failed = counts
    return (passed / rate if passed else 0.0) - (failed / (1 - rate) if failed else 0.0)


def _log_likelihood(rate: float, counts: Counts) -> float:
    passed, failed = counts
    if (passed and rate <= 0) or (failed and rate >= 1):
        return -math.inf
    return (passed * math.log(rate) if passed else 0.0) + (failed * math.log1p(-rate) if failed else 0.0)
