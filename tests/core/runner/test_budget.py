import pytest

from rollgrid.runner.budget import FIRST_WAVE, Budget, Limits, Spent

ONE = Spent(cost=0.10, tokens=100, seconds=10.0)


def budget(**limits):
    return Budget(Limits(**limits))


def test_without_limits_everything_starts():
    assert budget().verdict(0, [(0, ONE)] * 50, 1e9) == ("start", "")


def test_an_attempt_that_would_go_over_does_not_start():
    one = budget(max_cost=0.35)
    for _ in range(3):
        assert one.verdict(0, [], 0.0)[0] == "start"
        one.ended(0, ONE)
    assert one.verdict(0, [], 0.0) == ("stop", "cost: $0.3000 of $0.35 is spent")


def test_what_is_in_flight_is_expected_to_cost():
    one = budget(max_tokens=500)
    one.ended(0, ONE)
    assert one.verdict(0, [(0, Spent())] * 2, 0.0)[0] == "start"
    assert one.verdict(0, [(0, Spent())] * 4, 0.0)[0] == "wait"


def test_an_attempt_in_flight_costs_at_least_what_it_has_cost_already():
    one = budget(max_tokens=500)
    one.ended(0, ONE)
    assert one.verdict(0, [(0, Spent(tokens=350))], 0.0)[0] == "wait"


def test_tasks_are_expected_to_cost_what_they_did():
    one = budget(max_tokens=1000)
    one.ended(0, Spent(tokens=10))
    one.ended(1, Spent(tokens=700))
    assert one.verdict(0, [], 0.0)[0] == "start"
    assert one.verdict(1, [], 0.0)[0] == "stop"


def test_nobody_knows_what_one_costs_so_few_go_first():
    one = budget(max_cost=100.0)
    assert one.verdict(0, [(0, Spent())] * (FIRST_WAVE - 1), 0.0)[0] == "start"
    assert one.verdict(0, [(0, Spent())] * FIRST_WAVE, 0.0)[0] == "wait"


def test_an_attempt_that_failed_without_a_token_teaches_nothing():
    one = budget(max_tokens=1000)
    one.ended(0, Spent(seconds=1.0))
    assert one.verdict(0, [(0, Spent())] * FIRST_WAVE, 0.0)[0] == "wait"


def test_time_counts_what_an_attempt_takes():
    one = budget(max_seconds=60)
    one.ended(0, ONE)
    assert one.verdict(0, [(0, Spent())] * 30, 49.0)[0] == "start"
    assert one.verdict(0, [(0, Spent())], 51.0) == ("stop", "time: 51 s of 60 s are used")


def test_earlier_sessions_are_paid_for_already():
    one = Budget(Limits(max_cost=1.0), Spent(cost=0.95))
    one.learn(0, ONE)
    assert one.verdict(0, [], 0.0)[0] == "stop"


def test_a_limit_that_is_spent_stops_whatever_the_next_one_costs():
    one = Budget(Limits(max_tokens=100), Spent(tokens=100))
    assert one.verdict(0, [], 0.0)[0] == "stop"


def test_limits_given_now_stand_over_earlier_ones():
    assert Limits(max_cost=2.0).over(Limits(1.0, 500)) == Limits(2.0, 500)
    assert Limits.from_dict(Limits(2.0, 500).to_dict()) == Limits(2.0, 500)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_above_zero(bad):
    with pytest.raises(ValueError, match="max_cost must be above 0"):
        Limits(max_cost=bad)
