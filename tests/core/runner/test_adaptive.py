import pytest

from rollgrid.runner.adaptive import AdaptiveLimit


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def answers(limit, clock, n, latency=1.0, *, held_back=True):
    """`n` answers to calls that were sent one after another."""
    changes = 0
    for _ in range(n):
        clock.now += 0.01
        changes += limit.answered(clock.now, latency, held_back=held_back)
    return changes


def test_it_doubles_with_each_round_until_something_is_refused(clock):
    limit = AdaptiveLimit(clock, start=4)
    seen = []
    for _ in range(4):
        answers(limit, clock, limit.limit)
        seen.append(limit.limit)
    assert seen == [8, 16, 32, 64]


def test_after_the_first_refusal_it_grows_by_one_a_round(clock):
    limit = AdaptiveLimit(clock, start=32)
    clock.now = 1.0
    assert limit.refused(1.0, "429")
    assert (limit.limit, limit.reason) == (16, "429")
    answers(limit, clock, 16)
    assert limit.limit == 17
    answers(limit, clock, 17)
    assert limit.limit == 18


def test_one_burst_of_refusals_cuts_once(clock):
    limit = AdaptiveLimit(clock, start=64)
    clock.now = 10.0
    assert [limit.refused(sent_at, "429") for sent_at in (9.0, 9.1, 9.2, 9.9)] == [True, False, False, False]
    assert limit.limit == 32


def test_what_was_sent_before_a_cut_does_not_count_as_good_news_after_it(clock):
    limit = AdaptiveLimit(clock, start=8)
    clock.now = 5.0
    limit.refused(5.0, "503")
    assert not any(limit.answered(4.0, 1.0, held_back=True) for _ in range(20))
    assert limit.limit == 4


def test_it_does_not_grow_while_nothing_waits_for_it(clock):
    limit = AdaptiveLimit(clock, start=4)
    assert answers(limit, clock, 100, held_back=False) == 0
    assert limit.limit == 4


def test_answers_that_take_more_than_twice_as_long_as_the_best_cut_it(clock):
    limit = AdaptiveLimit(clock, start=8)
    answers(limit, clock, 8, latency=1.0)
    answers(limit, clock, 16, latency=1.1)
    assert limit.limit == 32
    answers(limit, clock, 32, latency=2.9)
    assert limit.limit == 24
    assert limit.reason == "answers take 2.9 s, at best 1.0 s"


def test_latency_that_differs_by_a_hair_is_no_congestion(clock):
    limit = AdaptiveLimit(clock, start=8)
    answers(limit, clock, 8, latency=0.01)
    answers(limit, clock, 16, latency=0.05)
    assert limit.limit == 32


def test_it_stays_between_floor_and_ceiling(clock):
    limit = AdaptiveLimit(clock, start=4, ceiling=6)
    answers(limit, clock, 50)
    assert limit.limit == 6
    for _ in range(5):
        clock.now += 1
        limit.refused(clock.now, "429")
    assert limit.limit == 1
