"""Agreement of a scorer with the people who reviewed its work."""

import itertools
import math

import pytest

from rollgrid.analysis.agreement import Opinion, agreement, cohen_kappa, opinions
from rollgrid.analysis.wilson import clustered, wilson
from rollgrid.store.rows import ReviewRow
from support.fake_log import attempt_row

SEQ = itertools.count(1)


def review(task=0, attempt=1, take=1, author="bea", *, passed=True, **fields):
    seq = next(SEQ)
    row = ReviewRow(seq, task, attempt, take, 5.0, author, None, passed, None, None, False, None, seq)
    return row._replace(**fields)


def said(both_pass, only_scorer, only_human, both_fail, task=lambda n: n):
    """Opinions with these counts, each of an attempt of its own."""
    cells = [(True, True)] * both_pass + [(True, False)] * only_scorer
    cells += [(False, True)] * only_human + [(False, False)] * both_fail
    return [Opinion(task(n), n, "bea", scorer, human, review(task(n), n)) for n, (scorer, human) in enumerate(cells, 1)]


def test_rate_interval_and_n_are_those_of_the_reviews():
    figures = agreement(said(20, 5, 10, 15))
    assert (figures.n, figures.n_agree, figures.rate) == (50, 35, 0.7)
    assert figures.interval == wilson(35, 50)
    assert len(figures.disagreements) == 15
    assert figures.caution is None


def test_kappa_is_what_a_hand_computes():
    """Of 50: both pass 20, scorer only 5, human only 10, both fail 15. Observed 35/50; chance .5*.6 + .5*.4 = .5."""
    found = cohen_kappa({(True, True): 20, (True, False): 5, (False, True): 10, (False, False): 15})
    assert found == (pytest.approx(0.4), pytest.approx(0.5))
    kappa = agreement(said(20, 5, 10, 15)).kappa
    assert kappa is not None
    assert kappa.value == pytest.approx(0.4)
    around = wilson(35, 50)
    assert kappa.interval == pytest.approx(((around.low - 0.5) / 0.5, (around.high - 0.5) / 0.5))


def test_kappa_of_full_agreement_is_one_and_its_interval_says_how_few_were_asked():
    few, many = agreement(said(3, 0, 0, 2)).kappa, agreement(said(300, 0, 0, 200)).kappa
    assert few.value == many.value == pytest.approx(1.0)
    assert few.interval.low < 0.3
    assert many.interval.low > 0.98
    assert few.interval.high == many.interval.high == 1.0


def test_kappa_of_full_disagreement_is_minus_one_and_no_bound_lies_below():
    kappa = agreement(said(0, 5, 5, 0)).kappa
    assert kappa.value == pytest.approx(-1.0)
    assert kappa.interval.low == -1.0


@pytest.mark.parametrize(("counts", "kappa"), [((4, 0, 0, 0), None), ((0, 0, 0, 4), None), ((0, 0, 3, 2), 0.0)])
def test_one_verdict_throughout_leaves_kappa_nothing_to_tell_apart(counts, kappa):
    figures = agreement(said(*counts))
    assert (figures.kappa.value if figures.kappa else None) == kappa
    assert figures.caution is not None


def test_a_queue_of_failures_alone_is_cautioned_about():
    assert "only attempts that the scorer failed were reviewed" in agreement(said(0, 0, 3, 2)).caution
    assert "only attempts that the scorer passed were reviewed" in agreement(said(3, 1, 0, 0)).caution
    assert "one verdict only" in agreement(said(3, 0, 2, 0)).caution


TRUTHS = [
    (0.50, 0.05, 0.05, 0.40),
    (0.85, 0.03, 0.05, 0.07),
    (0.30, 0.20, 0.05, 0.45),
    (0.25, 0.25, 0.25, 0.25),
    (0.60, 0.01, 0.01, 0.38),
    (0.20, 0.02, 0.30, 0.48),
]
"""Shares of: both pass, scorer only, person only, both fail."""


@pytest.mark.parametrize("truth", TRUTHS)
def test_the_interval_of_kappa_holds_the_truth_as_often_as_it_says(truth):
    """Exactly: over every table that 15 reviews can make, weighted with its chance."""
    n = 15
    observed = truth[0] + truth[3]
    scorer, person = truth[0] + truth[1], truth[0] + truth[2]
    chance = scorer * person + (1 - scorer) * (1 - person)
    kappa = (observed - chance) / (1 - chance)
    held = defined = 0.0
    for a, b, c in itertools.product(range(n + 1), repeat=3):
        d = n - a - b - c
        if d < 0:
            continue
        ways = math.factorial(n) // math.prod(map(math.factorial, (a, b, c, d)))
        weight = ways * math.prod(p**k for p, k in zip(truth, (a, b, c, d), strict=True))
        found = agreement(said(a, b, c, d)).kappa
        if found is not None:
            defined += weight
            held += weight * (found.interval.low <= kappa + 1e-12 and kappa <= found.interval.high + 1e-12)
    assert held / defined > 0.93


def test_without_a_review_there_is_no_figure():
    figures = agreement([])
    assert (figures.n, figures.rate, figures.interval, figures.kappa, figures.caution) == (0, None, None, None, None)
    assert figures.to_dict()["rate"] is None


def test_attempts_of_one_task_count_as_alike_in_the_interval_for_tasks_like_these():
    figures = agreement(said(20, 0, 0, 20, task=lambda n: n % 4))
    assert figures.interval == wilson(40, 40)
    assert figures.interval_tasks == clustered([(10, 10)] * 4)
    assert figures.interval_tasks.low < figures.interval.low
    assert figures.kappa.interval_tasks.low < figures.kappa.interval.low


def test_the_newest_review_of_each_author_counts():
    attempts = [attempt_row(0, 1, "fail")]
    reviews = [review(passed=True), review(passed=False), review(author="ann", passed=True)]
    figures = agreement(opinions(attempts, reviews))
    assert (figures.n, figures.n_attempts, figures.n_agree) == (2, 1, 1)
    assert [(one.author, one.n, one.n_agree) for one in figures.authors] == [("ann", 1, 0), ("bea", 1, 1)]
    assert (figures.n_shared, figures.n_shared_same) == (1, 0)
    assert [one.author for one in figures.disagreements] == ["ann"]


def test_a_review_that_was_taken_back_counts_no_more():
    reviews = [review(passed=True), review(passed=False, undone=99)]
    assert agreement(opinions([attempt_row(0, 1, "fail")], reviews)).n_agree == 0
    assert opinions([attempt_row(0, 1, "fail")], reviews[1:]) == []


def test_only_scored_takes_that_count_are_in_the_figures():
    attempts = [
        attempt_row(0, 1, "pass", superseded="retry"),
        attempt_row(0, 1, "fail", take=2),
        attempt_row(0, 2, "error"),
        attempt_row(0, 3),
    ]
    reviews = [review(), review(take=2), review(attempt=2), review(attempt=3, passed=None, label="odd"), review(5)]
    assert [(one.review.take, one.agrees) for one in opinions(attempts, reviews)] == [(2, False)]


def test_two_of_three_reviewers_alike_is_one_pair_of_three():
    reviews = [review(author=name, passed=name != "cem") for name in ("ann", "bea", "cem")]
    figures = agreement(opinions([attempt_row(0, 1)], reviews))
    assert (figures.n_shared, figures.n_shared_same) == (3, 1)


def test_blind_reviews_are_counted():
    reviews = [review(blind=True), review(author="ann")]
    figures = agreement(opinions([attempt_row(0, 1)], reviews))
    assert figures.n_blind == 1
    assert figures.to_dict()["reviewers"][1] == {"author": "bea", "n": 1, "n_agree": 1, "n_blind": 1, "rate": 1.0}
