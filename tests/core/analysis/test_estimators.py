"""The statistics of one run."""

import json

import pytest

from rollgrid.analysis.wilson import clustered, wilson
from rollgrid.environments.attempt import Usage
from support.results import attempt, result, run_output, task_result


def only_task(outcomes, **fields):
    (task,) = result(task_result("a", outcomes, **fields)).statistics().tasks
    return task


def test_a_task_has_its_wilson_interval():
    task = only_task("+++-")
    assert (task.n_passed, task.n_scored, task.pass_rate) == (3, 4, 0.75)
    assert task.interval == wilson(3, 4)


def test_unscored_attempts_are_in_no_rate_and_open_the_bounds():
    task = only_task("++-!tu")
    assert (task.n_scored, task.n_unscored, task.pass_rate) == (3, 3, pytest.approx(2 / 3))
    assert task.interval == wilson(2, 3)
    assert task.bounds == (2 / 6, 5 / 6)


def test_a_task_with_nothing_scored_has_bounds_and_no_rate():
    task = only_task("!t")
    assert (task.pass_rate, task.interval, task.pass_at, task.bounds) == (None, None, (), (0.0, 1.0))


def test_pass_at_and_pass_hat_go_as_far_as_there_are_scored_attempts():
    task = only_task("+-!")
    assert task.pass_at == (0.5, 1.0)
    assert task.pass_hat == (0.5, 0.0)


def test_the_overall_interval_is_clustered_by_task():
    told = result(task_result("a", "++++++++"), task_result("b", "--------")).statistics()
    assert told.interval == clustered([(8, 8), (0, 8)])
    assert told.interval_these_tasks == wilson(8, 16)
    assert told.interval.high - told.interval.low > 1.5 * (
        told.interval_these_tasks.high - told.interval_these_tasks.low
    )


def test_the_overall_rate_is_that_of_the_summary():
    made = result(task_result("a", "++-!"), task_result("b", "-"))
    told = made.statistics()
    assert (told.pass_rate, told.n_unscored) == (made.summary()["pass_rate"], made.summary()["n_unscored"])
    assert told.bounds == (2 / 5, 3 / 5)


def test_another_confidence_changes_every_interval():
    made = result(task_result("a", "+++-"), task_result("b", "+---"), task_result("c", "++--"))
    wide, narrow = made.statistics(0.99), made.statistics(0.8)
    for one, other in ((wide.tasks[0].interval, narrow.tasks[0].interval), (wide.interval, narrow.interval)):
        assert one.low < other.low < other.high < one.high
    with pytest.raises(ValueError, match=r"such as 0\.95"):
        made.statistics(95)


def test_pass_at_j_of_the_run_is_the_mean_over_tasks_with_that_many_attempts():
    told = result(task_result("a", "++--"), task_result("b", "+-")).statistics()
    by_j = {one.j: one for one in told.at_j}
    assert by_j[1] == (1, 0.5, 0.5, 2)
    assert by_j[2].pass_at == pytest.approx((5 / 6 + 1) / 2)
    assert (by_j[4].n_tasks, by_j[4].pass_hat) == (1, 0.0)


def test_timeouts_are_lower_bounds_of_latency_and_errors_say_nothing_of_it():
    attempts = [
        attempt("+", duration_seconds=2.0),
        attempt("-", duration_seconds=4.0),
        attempt("u", duration_seconds=3.0),
        attempt("!", duration_seconds=0.1),
        attempt("t", duration_seconds=120.0),
    ]
    latency = only_task(attempts).effort.latency
    assert (latency.n, latency.n_censored, latency.median) == (4, 1, 3.5)
    assert latency.bounds == (False, True, True)


def test_tokens_and_cost_are_of_every_attempt_that_reports_them():
    def paid(outcome, tokens, cost):
        return attempt(outcome, run_output(), usage=Usage(tokens, tokens, cost))

    effort = only_task([paid("+", 10, 0.5), paid("!", 20, None), paid("-", 0, None)]).effort
    assert (effort.tokens.n, effort.tokens.total) == (2, 60)
    assert (effort.cost.n, effort.cost.total, effort.n_unpriced) == (1, 0.5, 1)


def test_the_cost_of_a_run_is_what_the_log_counted():
    assert result(task_result("a", "+"), about={"cost": 2.5}).statistics().total_cost == 2.5
    assert result(task_result("a", "+")).statistics().total_cost is None


def test_reading_figures_reads_no_transcript():
    def never():
        raise AssertionError("a transcript was read")

    lazy = attempt("+", load=never, usage=Usage(3, 4, None))
    lazy.drop_run()
    assert only_task([lazy]).effort.tokens.total == 7


def test_the_dict_is_json_and_an_empty_run_has_one_too():
    for made in (result(task_result("a", "+-!"), task_result("b", "!")), result()):
        told = json.loads(json.dumps(made.statistics().to_dict(), allow_nan=False))
        assert told["n_tasks"] == len(made.task_results)
    assert result().statistics().interval is None


def test_the_text_shows_every_task_with_its_interval_and_no_escape():
    text = str(result(task_result("x\x1b[2J\u202e", "+++-"), task_result("b", "--!")).statistics())
    assert "\x1b" not in text
    assert "3/4 75.0 % [30.1, 95.4]" in " ".join(text.split())
    assert "for tasks like these" in text
    assert "had every unscored attempt failed: 42.9 %; passed: 57.1 %" in text


def test_made_up_answers_are_called_that():
    assert "SIMULATED" in str(result(task_result("a", "+"), about={"model_kind": "simulated"}).statistics())
