"""The decision of a gate, rule by rule."""

import json
from dataclasses import replace

import pytest

from rollgrid import MismatchError
from rollgrid.analysis import GateRules, decide
from rollgrid.analysis.rules import RulesError, rules_from
from support.results import result, task_result

GOOD = result(*(task_result(f"t{i}", "++++++++") for i in range(8)))
HALF = result(*(task_result(f"t{i}", "++++----") for i in range(8)))


def outcome(result, baseline=None, **rules):
    return decide(result, GateRules(**rules), baseline).outcome.value


def messages(decision, kind="failed"):
    return [one.message for one in decision.findings if one.outcome.value == kind]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"min_pass_rate": 0.5}, "passed"),
        ({"min_pass_rate": 0.51}, "failed"),
        ({"min_lower_bound": 0.3}, "passed"),
        ({"min_lower_bound": 0.5}, "failed"),
        ({"min_task_pass_rate": 0.5}, "passed"),
        ({"min_task_pass_rate": 0.6}, "failed"),
        ({"task_floors": {"t3": 0.5}}, "passed"),
        ({"task_floors": {"t3": 0.6}}, "failed"),
        ({"min_task_pass_rate": 0.6, "task_floors": {f"t{i}": 0.1 for i in range(8)}}, "passed"),
    ],
)
def test_floors(rules, expected):
    assert outcome(HALF, **rules) == expected


def test_the_exit_codes_are_those_of_the_manual():
    assert decide(GOOD, GateRules(min_pass_rate=0.9)).exit_code == 0
    assert decide(HALF, GateRules(min_pass_rate=0.9)).exit_code == 1
    assert decide(result(task_result("a", "!!")), GateRules(min_pass_rate=0.9)).exit_code == 3


def test_every_broken_rule_is_told():
    decision = decide(HALF, GateRules(min_pass_rate=0.9, min_task_pass_rate=0.9))
    assert len(messages(decision)) == 9
    assert decision.summary == "pass rate 50 % (32/64), at least 90 % (and 8 more)"


@pytest.mark.parametrize("reason", ["error-storm", "interrupted", "dead", "budget", "still running"])
def test_a_run_that_is_not_whole_is_inconclusive_and_never_a_regression(reason):
    stopped = replace(HALF, stopped_early=reason)
    decision = decide(stopped, GateRules(min_pass_rate=0.9), GOOD)
    assert decision.outcome.value == "inconclusive"
    assert reason in decision.summary


def test_a_run_that_had_seen_enough_is_whole():
    settled = result(task_result("a", "++++"), k=32, stopped_early="decided")
    assert outcome(settled, min_pass_rate=0.9) == "passed"


def test_too_much_unscored_is_inconclusive_even_when_a_floor_is_broken():
    blind = result(task_result("a", "+-!!!!!!"))
    assert outcome(blind, min_pass_rate=0.9) == "inconclusive"
    assert outcome(blind, min_pass_rate=0.9, max_unscored=0.75) == "failed"
    assert outcome(blind, min_pass_rate=0.9, max_unscored=0.74) == "inconclusive"


def test_attempts_that_were_never_made_are_unscored():
    assert outcome(result(task_result("a", "++"), k=8), min_pass_rate=0.5) == "inconclusive"


def test_nothing_scored_is_inconclusive():
    decision = decide(result(task_result("a", "!t")), GateRules(min_pass_rate=0.5, max_unscored=1))
    assert (decision.outcome.value, decision.summary) == ("inconclusive", "no attempt was scored")


def test_a_task_with_a_floor_and_nothing_scored_leaves_the_gate_inconclusive():
    partly = result(task_result("a", "++++++++++"), task_result("b", "!"), k=1)
    assert outcome(partly, task_floors={"b": 0.5}) == "inconclusive"
    assert outcome(partly, task_floors={"b": 0.5, "a": 1.0}, min_pass_rate=1.0) == "inconclusive"
    assert outcome(partly, task_floors={"a": 0.5}) == "passed"


def test_a_broken_rule_weighs_more_than_one_that_cannot_be_applied():
    assert outcome(HALF, min_pass_rate=0.9, max_cost=1) == "failed"


@pytest.mark.parametrize(
    ("cost", "expected"), [(0.5, "passed"), (1.0, "passed"), (1.01, "failed"), (None, "inconclusive")]
)
def test_cost(cost, expected):
    about = {} if cost is None else {"cost": cost}
    assert outcome(replace(GOOD, about=about), max_cost=1.0) == expected


def test_a_drop_of_exactly_the_limit_is_not_above_it():
    before = result(task_result("a", "+" * 9 + "-"), task_result("b", "+" * 7 + "-" * 3))
    after = result(task_result("a", "+" * 8 + "--"), task_result("b", "+" * 6 + "-" * 4))
    assert outcome(after, before, max_drop=0.1) == "passed"
    assert outcome(after, before, max_drop=0.09) == "failed"
    assert outcome(before, after, max_drop=0) == "passed"


def test_a_significant_drop_needs_more_than_chance():
    before = result(*(task_result(f"t{i}", "+++++---") for i in range(8)))
    little = result(*(task_result(f"t{i}", "++++----" if i % 2 else "++++++--") for i in range(8)))
    assert outcome(little, before, max_significant_drop=0) == "passed"
    assert outcome(HALF, GOOD, max_significant_drop=0) == "failed"
    assert outcome(HALF, GOOD, max_significant_drop=0.6) == "passed"


def test_a_task_that_broke_fails_the_gate_although_the_mean_hardly_moved():
    tasks = [task_result(f"t{i}", "+" * 8) for i in range(12)]
    broken = result(*tasks[:-1], task_result("t11", "-" * 8))
    before = result(*tasks)
    assert outcome(broken, before, max_significant_drop=0) == "passed"
    decision = decide(broken, GateRules(no_regressed_tasks=True), before)
    assert [one.task for one in decision.findings if one.outcome.value == "failed"] == ["t11"]


def test_a_baseline_without_a_rule_about_it_asks_for_nothing_worse():
    assert outcome(HALF, GOOD) == "failed"
    assert outcome(HALF, GOOD, min_pass_rate=0.5) == "failed"
    assert outcome(GOOD, HALF) == "passed"
    assert outcome(HALF, GOOD, max_drop=0.6) == "passed"


def test_no_shared_scored_task_is_inconclusive():
    assert outcome(result(task_result("new", "++")), result(task_result("old", "++"))) == "inconclusive"


def test_with_few_tasks_the_scope_decides_and_the_message_says_so():
    few = result(*(task_result(f"t{i}", "++++++++") for i in range(5)))
    decision = decide(few, GateRules(min_lower_bound=0.8))
    assert decision.outcome.value == "failed"
    assert "for exactly these tasks it would be [91.2, 100.0]" in messages(decision)[0]
    assert outcome(few, min_lower_bound=0.8, scope="these") == "passed"


def test_a_gate_without_a_rule_is_refused():
    with pytest.raises(ValueError, match="no rule"):
        decide(GOOD, GateRules())
    with pytest.raises(ValueError, match="no rule"):
        decide(GOOD, GateRules(max_unscored=0.5))


def test_a_rule_about_a_baseline_needs_one():
    for rules in ({"max_drop": 0.1}, {"max_significant_drop": 0}, {"no_regressed_tasks": True}):
        with pytest.raises(ValueError, match="no baseline"):
            decide(GOOD, GateRules(**rules))


def test_a_floor_for_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="'t99'"):
        decide(GOOD, GateRules(task_floors={"t99": 0.5}))


def test_a_baseline_of_another_environment_is_refused():
    with pytest.raises(MismatchError):
        decide(GOOD, GateRules(), replace(GOOD, env_fingerprint="other"))


@pytest.mark.parametrize(
    "rules",
    [
        {"min_pass_rate": 80},
        {"max_drop": -0.1},
        {"task_floors": {"a": 2}},
        {"max_cost": -1},
        {"max_cost": float("nan")},
        {"scope": "all"},
        {"confidence": 95},
    ],
)
def test_values_that_make_no_sense_are_refused(rules):
    with pytest.raises(ValueError, match="must"):
        GateRules(**rules)


def test_the_decision_is_json_and_its_text_says_the_outcome_first():
    decision = decide(HALF, GateRules(min_pass_rate=0.9), GOOD)
    told = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert (told["outcome"], told["exit_code"]) == ("failed", 1)
    assert told["comparison"]["verdict"] == "regressed"
    assert str(decision).startswith("gate failed: pass rate 50 %")


# -- rules of the configuration -------------------------------------------------------------------------------------


def test_a_flag_beats_the_configuration_and_floors_add_up():
    rules = rules_from(
        {"min_pass_rate": 0.8, "max_unscored": 0.2, "task_floors": {"a": 0.1, "b": 0.2}},
        {"min_pass_rate": 0.9, "max_unscored": None, "task_floors": {"b": 0.3}},
    )
    assert (rules.min_pass_rate, rules.max_unscored) == (0.9, 0.2)
    assert rules.task_floors == {"a": 0.1, "b": 0.3}


def test_a_switch_of_the_configuration_can_be_turned_off():
    assert not rules_from({"no_regressed_tasks": True}, {"no_regressed_tasks": False}).no_regressed_tasks


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"minimum": 0.8}, "minimum"),
        ({"min_pass_rate": "high"}, "min_pass_rate"),
        ({"min_pass_rate": True}, "min_pass_rate"),
        ({"min_pass_rate": 80}, "min_pass_rate"),
        ({"no_regressed_tasks": 1}, "no_regressed_tasks"),
        ({"task_floors": [1]}, "task_floors"),
        ({"task_floors": {"a": "x"}}, "task_floors"),
        ({"scope": "all"}, "scope"),
    ],
)
def test_a_broken_configuration_is_one_line_that_names_the_rule(table, named):
    with pytest.raises(RulesError) as caught:
        rules_from(table, {})
    assert named in caught.value.message
    assert "\n" not in caught.value.message
