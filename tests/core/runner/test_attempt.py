import asyncio
from types import SimpleNamespace

import pytest

from rollgrid.agent.context import RunContext
from rollgrid.agent.run import RunStatus
from rollgrid.environments.attempt import StopReason
from rollgrid.runner.attempt import run_attempt
from rollgrid.runner.facts import failure_of
from rollgrid.scorer.base import Score
from support.runs import EqualScorer, agent_of


async def attempt(behaviour, scorer=None, timeout=5.0, context=None):
    return await run_attempt(
        agent_of(behaviour),
        scorer or EqualScorer(),
        "question",
        "ok",
        context or RunContext(),
        timeout_seconds=timeout,
        on_scoring=lambda: None,
        on_abandoned=lambda work, left: None,
    )


class Scores:
    def __init__(self, outcome):
        self.outcome = outcome

    async def ascore(self, run, expected):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        if self.outcome == "stall":
            await asyncio.sleep(3600)
        return self.outcome

    def digest(self):
        return "scores"


async def ok(prompt, context):
    return "ok"


async def test_a_completed_run_is_scored():
    result = await attempt(ok)
    assert result.passed
    assert result.stop_reason is StopReason.completed
    assert result.run.status is RunStatus.completed


async def test_a_timed_out_attempt_keeps_its_partial_text_and_says_which_clock_fired():
    async def stall(prompt, context):
        context.output.partial_text = "so far"
        await asyncio.sleep(3600)

    result = await attempt(stall, timeout=0.05)
    assert result.stop_reason is StopReason.timeout
    assert result.score is None
    assert result.run.partial_text == "so far"
    assert result.limit == "timeout_seconds:run"
    assert 0.05 <= result.duration_seconds < 2


async def test_the_same_clock_bounds_scoring():
    result = await attempt(ok, Scores("stall"), timeout=0.05)
    assert (result.stop_reason, result.limit) == (StopReason.timeout, "timeout_seconds:scoring")
    assert result.run.content == "ok"


async def test_a_timeout_error_of_the_agents_own_is_an_error_not_an_attempt_timeout():
    async def own(prompt, context):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(3600)

    result = await attempt(own)
    assert (result.stop_reason, result.error_type) == (StopReason.error, "TimeoutError")
    assert result.limit is None


async def test_a_scorer_that_raises_leaves_the_attempt_unscored_with_its_message():
    result = await attempt(ok, Scores(KeyError("value")))
    assert result.stop_reason is StopReason.completed
    assert result.score is None
    assert result.error == "scorer: KeyError: 'value'"


@pytest.mark.parametrize("verdict", [True, 0.5, "pass", object(), SimpleNamespace(value=2.0, passed=True)])
async def test_a_scorer_that_returns_no_score_leaves_the_attempt_unscored(verdict):
    result = await attempt(ok, Scores(verdict))
    assert (result.stop_reason, result.score) == (StopReason.completed, None)
    assert result.error is not None
    assert result.error.startswith("scorer: ")


async def test_a_score_whose_value_was_spoilt_after_it_was_made_is_none():
    spoilt = Score(1.0, True)
    spoilt.value = float("nan")
    result = await attempt(ok, Scores(spoilt))
    assert result.score is None
    assert result.error == "scorer: ValueError: Score.value must be in [0, 1], got nan"


async def test_a_score_of_another_library_counts():
    verdict = SimpleNamespace(value=0.25, passed=False, reason="close", detail={"raw": 3})
    result = await attempt(ok, Scores(verdict))
    assert result.score == Score(0.25, False, "close", {"raw": 3})


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (asyncio.CancelledError(), "scorer: CancelledError: the scorer cancelled itself"),
        (GeneratorExit("out"), "scorer: GeneratorExit: out"),
    ],
)
async def test_whatever_a_scorer_raises_is_told_of_the_scorer_and_not_of_the_agent(raised, text):
    result = await attempt(ok, Scores(raised))
    assert (result.stop_reason, result.score, result.error) == (StopReason.completed, None, text)
    assert result.run.status is RunStatus.completed


async def test_a_scorer_that_returns_nothing_leaves_the_attempt_unscored():
    result = await attempt(ok, Scores(None))
    assert result.score is None
    assert result.error == "scorer: TypeError: the scorer returned no score"


@pytest.mark.parametrize(
    ("status", "stop"), [(RunStatus.paused, StopReason.paused), (RunStatus.cancelled, StopReason.cancelled)]
)
async def test_only_a_completed_run_is_scored(status, stop):
    async def behave(prompt, context):
        context.output.status = status
        return "ok"

    result = await attempt(behave, Scores(Score(1.0, True)))
    assert (result.stop_reason, result.score) == (stop, None)


@pytest.mark.parametrize("status", [RunStatus.pending, RunStatus.regenerated])
async def test_a_run_that_is_no_answer_is_an_error_of_the_agent(status):
    async def behave(prompt, context):
        context.output.status = status
        return "ok"

    result = await attempt(behave, Scores(Score(1.0, True)))
    assert (result.stop_reason, result.score, result.error_type) == (StopReason.error, None, "AgentError")
    assert result.error == f"the agent returned a run that is {status.value}, which is no answer"


async def test_an_exception_whose_text_cannot_be_made_is_still_data():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    async def behave(prompt, context):
        raise Broken

    result = await attempt(behave)
    assert result.error == "Broken"


async def test_an_agent_that_cancels_itself_is_a_cancelled_attempt():
    async def behave(prompt, context):
        raise asyncio.CancelledError

    result = await attempt(behave)
    assert result.stop_reason is StopReason.cancelled


async def test_a_silent_endpoint_counts_towards_a_storm_and_a_slow_agent_does_not():
    async def silent(prompt, context):
        await asyncio.sleep(3600)

    async def slow(prompt, context):
        context.output.partial_text = "thinking"
        await asyncio.sleep(3600)

    assert failure_of(await attempt(silent, timeout=0.02)).error_type == "Timeout"
    assert failure_of(await attempt(slow, timeout=0.02)) is None
