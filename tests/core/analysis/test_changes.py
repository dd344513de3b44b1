"""Change points: right p-values, found where they are, and seldom where they are not."""

import itertools
from math import comb
from random import Random

import pytest
from scipy.stats import fisher_exact

from rollgrid.analysis.changes import best_split, likely_places, overall_changes, overall_segment, task_changes

RUNS = [(8, 8)] * 5
WORSE = [(3, 8)] * 5


def fisher(counts, at):
    """Two-sided Fisher, the smaller tail doubled."""
    (a, n), (b, m) = (tuple(map(sum, zip(*part, strict=True))) for part in (counts[:at], counts[at:]))
    tails = [fisher_exact([[a, n - a], [b, m - b]], alternative=side)[1] for side in ("less", "greater")]
    return min(1.0, 2 * min(tails))


def enumerated(counts):
    """The same by going through every way in which the passes could have fallen."""

    def smallest(passes):
        row = [(one, n) for one, (_, n) in zip(passes, counts, strict=True)]
        return min(fisher(row, at) for at in range(1, len(row)))

    observed = smallest([one for one, _ in counts])
    total = sum(one for one, _ in counts)
    ways = extreme = 0
    for passes in itertools.product(*(range(n + 1) for _, n in counts)):
        if sum(passes) == total:
            weight = 1
            for one, (_, n) in zip(passes, counts, strict=True):
                weight *= comb(n, one)
            ways += weight
            extreme += weight if smallest(passes) <= observed * (1 + 1e-9) else 0
    return extreme / ways


@pytest.mark.parametrize(
    "counts",
    [
        [(4, 4), (0, 4)],
        [(3, 4), (1, 4), (0, 4)],
        [(2, 2), (3, 4), (1, 3), (0, 2)],
        [(1, 1), (1, 1), (0, 1), (0, 1), (0, 1)],
        [(1, 2), (1, 2), (1, 2)],
    ],
)
def test_the_p_value_is_that_of_the_best_split_over_all_splits(counts):
    assert best_split(counts).p_value == pytest.approx(enumerated(counts), rel=1e-9)


def test_two_runs_are_fishers_test():
    assert best_split([(8, 8), (3, 8)]).p_value == pytest.approx(fisher([(8, 8), (3, 8)], 1))


def test_the_change_is_where_it_happened():
    assert best_split(RUNS + WORSE).at == 5
    assert best_split(WORSE + RUNS).at == 5
    assert best_split(RUNS + WORSE).p_value < 1e-6


def test_runs_without_a_score_count_for_nothing():
    with_gaps = [(0, 0), *RUNS, (0, 0), *WORSE]
    assert best_split(with_gaps).at == 7
    assert best_split(with_gaps).p_value == best_split(RUNS + WORSE).p_value
    assert best_split([(4, 8), (0, 0)]) is None
    assert best_split([]) is None


@pytest.mark.parametrize("counts", [[(8, 8)] * 6, [(0, 8)] * 6, [(4, 8)] * 6])
def test_runs_that_are_alike_have_no_change(counts):
    assert best_split(counts).p_value == pytest.approx(1.0)
    assert task_changes([counts]) == [[]]
    assert overall_changes([counts, counts]) == []


def test_a_large_history_stays_a_probability():
    counts = [(500, 1000)] * 20 + [(700, 1000)] * 20
    split = best_split(counts)
    assert split.at == 20
    assert 0 <= split.p_value < 1e-12


def test_two_changes_of_one_task_are_both_found():
    (found,) = task_changes([RUNS + WORSE + RUNS])
    assert [split.at for split in found] == [5, 10]


def test_the_overall_change_is_one_that_many_tasks_share_and_none_shows():
    rng = Random(4)
    rows = []
    for _ in range(30):
        rate = rng.uniform(0.5, 0.9)
        rows.append([(sum(rng.random() < rate - (0.2 if run >= 5 else 0) for _ in range(6)), 6) for run in range(10)])
    (split,) = overall_changes(rows)
    assert abs(split.at - 5) <= 1
    assert sum(map(bool, task_changes(rows))) <= 6


def test_tasks_of_different_difficulty_that_come_and_go_are_no_change():
    easy, hard = [(8, 8)] * 6 + [(0, 0)] * 6, [(0, 0)] * 6 + [(1, 8)] * 6
    assert overall_changes([easy, hard, [(4, 8)] * 12]) == []


def test_the_same_runs_give_the_same_number():
    rows = [RUNS + WORSE, [(5, 8)] * 10]
    assert overall_segment(rows) == overall_segment(rows)
    assert overall_segment([RUNS + WORSE]) == (5, 10, best_split(RUNS + WORSE).p_value)
    assert overall_segment([]) is None
    assert overall_segment([[(8, 8)] * 4, [(0, 8)] * 4]) is None


def test_a_loss_that_was_put_right_is_found_as_such():
    rows = [[(6, 8)] * 6 + [(3, 8)] * 2 + [(6, 8)] * 6 for _ in range(4)]
    assert [split.at for split in overall_changes(rows)] == [6, 8]


def test_the_place_of_a_large_change_is_known_and_that_of_a_small_one_is_not():
    assert likely_places([RUNS + WORSE], 0, 10) == (5, 5)
    first, last = likely_places([[(6, 8), (5, 8), (6, 8), (4, 8), (5, 8), (3, 8)]], 0, 6)
    assert last - first >= 3


def test_without_a_change_findings_are_rare_and_with_one_they_are_seldom_wrong():
    rng = Random(7)

    def row(rate, drop=0.0, runs=8, k=8):
        return [(sum(rng.random() < rate - (drop if run >= 4 else 0) for _ in range(k)), k) for run in range(runs)]

    rates = [0.0, 0.1, 0.5, 0.8, 0.95, 1.0]
    null = [[row(rates[task % 6]) for task in range(12)] for _ in range(100)]
    assert sum(any(task_changes(rows)) for rows in null) <= 11
    assert sum(bool(overall_changes(rows)) for rows in null) <= 11
    right = wrong = 0
    for _ in range(30):
        found = task_changes([row(0.95, 0.6) for _ in range(3)] + [row(0.8) for _ in range(9)])
        right += sum(map(bool, found[:3]))
        wrong += sum(map(bool, found[3:]))
    assert right >= 80
    assert wrong <= 0.15 * (right + wrong)
