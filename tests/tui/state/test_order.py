"""Filters of the grid."""

import pytest

from rollgrid_tui.state.order import Filter, Sort
from rollgrid_tui.state.run_view import RunView
from support.fake_log import NOW, attempt_row, run_row, task_row


@pytest.fixture
def view():
    view = RunView(lambda: NOW)
    tasks = [
        task_row(0, "cats-1", split="train", level=3),
        task_row(1, "dogs-1", split="validation"),
        task_row(2, "cats-2", split="validation"),
    ]
    view.apply(
        run_row(), tasks, [attempt_row(0, 1), attempt_row(1, 1, "error"), attempt_row(2, 1), attempt_row(2, 2, "fail")]
    )
    return view


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", [0, 1, 2]),
        ("cats", [0, 2]),
        ("CATS", [0, 2]),
        ("valid", [1, 2]),
        ("split:validation", [1, 2]),
        ("split:valid", []),
        ("level:3", [0]),
        ("zone:learning", [2]),
        ("zone:l", [2]),
        ("zone:", [0, 1, 2]),
        ("is:error", [1]),
        ("is:fail", [2]),
        ("is:failure", [1, 2]),
        ("-cats", [1]),
        ("-is:fail cats", [0]),
        ("cats split:validation", [2]),
        ("nothing-like-it", []),
    ],
)
def test_a_filter_shows_the_tasks_it_names(view, text, shown):
    view.set_filter(text)
    assert view.order == shown


@pytest.mark.parametrize("text", ["zone:x", "is:odd"])
def test_a_filter_that_means_nothing_says_what_would_and_hides_nothing(view, text):
    view.set_filter(text)
    assert view.filter.problem is not None
    assert "takes" in view.filter.problem
    assert view.order == [0, 1, 2]


def test_only_filters_on_results_are_looked_at_again():
    assert Filter.parse("is:error").live
    assert not Filter.parse("cats split:train").live


def test_sorts_go_around():
    sort = Sort.position
    for _ in Sort:
        sort = sort.next(with_delta=True)
    assert sort is Sort.position


def test_without_a_baseline_there_is_no_sort_by_the_difference_to_it():
    assert Sort.rate.next() is Sort.errors
    assert Sort.rate.next(with_delta=True) is Sort.delta
    assert Sort.delta.next() is Sort.position
