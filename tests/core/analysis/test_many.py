"""Several runs side by side."""

import json

import pytest

from rollgrid import MismatchError
from rollgrid.analysis import Verdict, compare, compare_many
from support.results import result, task_result


def runs():
    one = result(task_result("a", "+" * 8), task_result("b", "++++----"), about={"model": "small"})
    two = result(task_result("a", "-" * 8), task_result("b", "+++++---"), about={"model": "large"})
    three = result(task_result("a", "+" * 8), task_result("c", "++"), about={"model": "large"})
    return [one, two, three]


def test_every_run_has_a_column_and_every_task_a_row():
    told = compare_many(runs())
    assert told.labels == ("small", "large #1", "large #2")
    assert told.task_ids == ("a", "b", "c")
    assert told.comparisons[0] is None
    assert {one.id: one.verdict.value for one in told.comparisons[1].tasks} == {"a": "regressed", "b": "within noise"}
    assert told.comparisons[2].not_comparable == ("c", "b")


def test_several_looks_ask_for_more_evidence():
    told = compare_many(runs())
    alone = compare(runs()[0], runs()[1])
    together = told.comparisons[1]
    assert together.interval.low <= alone.interval.low
    assert together.interval.high >= alone.interval.high
    assert None not in (together.tasks[0].q_value, alone.tasks[0].q_value)
    assert (together.tasks[0].q_value or 0) > (alone.tasks[0].q_value or 0)


def test_two_runs_are_compared_as_compare_does():
    told = compare_many(runs()[:2])
    assert told.comparisons[1] == compare(runs()[0], runs()[1])


def test_another_run_can_be_the_reference():
    told = compare_many(runs(), reference=1)
    assert told.comparisons[1] is None
    assert told.comparisons[0].tasks[0].verdict is Verdict.improved


def test_labels_can_be_given():
    assert compare_many(runs(), labels=["x", "y", "z"]).labels == ("x", "y", "z")
    with pytest.raises(ValueError, match="as many labels"):
        compare_many(runs(), labels=["x"])


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="at least two"):
        compare_many(runs()[:1])
    with pytest.raises(ValueError, match="reference"):
        compare_many(runs(), reference=3)
    with pytest.raises(MismatchError):
        compare_many([*runs(), result(env_fingerprint="other")])


def test_the_verdict_over_a_single_shared_task_is_that_tasks():
    told = compare_many([runs()[0], runs()[0], result(task_result("a", "-" * 8))])
    assert told.comparisons[2].verdict is Verdict.regressed


def test_the_dict_is_json_and_the_text_marks_what_moved():
    told = compare_many(runs())
    assert json.loads(json.dumps(told.to_dict(), allow_nan=False))["labels"] == ["small", "large #1", "large #2"]
    (row,) = [line for line in str(told).split("\n") if line.startswith("a ")]
    assert row.split() == ["a", "8/8", "100.0", "%", "0/8", "0.0", "%", "-", "8/8", "100.0", "%"]
