"""Whatever an agent, a tool or a scorer leaves behind: it costs neither the run nor the attempt's own end."""

import asyncio

import pytest

from rollgrid.agent.run import Metrics, RunOutput
from rollgrid.runner.facts import json_ready
from rollgrid.runner.transcript import put_right, transcript_of
from rollgrid.scorer.base import Score
from rollgrid.store.codec import decode, encode
from rollgrid.store.events import AttemptEnded
from support.runs import ListSink, make_engine, make_plan


class Unspeakable:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class SlowScorer:
    async def ascore(self, run, expected):
        await asyncio.sleep(0.6)  # long enough for a snapshot of the output
        return Score(1.0, True)

    def digest(self):
        return "slow"


def itself():
    state = {}
    state["self"] = state
    return state


ODD = {
    "an object": {"content": object()},
    "an object without a text": {"content": Unspeakable()},
    "a state that holds itself": {"content": "ok", "session_state": itself()},
    "a state without a text": {"content": "ok", "session_state": {"x": Unspeakable()}},
    "a time that is none": {"content": "ok", "created_at": float("nan")},
    "counts that are none": {"content": "ok", "metrics": Metrics(input_tokens=1e30, cost=float("nan"), retries=-1)},
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_output_ends_its_attempt_and_no_other(odd):
    async def answer(prompt, context):
        for name, value in ODD[odd].items():
            setattr(context.output, name, value)
        return context.output.content

    sink = ListSink()
    engine, results = make_engine(make_plan(answer, scorer=SlowScorer()), sink)
    await engine.run()
    assert len(results) == len(sink.of(AttemptEnded)) == 6
    assert all(event.passed for event in sink.of(AttemptEnded))
    assert sink.live


def test_what_json_cannot_hold_is_kept_in_words_beside_the_rest():
    run = RunOutput(content={"a": itself()}, session_state={"n": 1}, input="hello", raw_text="raw")
    kept = decode(encode(transcript_of(run)))
    assert kept["content"] == "{'a': {'self': {...}}}"
    assert kept["content_type"] == "dict"
    assert kept["session_state"] == {"n": 1}
    assert kept["input"] == {"input_content": "hello"}
    assert transcript_of(RunOutput(content=Unspeakable()))["content"] == "<Unspeakable: repr raised RuntimeError>"


def test_an_ordinary_output_is_kept_as_it_is():
    run = RunOutput(content="ok", session_state={"n": 1})
    assert transcript_of(run) == run.to_dict()


@pytest.mark.parametrize(
    ("given", "kept"),
    [(7, 7), (7.0, 7), (7.5, 0), (-1, 0), (1e30, 0), (2**70, 0), (float("nan"), 0), ("7", 0), (None, 0)],
)
def test_a_count_is_a_whole_number_from_0_on(given, kept):
    metrics = Metrics(input_tokens=given)
    put_right(metrics)
    assert metrics.input_tokens == kept


@pytest.mark.parametrize(("given", "kept"), [(0.5, 0.5), (0, 0.0), (-3.0, None), (float("inf"), None), ("1", None)])
def test_a_cost_is_an_amount_or_is_not_known(given, kept):
    metrics = Metrics(cost=given)
    put_right(metrics)
    assert metrics.cost == kept


def test_a_detail_that_cannot_even_be_shown_is_named():
    assert json_ready({"x": Unspeakable()}) == {"text": "<dict: repr raised RuntimeError>"}
