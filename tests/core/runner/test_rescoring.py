import asyncio
import datetime
import threading
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from rollgrid.environments.attempt import StopReason
from rollgrid.models.simulated import SimulatedModel
from rollgrid.models.traffic import traffic
from rollgrid.runner.rescoring import StoredAnswerError, output_of, score_stored, was_completed
from rollgrid.scorer import CodeScorer, JudgeScorer, Score
from rollgrid.threads import leak_listener
from support.results import run_output


class Invoice(BaseModel):
    model_config = ConfigDict(strict=True)

    total: float
    due: datetime.date


def stored(content: object = "42", **fields: Any):
    return run_output(content if isinstance(content, str) else None, **fields).to_dict() | (
        {} if isinstance(content, str) else {"content": content, "content_type": "Invoice"}
    )


async def score(scorer, transcript, expected=None, **options):
    return await score_stored(scorer, output_of(transcript), expected, **{"timeout_seconds": 5.0, **options})


async def test_a_stored_answer_is_scored_as_it_would_be_live():
    result = await score(CodeScorer(lambda run, expected: run.content == expected), stored("42"), "42")
    assert result.score == Score(1.0, True)
    assert result.stop_reason is StopReason.completed
    assert result.error is None


async def test_the_scorer_sees_the_prompt_the_messages_and_the_tools_of_the_attempt():
    seen = {}

    def look(run, expected):
        seen.update(input=run.input, roles=[message.role for message in run.messages])
        return True

    await score(CodeScorer(look), stored(prompt="how many?", system="be brief"))
    assert seen == {"input": "how many?", "roles": ["system", "user", "assistant"]}


async def test_a_scorer_that_raises_leaves_the_attempt_unscored_and_says_why():
    def broken(run, expected):
        raise KeyError("total")

    result = await score(CodeScorer(broken), stored())
    assert result.score is None
    assert result.error == "scorer: KeyError: 'total'"
    assert result.error_type == "KeyError"


async def test_a_scorer_that_hangs_is_cut_off_by_the_clock_of_the_environment():
    async def hang(run, expected):
        await asyncio.sleep(3600)

    result = await score(CodeScorer(hang), stored(), timeout_seconds=0.05)
    assert result.score is None
    assert result.error == "timeout after 0.05 s while scoring"


async def test_a_function_that_goes_on_in_its_thread_is_told_of():
    end, leaked = threading.Event(), []
    result = await score(
        CodeScorer(lambda run, expected: end.wait(10)), stored(), timeout_seconds=0.05, on_leak=leaked.append
    )
    end.set()
    assert result.score is None
    assert len(leaked) == 1


async def test_a_coroutine_that_ignores_its_cancellation_is_told_of(monkeypatch):
    monkeypatch.setattr("rollgrid.runner.attempt.GRACE_SECONDS", 0.05)
    end, left = asyncio.Event(), []

    async def deaf(run, expected):
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return True

    await score(CodeScorer(deaf), stored(), timeout_seconds=0.05, on_abandoned=lambda work, progress: left.append(work))
    end.set()
    assert await left[0] is None


async def test_a_typed_answer_is_an_instance_of_its_class_again():
    transcript = stored({"total": 12.5, "due": "2030-01-31"})
    found = output_of(transcript, Invoice).content
    assert found == Invoice(total=12.5, due=datetime.date(2030, 1, 31))
    assert output_of(transcript).content == {"total": 12.5, "due": "2030-01-31"}


def test_an_answer_in_text_stays_text_beside_a_schema():
    assert output_of(stored("42"), Invoice).content == "42"


def test_an_answer_that_is_not_of_the_schema_any_more_says_where():
    with pytest.raises(StoredAnswerError, match=r"no Invoice of the environment any more: due: Field required"):
        output_of(stored({"total": 12.5}), Invoice)


def test_every_output_is_an_object_of_its_own():
    transcript = stored({"total": 12.5, "due": "2030-01-31"})
    output_of(transcript).messages.clear()
    assert output_of(transcript).messages


@pytest.mark.parametrize(
    ("status", "completed"), [("COMPLETED", True), ("RUNNING", False), ("ERROR", False), ("PAUSED", False)]
)
def test_only_a_run_that_came_to_its_end_can_be_scored(status, completed):
    assert was_completed({"status": status}) is completed
    assert not was_completed({})


async def test_the_calls_of_a_judge_go_through_who_is_given_and_nothing_is_left_behind():
    asked = []

    class Through:
        async def call(self, model, request, on_text):
            asked.append(model.id)
            raise RuntimeError("no model here")

    judge = JudgeScorer(SimulatedModel(), "is it right?")
    result = await score(judge, stored(), through=Through())
    assert asked
    assert result.score is None
    assert traffic.get() is None
    assert leak_listener.get() is None
