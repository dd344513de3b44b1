"""What the real weights do. Bands, never counts: the kernels of another processor sample differently."""

import pytest
from pydantic import BaseModel

from rollgrid.agent import Agent
from rollgrid.environments import Environment, Task, arun_rollouts
from rollgrid.models.base import ModelRequest
from rollgrid.models.local import DEFAULT_MODEL, LocalModel, close_local_models, find
from rollgrid.models.local.process import runtime_is_installed
from rollgrid.models.messages import Message
from rollgrid.scorer import CodeScorer

pytestmark = [
    pytest.mark.local_model,
    # Loading and 16 answers take seconds on a free machine, minutes on a busy one.
    pytest.mark.timeout(600),
    pytest.mark.skipif(not runtime_is_installed(), reason="the runtime is missing: pip install 'rollgrid[local]'"),
    pytest.mark.skipif(find(DEFAULT_MODEL) is None, reason="the weights are missing: rollgrid model install"),
]


class Answer(BaseModel):
    answer: int


@pytest.fixture(autouse=True)
async def no_process_stays():
    yield
    await close_local_models()


def multiply(a: int, b: int) -> int:
    """Multiply two whole numbers exactly."""
    return a * b


def right(run, expected):
    return run.content is not None and run.content.answer == expected


async def test_an_easy_product_is_saturated_and_a_hard_one_hopeless(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    env = Environment(
        name="products",
        agent=Agent(model=LocalModel(max_tokens=32), output_schema=Answer),
        tasks=(Task("What is 12 * 13?", 156, id="easy"), Task("What is 127 * 346?", 43942, id="hard")),
        scorer=CodeScorer(right),
        timeout_seconds=300,
    )
    result = await arun_rollouts(env, k=8)
    easy, hard = result.task_results
    assert [attempt.error for task in result.task_results for attempt in task.attempts if attempt.error] == []
    assert easy.n_passed >= 7
    assert hard.n_passed <= 1
    assert (easy.n_scored, hard.n_scored) == (8, 8)


async def test_with_a_tool_the_hard_product_is_no_longer_hopeless():
    passed = 0
    for seed in range(4):
        agent = Agent(model=LocalModel(seed=seed), tools=[multiply], output_schema=Answer, tool_call_limit=2)
        run = await agent.arun("What is 127 * 346?")
        assert run.tools
        passed += right(run, 43942)
    assert passed >= 2


async def test_the_same_requests_give_the_same_answers_in_another_process():
    async def answers():
        model = LocalModel(max_tokens=16)
        requests = [ModelRequest([Message("user", "Name a colour and a fruit.")], seed=seed) for seed in range(4)]
        texts = [(await model.respond(request)).text for request in requests]
        await close_local_models()
        return texts

    first = await answers()
    assert first == await answers()
    assert len(set(first)) > 1


async def test_a_reply_that_reaches_the_token_limit_says_so():
    reply = await LocalModel(max_tokens=5).respond(ModelRequest([Message("user", "Count from one to fifty.")], seed=1))
    assert reply.finish == "length"
    assert reply.usage.output_tokens == 5
