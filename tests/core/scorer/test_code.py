"""Scoring with a function of one's own."""

import asyncio
import math
import sys
import threading
from fractions import Fraction

import pytest

from rollgrid.scorer import CodeScorer, Score, Scorer
from support.results import run_output


class bool_:
    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return self.value


bool_.__module__ = "numpy"


async def scored(result, threshold=0.5):
    return await CodeScorer(lambda run, expected: result, threshold).ascore(run_output(), None)


@pytest.mark.parametrize(("result", "value"), [(True, 1.0), (False, 0.0)])
async def test_a_bool_passes_or_fails_whatever_the_threshold(result, value):
    for threshold in (0.0, 1.0):
        score = await scored(result, threshold)
        assert (score.value, score.passed) == (value, result)


@pytest.mark.parametrize(
    ("result", "passed"), [(0.69, False), (0.7, True), (1, True), (0, False), (Fraction(3, 4), True)]
)
async def test_a_number_passes_from_the_threshold_on(result, passed):
    score = await scored(result, 0.7)
    assert (score.value, score.passed) == (float(result), passed)


async def test_a_score_is_taken_as_it_is():
    given = Score(0.9, False, reason="late", detail={"days": 2})
    assert await scored(given) is given


async def test_numpys_truth_value_is_a_bool():
    assert (await scored(bool_(True))).passed is True
    assert (await scored(bool_(False), 0.0)).passed is False


@pytest.mark.parametrize("result", [None, "", "yes", b"x", [], {}, object()])
async def test_anything_else_is_an_error_that_names_the_type(result):
    with pytest.raises(TypeError, match=type(result).__name__):
        await scored(result)


@pytest.mark.parametrize("result", [math.nan, math.inf, -0.01, 1.01, 8])
async def test_a_number_out_of_range_is_an_error(result):
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        await scored(result)


async def test_the_function_gets_the_run_and_the_expected_value():
    seen = []

    def fn(run, expected):
        seen.append((run.content, expected))
        return True

    await CodeScorer(fn).ascore(run_output("4"), {"value": 4})
    assert seen == [("4", {"value": 4})]


async def test_a_sync_function_runs_off_the_event_loop():
    def fn(run, expected):
        return threading.current_thread() is not threading.main_thread()

    assert (await CodeScorer(fn).ascore(run_output())).passed


async def test_a_sync_function_holds_up_nobody():
    release = threading.Event()

    def fn(run, expected):
        assert release.wait(30)
        return True

    scoring = asyncio.create_task(CodeScorer(fn).ascore(run_output()))
    await asyncio.sleep(0)
    release.set()
    assert (await scoring).passed


async def test_async_functions_callable_objects_and_lambdas_around_them_are_awaited():
    async def fn(run, expected):
        await asyncio.sleep(0)
        return run.content == expected

    class Callable:
        async def __call__(self, run, expected):
            return run.content == expected

    for scorer in (CodeScorer(fn), CodeScorer(Callable()), CodeScorer(lambda run, expected: fn(run, expected))):
        assert (await scorer.ascore(run_output("4"), "4")).passed
        assert not (await scorer.ascore(run_output("4"), "5")).passed


def test_a_script_may_score_without_an_event_loop():
    async def fn(run, expected):
        return 0.25

    assert CodeScorer(fn).score(run_output()).value == 0.25
    assert CodeScorer(lambda run, expected: True).score(run_output()).passed


async def test_what_the_function_raises_comes_out():
    def fn(run, expected):
        return run.content.value == expected

    with pytest.raises(AttributeError, match="value"):
        await CodeScorer(fn).ascore(run_output("text"), 4)


async def test_a_function_that_calls_exit_fails_its_attempt_and_not_the_run():
    async def later(run, expected):
        sys.exit(4)

    for fn in (lambda run, expected: sys.exit(4), later):
        with pytest.raises(RuntimeError, match=r"sys.exit\(4\)"):
            await CodeScorer(fn).ascore(run_output())


async def test_stop_iteration_does_not_get_lost_between_thread_and_loop():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await CodeScorer(lambda run, expected: next(iter(()))).ascore(run_output())


@pytest.mark.parametrize(("threshold", "error"), [(2, ValueError), (math.nan, ValueError), ("0.5", TypeError)])
def test_a_threshold_that_is_none_is_refused(threshold, error):
    with pytest.raises(error, match="pass_threshold"):
        CodeScorer(lambda run, expected: True, threshold)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="str"):
        CodeScorer("equal")


def test_it_is_a_scorer():
    assert isinstance(CodeScorer(lambda run, expected: True), Scorer)
