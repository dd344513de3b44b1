"""Two runs: verdicts, and when none is given."""

import json

import pytest

from rollgrid import MismatchError
from rollgrid.analysis import Verdict, compare
from rollgrid.analysis.comparison import Count, compare_counts, overall_delta
from rollgrid.analysis.exact import exact_p
from rollgrid.analysis.wilson import clustered, newcombe
from support.results import result, task_result
from support.simulation import interval_of


def verdicts(told):
    return {one.id: one.verdict.value for one in told.tasks}


def test_a_change_beyond_chance_is_called_and_one_within_it_is_not():
    before = result(task_result("a", "+" * 8), task_result("b", "-" * 8), task_result("c", "++++----"))
    after = result(task_result("a", "-" * 8), task_result("b", "+" * 8), task_result("c", "+++++---"))
    told = compare(before, after)
    assert verdicts(told) == {"a": "regressed", "b": "improved", "c": "within noise"}
    assert (told.regressed, told.improved) == (("a",), ("b",))


def test_the_p_value_is_that_of_the_exact_test_and_the_interval_newcombes():
    (task,) = compare(result(task_result("a", "++++++--")), result(task_result("a", "++--"))).tasks
    assert task.p_value == exact_p(6, 8, 2, 4)
    assert task.interval == newcombe(0.75, interval_of(6, 8), 0.5, interval_of(2, 4))
    assert task.delta == -0.25


def test_more_tasks_ask_for_more_evidence():
    """8 of 8 against 3 of 8 is a finding alone, and is none among nineteen tasks that did not change."""
    alone = compare(result(task_result("a", "+" * 8)), result(task_result("a", "+++-----")))
    assert alone.tasks[0].verdict is Verdict.regressed
    others = [task_result(f"t{i}", "++++----") for i in range(19)]
    among = compare(result(task_result("a", "+" * 8), *others), result(task_result("a", "+++-----"), *others))
    assert among.tasks[0].verdict is Verdict.within_noise
    assert among.tasks[0].p_value is not None
    assert among.tasks[0].q_value == pytest.approx(20 * among.tasks[0].p_value)


def test_unequal_numbers_of_attempts_are_fine():
    told = compare(result(task_result("a", "+" * 32)), result(task_result("a", "-" * 4)))
    assert told.tasks[0].verdict is Verdict.regressed
    assert (str(told.tasks[0].baseline), str(told.tasks[0].current)) == ("32/32", "0/4")


def test_what_one_side_lacks_is_listed_as_not_comparable_with_the_reason():
    before = result(task_result("a", "+"), task_result("old", "+"), task_result("blind", "!!"))
    after = result(task_result("a", "+"), task_result("new", "+"), task_result("blind", "++"))
    told = compare(before, after)
    reasons = {one.id: one.why for one in told.tasks if one.verdict is Verdict.not_comparable}
    assert reasons == {
        "new": "only in the current run",
        "old": "only in the baseline",
        "blind": "nothing scored in the baseline",
    }
    assert told.n_shared == 1
    assert told.not_comparable == ("new", "blind", "old")


def test_no_shared_task_gives_no_overall_verdict():
    told = compare(result(task_result("a", "!")), result(task_result("a", "+")))
    assert (told.verdict, told.delta, told.interval) == (Verdict.not_comparable, None, None)
    assert "not comparable" in str(told)


def test_runs_of_different_environments_are_refused():
    with pytest.raises(MismatchError, match="not from the same environment"):
        compare(result(), result(env_fingerprint="other"))
    with pytest.raises(MismatchError):
        compare(result(env_fingerprint=None), result(env_fingerprint=None))


def test_a_simulated_run_is_compared_with_no_real_one():
    made_up = result(task_result("a", "+"), about={"model_kind": "simulated"})
    with pytest.raises(MismatchError, match="made-up answers"):
        compare(result(task_result("a", "+")), made_up)
    with pytest.raises(MismatchError, match="the baseline is simulated"):
        compare(made_up, result(task_result("a", "+")))
    assert compare(made_up, made_up).verdict is Verdict.within_noise


def test_the_overall_delta_weighs_every_task_the_same():
    """A task with more scored attempts on one side moves the pooled rate; it must not move the paired delta."""
    before = result(task_result("easy", "+" * 8), task_result("hard", "--"))
    after = result(task_result("easy", "++"), task_result("hard", "-" * 8))
    assert before.pass_rate == 0.8
    assert after.pass_rate == 0.2
    told = compare(before, after)
    assert (told.delta, told.verdict) == (0.0, Verdict.within_noise)


def test_the_overall_interval_is_the_paired_t_interval():
    from scipy import stats

    pairs = [
        (Count(6, 8), Count(7, 8)),
        (Count(2, 8), Count(4, 8)),
        (Count(5, 8), Count(5, 8)),
        (Count(1, 8), Count(4, 8)),
    ]
    moves = [1 / 8, 2 / 8, 0, 3 / 8]
    theirs = stats.ttest_1samp(moves, 0).confidence_interval(0.95)
    assert overall_delta(pairs).interval == pytest.approx((theirs.low, theirs.high), abs=1e-5)
    theirs = stats.ttest_1samp(moves, 0).confidence_interval(0.8)
    assert overall_delta(pairs, 0.8).interval == pytest.approx((theirs.low, theirs.high), abs=1e-5)


def test_equal_movements_do_not_make_a_certainty():
    """All passed in both runs: no difference was seen, and with five tasks little is known."""
    told = overall_delta([(Count(8, 8), Count(8, 8))] * 5)
    side = clustered([(8, 8)] * 5)
    assert told.interval == newcombe(1.0, side, 1.0, side)
    assert told.interval.low < -0.3
    assert told.interval_these_tasks.low > -0.1


def test_one_task_has_the_verdict_of_its_exact_test():
    told = compare(result(task_result("a", "+" * 8)), result(task_result("a", "+++-----")))
    assert told.verdict is told.tasks[0].verdict is Verdict.regressed


def test_a_drop_of_exactly_a_tenth_is_a_tenth():
    pairs = [(Count(7, 10), Count(6, 10)), (Count(9, 10), Count(8, 10)), (Count(3, 10), Count(2, 10))]
    assert overall_delta(pairs).delta == -0.1


def test_the_diff_of_results_has_the_same_statistics():
    before, after = result(task_result("a", "+" * 8)), result(task_result("a", "-" * 8))
    assert after.diff(before).statistics() == compare(before, after)
    assert after.diff(before).to_dict().keys() == {
        "env_name",
        "policy_changed",
        "rows",
        "improved",
        "regressed",
        "unmatched_current",
        "unmatched_baseline",
    }


def test_a_thousand_tasks_of_sixty_four_attempts_ask_for_few_tables():
    """The cost of a comparison is that of its different tables."""
    from rollgrid.analysis import exact

    before = {f"t{i}": Count(i % 65, 64) for i in range(1000)}
    after = {f"t{i}": Count(i * 7 % 65, 64) for i in range(1000)}
    exact._kept.cache_clear()
    exact._fisher_table.cache_clear()
    told = compare_counts(before, after, env_name="large", policy_changed=False)
    assert len(told.tasks) == 1000
    assert exact._kept.cache_info().misses <= 65
    assert exact._fisher_table.cache_info().misses == 1


def test_the_dict_is_json():
    before = result(task_result("a", "+-"), task_result("b", "!"))
    told = json.loads(json.dumps(compare(before, before).to_dict(), allow_nan=False))
    assert told["verdict"] == "within noise"
    assert told["tasks"][0]["baseline"] == {"n_passed": 1, "n_scored": 2, "pass_rate": 0.5}
    assert told["tasks"][1]["why"] == "nothing scored in the baseline and the current run"


def test_the_text_says_verdicts_with_their_intervals_and_holds_no_escape():
    text = str(compare(result(task_result("a\x1b[2J", "+" * 8)), result(task_result("a\x1b[2J", "-" * 8))))
    assert "\x1b" not in text
    assert "-100.0" in text
    assert text.rstrip().endswith("regressed")
    assert "regressed: 100.0 % -> 0.0 % over 1 shared task" in text
