"""The figures of a result."""

import pytest

from rollgrid.environments import EnvironmentRunResult
from rollgrid.scorer import Score
from support.results import attempt, result, task_result


def test_unscored_attempts_are_in_no_rate():
    one = task_result("a", "+-!tup")
    assert (one.n_scored, one.n_unscored, one.n_passed) == (2, 4, 1)
    assert one.pass_rate == 0.5


def test_rates_of_nothing_are_none_and_not_zero():
    one = task_result("a", "!!t")
    assert (one.pass_rate, one.mean_value) == (None, None)
    whole = result(one)
    assert (whole.pass_rate, whole.mean_value) == (None, None)
    assert (result().pass_rate, result().n_attempts) == (None, 0)


def test_the_mean_value_is_over_scored_attempts():
    attempts = [attempt(score=Score(value, value > 0.5)) for value in (0.25, 0.5, 1.0)]
    one = task_result("a", [*attempts, attempt("!")])
    assert one.mean_value == pytest.approx(1.75 / 3)
    assert result(one).mean_value == pytest.approx(1.75 / 3)


@pytest.mark.parametrize(
    ("outcomes", "inside"),
    [("+-", True), ("++-!", True), ("++", False), ("--", False), ("+!", False), ("-t", False), ("!!", False)],
)
def test_the_learning_zone_has_passes_and_fails(outcomes, inside):
    assert task_result("a", outcomes).in_learning_zone is inside


def test_the_overall_rate_counts_attempts_and_not_tasks():
    whole = result(task_result("a", "++++"), task_result("b", "-!!!"))
    assert (whole.n_attempts, whole.n_scored, whole.n_unscored, whole.n_passed) == (8, 5, 3, 4)
    assert whole.pass_rate == 0.8


def test_the_summary_has_exactly_its_frozen_keys():
    summary = result(task_result("a", "+-"), task_result("b", "!"), stopped_early="interrupted").summary()
    assert list(summary) == [
        "env",
        "k",
        "n_tasks",
        "n_attempts",
        "n_scored",
        "n_unscored",
        "pass_rate",
        "mean_value",
        "env_fingerprint",
        "policy_fingerprint",
        "stopped_early",
        "tasks",
    ]
    assert summary["tasks"] == [
        {"id": "a", "pass_rate": 0.5, "mean_value": 0.5, "n_unscored": 0, "learning_zone": True},
        {"id": "b", "pass_rate": None, "mean_value": None, "n_unscored": 1, "learning_zone": False},
    ]
    assert (summary["n_tasks"], summary["stopped_early"], summary["env"], summary["k"]) == (
        2,
        "interrupted",
        "arithmetic",
        2,
    )


def test_the_learning_zone_is_the_same_run_with_fewer_tasks():
    whole = result(task_result("a", "+-"), task_result("b", "++"), task_result("c", "-!+"))
    zone = whole.learning_zone()
    assert [one.task.id for one in zone.task_results] == ["a", "c"]
    assert isinstance(zone, EnvironmentRunResult)
    assert (zone.env_fingerprint, zone.policy_fingerprint, zone.k) == ("rgenv1:aa", "pp", 3)
    assert len(whole.task_results) == 3


def test_errors_are_by_task_and_tasks_without_are_absent():
    whole = result(task_result("a", "+-"), task_result("b", "!+t"))
    assert whole.errors() == {"b": ["ValueError: broken", "timeout after 5 s"]}


def test_a_result_matches_what_has_the_same_fingerprint_and_none_matches_nothing():
    assert result().env_matches(result())
    assert not result().env_matches(result(env_fingerprint="rgenv1:bb"))
    nameless = result(env_fingerprint=None)
    assert not nameless.env_matches(nameless)
    assert not nameless.env_matches(object())


def test_an_unknown_task_is_told_with_the_ids_there_are():
    with pytest.raises(KeyError, match="there are a, b"):
        result(task_result("a", "+"), task_result("b", "+")).task_result("c")


def test_a_transcript_that_lies_elsewhere_is_read_when_it_is_asked_for():
    reads = []

    def load():
        reads.append(1)
        return attempt().run

    one = attempt(run=None, load=load)
    one._run = None
    assert not reads
    assert one.read_run() is not one.read_run()
    assert not one.is_loaded
    assert one.run is one.run
    assert len(reads) == 3
