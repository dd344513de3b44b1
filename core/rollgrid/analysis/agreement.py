"""How far a scorer and the people who reviewed its work agree. Plain Python: the dashboard shows it as reviews come."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rollgrid.analysis.wilson import Interval, clustered, wilson
from rollgrid.store.rows import AttemptRow, ReviewRow, standing_reviews

__all__ = ["Agreement", "AuthorAgreement", "Kappa", "Opinion", "agreement", "cohen_kappa", "opinions"]


class Opinion(NamedTuple):
    """One person's verdict on a take beside the scorer's. `review` is where the person's label and note are."""

    task: int
    attempt: int
    author: str
    scorer_passed: bool
    human_passed: bool
    review: ReviewRow

    @property
    def agrees(self) -> bool:
        return self.scorer_passed == self.human_passed


class Kappa(NamedTuple):
    """Cohen's kappa: 1 for full agreement, 0 for what chance alone gives, below that for less."""

    value: float
    interval: Interval
    interval_tasks: Interval


class AuthorAgreement(NamedTuple):
    author: str
    n: int
    n_agree: int
    n_blind: int

    @property
    def rate(self) -> float:
        return self.n_agree / self.n


@dataclass(frozen=True, slots=True)
class Agreement:
    """Figures over all reviews that count and say whether the attempt should have passed.

    `table` counts reviews by (scorer passed, person passed). `interval` takes reviews as independent of each other:
    it is about the attempts of these tasks. `interval_tasks` is about tasks like these, and wider, since the attempts
    of one task resemble each other. Both are at 95 % and None without a review. `n_shared` counts pairs of people who
    judged one attempt, `n_shared_same` those of them who said the same of it.
    """

    n: int
    n_attempts: int
    n_tasks: int
    n_agree: int
    n_blind: int
    table: dict[tuple[bool, bool], int]
    interval: Interval | None
    interval_tasks: Interval | None
    kappa: Kappa | None
    authors: tuple[AuthorAgreement, ...]
    n_shared: int
    n_shared_same: int
    disagreements: tuple[Opinion, ...]

    @property
    def rate(self) -> float | None:
        return self.n_agree / self.n if self.n else None

    @property
    def caution(self) -> str | None:
        """What keeps these figures from saying how good the scorer is; None when nothing plain does."""
        if not self.n:
            return None
        by_scorer = {scorer for (scorer, _), n in self.table.items() if n}
        if len(by_scorer) == 1:
            one, other = ("passed", "failed") if by_scorer == {True} else ("failed", "passed")
            return f"only attempts that the scorer {one} were reviewed; review some that {other} too"
        if len({person for (_, person), n in self.table.items() if n}) == 1:
            return "the reviews have one verdict only, so kappa has nothing to tell apart"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain data with names for keys; intervals as [low, high]."""
        kappa = self.kappa
        return {
            "n_reviews": self.n,
            "n_attempts": self.n_attempts,
            "n_tasks": self.n_tasks,
            "n_agree": self.n_agree,
            "n_blind": self.n_blind,
            "rate": self.rate,
            "interval": _pair(self.interval),
            "interval_tasks": _pair(self.interval_tasks),
            "kappa": None if kappa is None else kappa.value,
            "kappa_interval": None if kappa is None else _pair(kappa.interval),
            "kappa_interval_tasks": None if kappa is None else _pair(kappa.interval_tasks),
            "scorer_pass_human_pass": self.table[True, True],
            "scorer_pass_human_fail": self.table[True, False],
            "scorer_fail_human_pass": self.table[False, True],
            "scorer_fail_human_fail": self.table[False, False],
            "reviewers": [one._asdict() | {"rate": one.rate} for one in self.authors],
            "n_judged_by_two": self.n_shared,
            "n_judged_by_two_alike": self.n_shared_same,
            "caution": self.caution,
        }


def opinions(attempts: Iterable[AttemptRow], reviews: Iterable[ReviewRow]) -> list[Opinion]:
    """Every review that counts and has a verdict, beside the score, in the order of tasks and attempts.

    Of each author and take the newest review that was not taken back counts. Takes without a score and takes that were
    superseded are left out: they are in no figure of the run either.
    """
    scored = {
        (row.task, row.attempt, row.take): row.passed
        for row in attempts
        if row.passed is not None and row.superseded is None
    }
    found: list[Opinion] = []
    for review in standing_reviews(reviews):
        passed = scored.get((review.task, review.attempt, review.take))
        if passed is not None and review.passed is not None:
            found.append(Opinion(review.task, review.attempt, review.author, passed, review.passed, review))
    return sorted(found, key=lambda one: (one.task, one.attempt, one.author))


def agreement(found: Sequence[Opinion]) -> Agreement:
    """The figures of these opinions. With none of them every figure is 0 or None."""
    counts = Counter((one.scorer_passed, one.human_passed) for one in found)
    table = {(scorer, person): counts[scorer, person] for scorer in (True, False) for person in (True, False)}
    by_task: dict[int, list[int]] = {}
    by_author: dict[str, list[Opinion]] = {}
    by_attempt: dict[tuple[int, int], list[bool]] = {}
    for one in found:
        tally = by_task.setdefault(one.task, [0, 0])
        tally[0] += one.agrees
        tally[1] += 1
        by_author.setdefault(one.author, []).append(one)
        by_attempt.setdefault((one.task, one.attempt), []).append(one.human_passed)
    n = len(found)
    n_agree = table[True, True] + table[False, False]
    around = wilson(n_agree, n)
    around_tasks = clustered((agree, n) for agree, n in by_task.values())
    pairs = [(said.count(True), len(said)) for said in by_attempt.values()]
    return Agreement(
        n=n,
        n_attempts=len(by_attempt),
        n_tasks=len(by_task),
        n_agree=n_agree,
        n_blind=sum(one.review.blind for one in found),
        table=table,
        interval=around,
        interval_tasks=around_tasks,
        kappa=_kappa(table, around, around_tasks),
        authors=tuple(
            AuthorAgreement(author, len(own), sum(o.agrees for o in own), sum(o.review.blind for o in own))
            for author, own in sorted(by_author.items())
        ),
        n_shared=sum(m * (m - 1) // 2 for _, m in pairs),
        n_shared_same=sum(yes * (yes - 1) // 2 + (m - yes) * (m - yes - 1) // 2 for yes, m in pairs),
        disagreements=tuple(one for one in found if not one.agrees),
    )


def cohen_kappa(table: dict[tuple[bool, bool], int]) -> tuple[float, float] | None:
    """Cohen's kappa of two raters with two verdicts, and the agreement that chance gives; None where it is undefined.

    `table` counts by (first rater passed, second rater passed). Kappa is the part of the disagreement that chance would
    give which is not there: (observed - chance) / (1 - chance), chance being what two raters agree in who give each
    verdict as often as these do, and independently. It is undefined when both gave one and the same verdict throughout,
    and 0 when only one of them did. J. Cohen, Educational and Psychological Measurement 20 (1960), 37-46.
    """
    n = sum(table.values())
    if not n:
        return None
    first = (table[True, True] + table[True, False]) / n
    second = (table[True, True] + table[False, True]) / n
    chance = first * second + (1 - first) * (1 - second)
    if chance >= 1:
        return None
    observed = (table[True, True] + table[False, False]) / n
    return (observed - chance) / (1 - chance), chance


def _kappa(table: dict[tuple[bool, bool], int], around: Interval | None, around_tasks: Interval | None) -> Kappa | None:
    """Kappa with intervals at 95 %.

    Cohen's own interval takes the chance agreement as known and puts a normal interval around the observed one; here
    Wilson's stands in its place. In a simulation over 15 to 120 reviews and kappas from 0 to 0.96 it held the truth
    in 94 % to 99 % of the cases. The asymptotic one of Fleiss, Cohen and Everitt (1969), which is the usual choice,
    fell to 26 %: it is empty when nobody disagrees, however few were asked.
    """
    found = cohen_kappa(table)
    if found is None or around is None or around_tasks is None:
        return None
    value, chance = found

    def scaled(interval: Interval) -> Interval:
        return Interval(*(max(-1.0, (bound - chance) / (1 - chance)) for bound in interval))

    return Kappa(value, scaled(around), scaled(around_tasks))


def _pair(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
