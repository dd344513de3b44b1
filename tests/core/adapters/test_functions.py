"""Functions as agents."""

import threading

import pytest
from pydantic import BaseModel

from rollgrid.adapters import FunctionAgent
from rollgrid.agent import RunOutput, ToolExecution
from rollgrid.environments import Environment, StopReason, Task, arun_rollouts
from rollgrid.environments.fingerprint import fingerprint_run
from rollgrid.scorer import CodeScorer
from support.results import run_of


class Answer(BaseModel):
    value: int


WORD = "exactly"


def answers(input):
    return f"41 {WORD}"


def environment(agent, timeout=30.0):
    scorer = CodeScorer(lambda run, expected: str(expected) in run.get_content_as_string())
    return Environment("functions", [Task("How many?", 41, id="many")], scorer, agent, timeout)


@pytest.fixture(autouse=True)
def no_log(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")


async def test_a_plain_function_answers_off_the_event_loop():
    threads = []

    def agent(input):
        threads.append(threading.current_thread())
        return "41"

    result = await arun_rollouts(environment(FunctionAgent(agent)), k=2)
    assert result.pass_rate == 1.0
    assert threading.main_thread() not in threads
    run = run_of(result.task_results[0].attempts[0])
    assert [(message.role, message.content) for message in run.messages] == [("user", "How many?"), ("assistant", "41")]


async def test_an_async_function_may_give_a_whole_run():
    async def agent(input, session_id):
        return RunOutput(content=Answer(value=41), tools=[ToolExecution("look", {}, result=session_id)])

    result = await arun_rollouts(environment(FunctionAgent(agent)), k=2)
    assert result.pass_rate == 1.0
    sessions = {run_of(attempt).tools[0].result for attempt in result.task_results[0].attempts}
    assert len(sessions) == 2


async def test_what_a_function_writes_down_is_kept_when_it_is_cut_off():
    import asyncio

    async def agent(input, context):
        context.output.partial_text = "so far"
        await asyncio.Event().wait()

    result = await arun_rollouts(environment(FunctionAgent(agent), timeout=0.2), k=1)
    attempt = result.task_results[0].attempts[0]
    assert attempt.stop_reason is StopReason.timeout
    assert run_of(attempt).partial_text == "so far"


async def test_a_function_that_never_returns_is_a_timeout_and_holds_nothing_up():
    gate = threading.Event()

    def agent(input):
        gate.wait(60)
        return "41"

    try:
        result = await arun_rollouts(environment(FunctionAgent(agent), timeout=0.2), k=1)
    finally:
        gate.set()
    attempt = result.task_results[0].attempts[0]
    assert attempt.stop_reason is StopReason.timeout
    assert [message.content for message in run_of(attempt).messages] == ["How many?"]


def test_the_source_stands_for_the_prompt_until_something_else_is_given(monkeypatch):
    before = fingerprint_run(environment(FunctionAgent(answers, policy={"model": "m"})))
    assert before.warnings == ()
    monkeypatch.setattr(f"{__name__}.WORD", "about")
    after = fingerprint_run(environment(FunctionAgent(answers, policy={"model": "m"})))
    assert before.env is not None
    assert after.env is not None
    assert before.env != after.env
    given = [fingerprint_run(environment(FunctionAgent(answers, prompt_fields={"version": n}))).env for n in (1, 1, 2)]
    assert given[0] == given[1] != given[2]


def test_what_a_function_asks_must_be_told():
    told = fingerprint_run(environment(FunctionAgent(answers)))
    assert told.policy is None
    assert "policy={...}" in told.warnings[0]
    one, two = (fingerprint_run(environment(FunctionAgent(answers, policy=lambda n=n: {"id": n}))) for n in ("a", "b"))
    assert one.policy is not None
    assert two.policy is not None
    assert one.policy != two.policy


def test_a_function_with_an_open_client_has_no_fingerprint():
    client = threading.Lock()

    def agent(input):
        return str(client)

    told = fingerprint_run(environment(FunctionAgent(agent, policy={})))
    assert told.env is None
    assert "client" in told.warnings[0]
    assert "prompt_fields={...}" in told.warnings[0]


@pytest.mark.parametrize("wrong", [None, "text", Answer])
def test_what_is_no_function_is_refused(wrong):
    with pytest.raises(TypeError, match="FunctionAgent needs a function"):
        FunctionAgent(wrong)


def test_a_function_without_a_parameter_is_refused():
    with pytest.raises(TypeError, match="takes no input"):
        FunctionAgent(lambda: "41")
