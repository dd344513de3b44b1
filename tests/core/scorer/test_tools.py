"""Scoring by the tools that a run really used."""

import pytest

from rollgrid.scorer import FingerprintError, Scorer, ToolCallScorer
from support.results import run_output, tool


def scored(scorer, *tools):
    return scorer.score(run_output(tools=list(tools)))


def test_every_expected_tool_must_have_been_executed():
    scorer = ToolCallScorer(["search", "add"])
    assert scored(scorer, tool("add"), tool("search")).passed
    score = scored(scorer, tool("search"))
    assert (score.passed, score.value) == (False, 0.5)
    assert "add" in str(score.reason)


def test_a_request_alone_does_not_count():
    from rollgrid.agent import Message, ToolCall

    run = run_output()
    run.messages.append(Message(role="assistant", tool_calls=[ToolCall("c1", "search", "{}")]))
    score = ToolCallScorer(["search"]).score(run)
    assert (score.passed, score.value) == (False, 0.0)
    assert "no tool" in str(score.reason)


@pytest.mark.parametrize("state", [{"tool_call_error": True}, {"is_paused": True}])
def test_a_failed_or_paused_execution_is_not_clean(state):
    scorer = ToolCallScorer(["search"])
    assert not scored(scorer, tool("search", **state)).passed
    assert scored(scorer, tool("search", **state), tool("search")).passed


def test_a_name_that_stands_twice_is_one_check():
    scorer = ToolCallScorer(["search", "search", "add"])
    assert scored(scorer, tool("search")).value == 0.5
    assert scored(scorer, tool("search"), tool("add")).passed


def test_arguments_match_by_subset():
    scorer = ToolCallScorer([], arguments={"add": {"a": 1}})
    assert scored(scorer, tool("add", args={"a": 1, "b": 2})).passed
    assert not scored(scorer, tool("add", args={"b": 1})).passed
    assert not scored(scorer, tool("other", args={"a": 1})).passed


@pytest.mark.parametrize(
    ("wanted", "actual", "met"),
    [
        (1, 1, True),
        (1, "1", False),
        (1, True, False),
        (True, True, True),
        (False, 0, False),
        (1, 1.0, True),
        (None, None, True),
        ([1, True], [1, 1], False),
        ({"a": 0}, {"a": False}, False),
        ({"a": [1]}, {"a": [1]}, True),
        ([1], [1, 2], False),
    ],
)
def test_nothing_is_converted(wanted, actual, met):
    scorer = ToolCallScorer(arguments={"add": {"a": wanted}})
    assert scored(scorer, tool("add", args={"a": actual})).passed is met


def test_several_specs_of_one_tool_are_several_checks_which_one_call_may_meet():
    scorer = ToolCallScorer(["add"], arguments={"add": [{"a": 1}, {"b": 2}]})
    assert scored(scorer, tool("add", args={"a": 1, "b": 2})).passed
    assert scored(scorer, tool("add", args={"a": 1})).value == pytest.approx(2 / 3)


def test_an_argument_that_is_absent_is_not_one_that_is_null():
    scorer = ToolCallScorer(arguments={"add": {"a": None}})
    assert not scored(scorer, tool("add", args={})).passed


def test_further_tools_are_free_unless_forbidden():
    calls = (tool("add"), tool("search"))
    assert scored(ToolCallScorer(["add"]), *calls).passed
    score = scored(ToolCallScorer(["add"], allow_additional=False), *calls)
    assert (score.passed, score.value) == (False, 1.0)
    assert "search" in str(score.reason)


def test_a_tool_that_only_a_spec_names_is_not_a_further_one_and_neither_is_a_failed_call():
    scorer = ToolCallScorer([], arguments={"add": {}}, allow_additional=False)
    assert scored(scorer, tool("add"), tool("search", tool_call_error=True)).passed


async def test_the_expected_value_of_a_task_is_not_looked_at():
    score = await ToolCallScorer(["add"]).ascore(run_output(tools=[tool("add")]), expected="anything")
    assert score.passed


def test_a_bare_string_is_refused():
    with pytest.raises(TypeError, match="search"):
        ToolCallScorer("search")


@pytest.mark.parametrize("wrong", [{"expected_tools": []}, {"expected_tools": ["a"], "arguments": {"a": []}}, {}])
def test_no_check_at_all_is_refused(wrong):
    with pytest.raises(ValueError, match=r"checks nothing"):
        ToolCallScorer(**wrong)


@pytest.mark.parametrize("arguments", [{"a": "x"}, {"a": [1]}, {"a": 5}])
def test_a_spec_of_another_type_is_refused(arguments):
    with pytest.raises(TypeError, match="arguments"):
        ToolCallScorer(arguments=arguments)


def test_the_digest_covers_all_settings_and_no_order():
    base = ToolCallScorer(["a", "b"], arguments={"a": {"x": 1}}).digest()
    assert base == ToolCallScorer(["b", "a", "a"], arguments={"a": [{"x": 1}]}).digest()
    others = [
        ToolCallScorer(["a"], arguments={"a": {"x": 1}}),
        ToolCallScorer(["a", "b"], arguments={"a": {"x": 2}}),
        ToolCallScorer(["a", "b"], arguments={"a": {"x": True}}),
        ToolCallScorer(["a", "b"], arguments={"a": {"x": 1}}, allow_additional=False),
    ]
    assert len({base, *(one.digest() for one in others)}) == 5


def test_a_spec_that_json_cannot_hold_has_no_digest():
    with pytest.raises(FingerprintError, match="set"):
        ToolCallScorer(arguments={"a": {"x": {1, 2}}}).digest()


def test_it_is_a_scorer():
    assert isinstance(ToolCallScorer(["a"]), Scorer)
