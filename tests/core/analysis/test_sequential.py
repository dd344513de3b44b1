"""Looking after every attempt costs no error: the bets are fair, and the claims are wrong no more often than stated."""

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rollgrid.analysis.sequential import Claim, ZoneQuestion, false_discovery_e, log_bet
from rollgrid.analysis.sequential_change import ChangeQuestion, bets_of
from support.sampling import (
    HARD_MIXES,
    MIXES,
    compare_changes,
    compare_zones,
    fixed_zone_k,
    true_changes,
    true_zones,
    walk,
    wrong_share,
)

ALTERNATIVES = ((1.0, 0.5), (0.95, 0.5))
counts = st.integers(0, 40)
rates = st.floats(0, 1)


# -- the bets ---------------------------------------------------------------------------------------------------------


@given(passed=counts, failed=counts, rate=st.floats(0, 0.8))
@example(passed=30, failed=0, rate=0.8)
def test_a_bet_gains_nothing_on_average_while_its_hypothesis_is_true(passed, failed, rate):
    now = math.exp(log_bet(passed, failed, 0.8, ALTERNATIVES))
    then = rate * math.exp(log_bet(passed + 1, failed, 0.8, ALTERNATIVES))
    then += (1 - rate) * math.exp(log_bet(passed, failed + 1, 0.8, ALTERNATIVES))
    assert then <= now * (1 + 1e-9)


def test_a_bet_is_the_likelihood_ratio_with_weights():
    assert math.exp(log_bet(3, 0, 0.8, ALTERNATIVES)) == pytest.approx(0.5 * 1.25**3 + 0.5 * (0.95 / 0.8) ** 3)
    assert math.exp(log_bet(3, 1, 0.8, ALTERNATIVES)) == pytest.approx(0.5 * (0.95 / 0.8) ** 3 * 0.05 / 0.2)
    assert log_bet(0, 0, 0.8, ALTERNATIVES) == pytest.approx(0)


def test_a_bet_with_many_attempts_is_a_number_still():
    assert math.isfinite(log_bet(10_000_000, 0, 0.05, ((0.5, 1.0),)))


def test_an_alternative_inside_the_hypothesis_is_refused():
    with pytest.raises(ValueError, match="not above"):
        log_bet(1, 0, 0.8, ((0.7, 1.0),))


# -- zones ------------------------------------------------------------------------------------------------------------


def test_fifteen_passes_in_a_row_settle_saturated():
    question = ZoneQuestion()
    assert question.judge(14, 14).claim is None
    assert question.judge(15, 15) == (Claim.saturated, pytest.approx(0.5 * 1.25**15 + 0.5 * 1.1875**15), True)
    assert question.judge(0, 15).claim is Claim.hopeless


def test_one_flake_makes_no_learning_task():
    question = ZoneQuestion()
    assert question.judge(7, 8).claim is None
    assert question.judge(1, 2).claim is None
    assert question.judge(2, 4).claim is None
    assert question.judge(3, 5).claim is None
    assert question.judge(3, 6).claim is Claim.learning


@given(passed=counts, failed=counts)
def test_zones_are_symmetric_in_passes_and_failures(passed, failed):
    question = ZoneQuestion()
    mirror = {Claim.saturated: Claim.hopeless, Claim.hopeless: Claim.saturated}
    one, other = question.judge(passed, passed + failed), question.judge(failed, passed + failed)
    assert one.claim is (mirror.get(other.claim, other.claim) if other.claim else None)


def test_every_sequence_of_attempts_written_out_gives_the_same_as_the_paths_added_up():
    """Brute force over all 2^11 sequences at a loose level, where claims come early."""
    question = ZoneQuestion(alpha=0.25)
    rate, most = 0.8, 11
    claims: dict[Claim, float] = {}
    looked = 0.0
    for sequence in itertools.product((1, 0), repeat=most):
        chance = math.prod(rate if one else 1 - rate for one in sequence)
        for n in range(1, most + 1):
            found = question.judge(sum(sequence[:n]), n)
            if found.settled or n == most:
                looked += chance * n
                if found.claim is not None:
                    claims[found.claim] = claims.get(found.claim, 0.0) + chance
                break
    told = walk(question, rate, most)
    assert told.mean_attempts == pytest.approx(looked)
    assert told.claims == pytest.approx(claims)
    assert 0 < wrong_share(told, true_zones(question, rate)) <= 0.25


@pytest.mark.parametrize("question", [ZoneQuestion(), ZoneQuestion(alpha=0.01), ZoneQuestion(edge=0.1, core=0.02)])
def test_a_zone_is_wrong_no_more_often_than_stated_at_any_rate(question):
    limits = (question.edge, question.core, 1 - question.edge, 1 - question.core)
    worst = 0.0
    for rate in (*limits, *(i / 20 for i in range(21)), 0.01, 0.99):
        wrong = wrong_share(walk(question, rate, 250), true_zones(question, rate))
        assert wrong <= question.alpha
        worst = max(worst, wrong)
    # Careful, but not so careful that attempts are wasted.
    assert worst > question.alpha / 2


def test_every_rate_is_settled_sooner_or_later():
    for rate in (0.0, 0.03, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0):
        assert walk(ZoneQuestion(), rate, 600).undecided < 0.001


@pytest.mark.parametrize("given", [{"edge": 0.5}, {"core": 0.0}, {"core": 0.3}, {"alpha": 0.0}, {"alpha": 5}])
def test_limits_that_make_no_sense_are_refused(given):
    with pytest.raises(ValueError, match=r"limits|alpha"):
        ZoneQuestion(**given)


def test_counts_that_cannot_be_are_refused():
    for question in (ZoneQuestion(), ChangeQuestion(4, 8)):
        for passed, scored in ((3, 2), (-1, 2)):
            with pytest.raises(ValueError, match="passed must lie"):
                question.judge(passed, scored)


# -- changes ----------------------------------------------------------------------------------------------------------


def test_what_a_baseline_of_eight_full_rows_lets_one_see():
    question = ChangeQuestion(8, 8, delta=0.2)
    assert question.judge(0, 2).claim is None
    assert question.judge(0, 3).claim is Claim.worse
    assert question.judge(23, 23).claim is None
    # It cannot tell "better by 20 points", since its own rate may be 75 %; so half of it is all there is.
    assert question.judge(24, 24)[::2] == (Claim.not_worse, True)
    assert ChangeQuestion(32, 32, delta=0.2).judge(24, 24).claim is Claim.same


def test_a_change_that_the_baseline_is_too_small_for_is_said_to_be_out_of_reach():
    question = ChangeQuestion(4, 8, delta=0.2)
    assert question.judge(3, 6)[::2] == (None, False)
    assert question.judge(40, 80)[::2] == (Claim.out_of_reach, True)
    assert "4/8" in question.says(Claim.out_of_reach)


@given(base=st.tuples(counts, counts).filter(any), now=st.tuples(counts, counts))
def test_changes_are_symmetric_in_passes_and_failures(base, now):
    mirror = {
        Claim.better: Claim.worse,
        Claim.worse: Claim.better,
        Claim.not_worse: Claim.not_better,
        Claim.not_better: Claim.not_worse,
    }
    one = ChangeQuestion(base[0], sum(base), delta=0.3).judge(now[0], sum(now))
    other = ChangeQuestion(base[1], sum(base), delta=0.3).judge(now[1], sum(now))
    assert one.claim is (mirror.get(other.claim, other.claim) if other.claim else None)
    assert one.evidence == pytest.approx(other.evidence)


@pytest.mark.parametrize(
    ("before", "now"), [(1.0, 0.7), (0.9, 0.9), (0.5, 0.5), (0.95, 0.65), (0.1, 0.4), (0.8, 0.5), (0.02, 0.02)]
)
def test_a_change_is_wrong_no_more_often_than_stated_with_the_baseline_drawn_too(before, now):
    n_before, wrong = 6, 0.0
    for passed in range(n_before + 1):
        question = ChangeQuestion(passed, n_before, delta=0.3)
        chance = math.comb(n_before, passed) * before**passed * (1 - before) ** (n_before - passed)
        if chance > 1e-6:
            wrong += chance * wrong_share(walk(question, now, 24), true_changes(question, before, now))
    assert wrong <= 0.05


@pytest.mark.parametrize("delta", [0.2, 0.4])
@pytest.mark.parametrize(("n_before", "n"), [(3, 5), (6, 2), (4, 12)])
def test_evidence_against_what_is_true_is_worth_one_at_most(n_before, n, delta):
    """The expected stake, over every outcome of baseline and run, on and inside the edge of each hypothesis."""
    inside = {
        "worse": lambda b, c: c >= b,
        "better": lambda b, c: c <= b,
        "not_worse": lambda b, c: c <= b - delta + 1e-12,
        "not_better": lambda b, c: c >= b + delta - 1e-12,
    }
    pairs = [(i / 10, j / 10) for i in range(11) for j in range(11)]
    for name, is_true in inside.items():
        stakes = {
            (before, now): math.exp(
                getattr(bets_of(ChangeQuestion(before, n_before, delta=delta)), name).evidence((now, n - now))
            )
            for before in range(n_before + 1)
            for now in range(n + 1)
        }
        for b, c in pairs:
            if is_true(b, c):
                expected = sum(
                    stake * binomial(n_before, before, b) * binomial(n, now, c)
                    for (before, now), stake in stakes.items()
                    if binomial(n_before, before, b) and binomial(n, now, c)
                )
                assert expected <= 1 + 1e-6, (name, b, c)


def binomial(n: int, passed: int, rate: float) -> float:
    return math.comb(n, passed) * rate**passed * (1 - rate) ** (n - passed)


def test_a_baseline_without_attempts_is_refused():
    with pytest.raises(ValueError, match="no scored attempts"):
        ChangeQuestion(0, 0)


@pytest.mark.parametrize("given", [{"delta": 0}, {"delta": 20}, {"alpha": 1}])
def test_a_change_that_makes_no_sense_is_refused(given):
    with pytest.raises(ValueError, match=r"delta|alpha"):
        ChangeQuestion(4, 8, **given)


# -- many tasks -------------------------------------------------------------------------------------------------------


def test_e_bh_rejects_as_many_as_its_rule_allows():
    assert false_discovery_e([], 0.05) == []
    assert false_discovery_e([19.9], 0.05) == [False]
    assert false_discovery_e([20], 0.05) == [True]
    # Two of three: each has to be at least 3 / (0.05 * 2) = 30.
    assert false_discovery_e([31, 1, 30], 0.05) == [True, False, True]
    assert false_discovery_e([31, 1, 29], 0.05) == [False, False, False]


@given(values=st.lists(st.floats(0, 1e6), max_size=12), alpha=st.floats(0.001, 0.5))
def test_e_bh_is_the_largest_set_that_its_rule_allows(values, alpha):
    m = len(values)
    found = false_discovery_e(values, alpha)
    allowed = [r for r in range(1, m + 1) if sum(value >= m / (alpha * r) for value in values) >= r]
    assert sum(found) >= max(allowed, default=0)
    assert all(value >= m / (alpha * sum(found)) for value, one in zip(values, found, strict=True) if one)


# -- beside a fixed number of attempts --------------------------------------------------------------------------------


def test_a_fixed_number_needs_fifty_attempts_of_every_task():
    assert fixed_zone_k(ZoneQuestion()) == 50


@pytest.mark.parametrize("mix", MIXES, ids=lambda one: one.name)
def test_the_same_zones_are_settled_with_less_than_half_of_the_attempts(mix):
    found = compare_zones(mix, 500, 64, seed=1)
    assert found.share < 0.5
    assert found.same > 0.97
    assert found.wrong < 0.02
    assert found.undecided < 0.12


def test_tasks_between_two_zones_are_the_hard_case():
    """Where every task passes seven times in eight, half is out of reach, and the manual says so."""
    found = compare_zones(HARD_MIXES[0], 200, 64, seed=1)
    assert found.share > 0.5
    assert found.both_right > 0.99


def test_changes_are_found_with_half_of_the_attempts_of_a_fixed_number():
    found = compare_changes(MIXES[0], 150, 64, baseline_k=16, broken=0.2, seed=2)
    assert found.attempts / 64 < 0.5
    assert found.wrong <= 0.05
    assert found.found > 0.7
