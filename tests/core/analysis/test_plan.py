"""What a run has settled, and what the rest takes."""

import itertools

import pytest

from rollgrid.agent.run import Metrics
from rollgrid.analysis.plan import LOOKAHEAD, need, plan_run
from rollgrid.analysis.sequential import Claim, ZoneQuestion
from rollgrid.scorer import MismatchError
from support.results import attempt, result, run_output, task_result

ZONE = ZoneQuestion()


def graded(id, passed, scored, unscored=0, metrics=None):
    """A task with so many attempts; `metrics` is what each took."""
    outcomes = "+" * passed + "-" * (scored - passed) + "t" * unscored
    run = run_output() if metrics is None else run_output(metrics=metrics)
    return task_result(id, [attempt(one, run=run) for one in outcomes])


def test_a_settled_task_needs_nothing():
    told = need(ZONE, 15, 15)
    assert (told.expected, told.likely, told.chance) == (0, 0, 1)


def test_what_a_task_needs_is_added_up_over_all_paths():
    """Brute force over all sequences of the next nine attempts."""
    horizon, passed, scored = 9, 8, 9
    expected, by_n = 0.0, dict.fromkeys(range(1, horizon + 1), 0.0)
    for sequence in itertools.product((1, 0), repeat=horizon):
        chance, good, n = 1.0, passed, scored
        for one in sequence:
            rate = (good + 0.5) / (n + 1)
            chance *= rate if one else 1 - rate
            good, n = good + one, n + 1
        ended = next(
            (n for n in range(1, horizon + 1) if ZONE.judge(passed + sum(sequence[:n]), scored + n).settled), None
        )
        expected += chance * (ended or horizon)
        if ended is not None:
            by_n[ended] += chance
    told = need(ZONE, passed, scored, horizon)
    assert told.expected == pytest.approx(expected)
    assert told.chance == pytest.approx(sum(by_n.values()))
    assert dict(enumerate(told.shares, start=1)) == pytest.approx(by_n)


def test_a_task_that_only_passes_needs_as_many_as_are_missing_when_luck_holds():
    told = need(ZONE, 10, 10)
    assert told.soon == 5
    assert told.likely is not None
    assert 5 <= told.likely <= LOOKAHEAD
    assert told.expected > 5


def test_a_horizon_that_is_too_short_is_told():
    told = need(ZONE, 9, 10, 4)
    assert (told.likely, told.horizon) == (None, 4)
    assert told.chance < 0.9
    assert told.expected <= 4


def test_a_plan_says_what_is_settled_and_what_the_rest_takes():
    run = result(
        graded("sure", 16, 16),
        graded("between", 4, 8),
        graded("open", 8, 8, metrics=Metrics(input_tokens=100, output_tokens=20, cost=0.002)),
    )
    told = plan_run(run)
    assert [one.id for one in told.settled] == ["sure", "between"]
    assert [one.finding.claim for one in told.settled if one.finding] == [Claim.saturated, Claim.learning]
    assert [one.id for one in told.open] == ["open"]
    task = told.open[0]
    assert task.expected.attempts == pytest.approx(need(ZONE, 8, 8).expected)
    assert task.expected.tokens == pytest.approx(task.expected.attempts * 120)
    assert task.expected.cost == pytest.approx(task.expected.attempts * 0.002)
    assert told.expected.attempts == pytest.approx(task.expected.attempts)
    assert told.likely is not None
    assert told.likely.attempts == need(ZONE, 8, 8).likely
    assert "2 of 3 tasks settled, 1 open" in str(told)


def test_attempts_of_several_tasks_are_enough_together_sooner_than_the_sum_of_each():
    run = result(*(graded(f"t{i}", 8, 8) for i in range(6)))
    told = plan_run(run)
    each = need(ZONE, 8, 8).likely
    assert told.likely is not None
    assert each is not None
    assert told.expected.attempts < told.likely.attempts < 6 * each


def test_unscored_attempts_are_no_evidence_and_are_reckoned_with():
    whole, half = plan_run(result(graded("t", 8, 8))), plan_run(result(graded("t", 8, 8, unscored=8)))
    assert half.tasks[0].finding == whole.tasks[0].finding
    assert half.expected.attempts == pytest.approx(2 * whole.expected.attempts)
    assert "50 % of the attempts were unscored" in str(half)


def test_a_baseline_asks_about_changes_and_leaves_out_what_it_does_not_have():
    baseline = result(graded("kept", 32, 32), graded("broken", 8, 8), graded("middling", 4, 8))
    run = result(graded("kept", 24, 24), graded("broken", 0, 8), graded("middling", 40, 80), graded("new", 1, 2))
    told = plan_run(run, baseline)
    assert [(one.id, one.finding.claim) for one in told.settled if one.finding] == [
        ("kept", Claim.same),
        ("broken", Claim.worse),
    ]
    assert [one.id for one in told.out_of_reach] == ["middling"]
    assert [one.id for one in told.not_asked] == ["new"]
    assert told.tasks[1].holds_overall is True
    assert told.tasks[0].holds_overall is None


def test_a_change_that_one_of_many_tasks_shows_by_luck_is_marked():
    names = [f"t{i}" for i in range(200)]
    baseline = result(graded("odd", 8, 8), *(graded(name, 8, 8) for name in names))
    run = result(graded("odd", 0, 3), *(graded(name, 3, 3) for name in names))
    told = plan_run(run, baseline)
    assert told.tasks[0].finding is not None
    assert told.tasks[0].finding.claim is Claim.worse
    assert told.tasks[0].holds_overall is False
    assert "worse than the baseline (not among all tasks)" in str(told)


def test_another_environment_is_no_baseline():
    with pytest.raises(MismatchError):
        plan_run(result(graded("t", 1, 2)), result(graded("t", 1, 2), env_fingerprint="rgenv1:bb"))


def test_a_plan_is_json_ready_and_names_what_is_not_known():
    told = plan_run(result(graded("t", 7, 8))).to_dict()
    assert told["question"] == "zone"
    assert told["n_open"] == 1
    assert told["expected"]["cost"] is None
    assert told["tasks"][0]["claim"] is None


def test_names_of_tasks_are_shown_without_what_a_terminal_would_obey():
    text = str(plan_run(result(graded("a\x1b[31mb\u202ec", 8, 8))))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_zone_that_was_settled_as_the_run_went_on_stays_settled():
    """Attempts that were in the air when it was settled may weaken the evidence; the claim was made before."""
    told = {"claim": "saturated", "says": "saturated", "evidence": 20.8, "n_passed": 15, "n_scored": 15}
    run = result(graded("t", 15, 17), about={"settled": {"t": told}})
    assert ZONE.judge(15, 17).claim is None
    (task,) = plan_run(run).settled
    assert (task.finding.claim, task.finding.evidence) == (Claim.saturated, 20.8) if task.finding else False
    assert plan_run(run).expected.attempts == 0
    # Against a baseline another question is asked.
    assert plan_run(run, result(graded("t", 8, 8))).open
