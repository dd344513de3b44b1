"""What only agents of openai-agents have."""

import gc

import pytest

from rollgrid.adapters import OpenAIAgentsAgent
from rollgrid.environments import StopReason, arun_rollouts
from rollgrid.environments.fingerprint import fingerprint_run
from support.foreign import add, foreign_environment, make_agent
from support.results import run_of
from support.server import running_server

agents = pytest.importorskip("agents", reason="agents is not installed (dependency group compat)")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def no_log(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    yield
    gc.collect()


def prints(agent):
    return fingerprint_run(foreign_environment(agent))


async def test_nothing_is_traced_unless_a_run_config_says_so(monkeypatch):
    traced = []

    class Watch(agents.tracing.TracingProcessor):
        def on_trace_start(self, trace):
            traced.append(trace)

        def on_trace_end(self, trace): ...
        def on_span_start(self, span): ...
        def on_span_end(self, span): ...
        def shutdown(self): ...
        def force_flush(self): ...

    agents.set_trace_processors([Watch()])
    agents.set_tracing_disabled(False)
    try:
        async with running_server("p=1,text=1") as server:
            agent = make_agent("openai_agents", server.base_url)
            await OpenAIAgentsAgent(agent).arun("ANS=41")
            assert traced == []
            await OpenAIAgentsAgent(agent, run_config=agents.RunConfig()).arun("ANS=41")
            assert len(traced) == 1
    finally:
        agents.set_trace_processors([])
        agents.set_tracing_disabled(True)


async def test_a_run_that_is_past_its_turns_is_an_error_that_keeps_its_tools():
    async with running_server("p=1,tool=9") as server:
        adapter = OpenAIAgentsAgent(make_agent("openai_agents", server.base_url, tools=(add,)), max_turns=2)
        result = await arun_rollouts(foreign_environment(adapter), k=1)
    attempt = result.task_results[0].attempts[0]
    assert (attempt.stop_reason, attempt.error_type) == (StopReason.error, "MaxTurnsExceeded")
    assert [tool.tool_name for tool in run_of(attempt).tools] == ["add", "add"]


async def test_a_call_that_needs_a_persons_consent_pauses_the_attempt():
    async with running_server("p=1,tool=1") as server:
        agent = make_agent("openai_agents", server.base_url)
        agent.tools.append(agents.function_tool(add, needs_approval=True))
        result = await arun_rollouts(foreign_environment(agent), k=1)
    attempt = result.task_results[0].attempts[0]
    assert attempt.stop_reason is StopReason.paused
    assert [(tool.tool_name, tool.is_paused) for tool in run_of(attempt).tools] == [("add", True)]


async def test_a_handover_is_in_the_messages():
    async with running_server("p=1,tool=1,text=1") as server:
        second = make_agent("openai_agents", server.base_url, instructions="Answer.")
        second.name = "answerer"
        first = make_agent("openai_agents", server.base_url)
        first.handoffs.append(second)
        run = await OpenAIAgentsAgent(first).arun("ANS=41 How many?")
    assert [message.role for message in run.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert run.messages[2].tool_calls[0].name == "transfer_to_answerer"
    assert "41" in run.content


def test_agents_that_are_handed_over_to_count():
    def handing_over(instructions):
        agent = make_agent("openai_agents", NOWHERE)
        second = make_agent("openai_agents", NOWHERE, instructions=instructions)
        second.name = "second"
        second.handoffs.append(agent)  # and back
        agent.handoffs.append(second)
        return prints(agent)

    first, again, other = handing_over("Answer."), handing_over("Answer."), handing_over("Answer briefly.")
    assert first.env is not None
    assert first.env == again.env
    assert first.env != other.env


def test_a_handoff_object_hides_its_agent():
    agent = make_agent("openai_agents", NOWHERE)
    second = make_agent("openai_agents", NOWHERE)
    second.name = "second"
    agent.handoffs.append(agents.handoff(second))
    told = prints(agent)
    assert told.env is None
    assert "the agent behind the handoff second" in told.warnings[0]


def test_an_agent_that_is_a_tool_counts_with_its_instructions():
    def with_tool(instructions):
        agent = make_agent("openai_agents", NOWHERE)
        inner = make_agent("openai_agents", NOWHERE, instructions=instructions)
        agent.tools.append(inner.as_tool("ask", "Asks."))
        return prints(agent)

    first, other = with_tool("Answer."), with_tool("Answer briefly.")
    assert first.env is not None
    assert other.env is not None
    assert first.env != other.env
