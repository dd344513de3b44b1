"""What holds for the agents of every library, each run for real against the simulated server."""

import asyncio
import gc
import json
import os
import subprocess
import sys

import pytest

from rollgrid.adapters import AgnoAgent, OpenAIAgentsAgent, PydanticAIAgent
from rollgrid.environments import StopReason, arun_rollouts, run_rollouts
from rollgrid.environments.fingerprint import fingerprint_run
from rollgrid.scorer import ToolCallScorer
from support.foreign import Answer, OtherAnswer, add, broken, each_library, foreign_environment, make_agent, subtract
from support.results import run_of
from support.server import running_server, server_process

ADAPTERS = {"agno": AgnoAgent, "openai_agents": OpenAIAgentsAgent, "pydantic_ai": PydanticAIAgent}
NOWHERE = "http://127.0.0.1:9/v1"

pytestmark = [
    # Connections of the libraries' own clients, which live as long as the agents and end when these are collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

libraries = pytest.mark.parametrize("library", each_library())


@pytest.fixture(autouse=True)
def no_log(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    yield
    gc.collect()


def said(run, expected):
    return str(expected) in run.content


def prints(agent):
    return fingerprint_run(foreign_environment(agent))


# -- what lands in the run ------------------------------------------------------------------------------------------


@libraries
@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_a_run_brings_its_messages_tools_and_tokens(library, api):
    async with running_server("p=1,tool=1,think=1", record=9) as server:
        agent = make_agent(library, server.base_url, api=api, output=Answer, tools=(add,))
        result = await arun_rollouts(foreign_environment(agent), k=1)
    assert result.errors() == {}
    attempt = result.task_results[0].attempts[0]
    run = run_of(attempt)
    assert run.content == Answer(value=41)
    assert [message.role for message in run.messages[:5]] == ["system", "user", "assistant", "tool", "assistant"]
    assert run.messages[0].content == "Be exact."
    assert run.messages[1].content == "ANS=41 How many?"
    (call,) = run.messages[2].tool_calls
    assert (call.name, json.loads(call.arguments)) == ("add", {"a": 0, "b": 0})
    assert (run.messages[3].content, run.messages[3].name) == ("0", "add")
    answer = run.messages[4]
    # pydantic-ai asks for a typed answer as the arguments of a call.
    said = answer.content if library != "pydantic_ai" else answer.tool_calls[0].arguments
    assert run.raw_text == said == '{"value":41}'
    (tool,) = run.tools
    assert (tool.tool_name, tool.tool_args, tool.result, tool.tool_call_error) == ("add", {"a": 0, "b": 0}, "0", False)
    assert run.metrics.input_tokens > 100
    assert run.metrics.output_tokens == 32
    assert run.metrics.reasoning_tokens == 26
    assert run.metrics.model_calls == 2
    assert run.metrics.time_to_first_token is not None
    assert "Weighing" in (run.reasoning or "")
    assert (run.model, run.input) == ("sim", "ANS=41 How many?")
    assert attempt.score is not None
    assert attempt.score.passed
    assert result.about["model"] == "sim"


@libraries
async def test_attempts_know_nothing_of_each_other(library):
    async with running_server("p=1,text=1", record=9) as server:
        agent = make_agent(library, server.base_url, api="chat")
        result = await arun_rollouts(foreign_environment(agent, said), k=4, concurrency=1)
        asked = list(server.requests)
    assert result.pass_rate == 1.0
    assert len(asked) == 4
    assert {len(request["messages"]) for request in asked} == {2}
    runs = [run_of(attempt) for attempt in result.task_results[0].attempts]
    assert len({run.session_id for run in runs}) == 4
    assert len({run.user_id for run in runs}) == 4


@libraries
async def test_a_tool_that_raises_is_an_execution_with_an_error_or_the_error_of_its_attempt(library):
    async with running_server("p=1,tool=1") as server:
        agent = make_agent(library, server.base_url, output=Answer, tools=(broken,))
        result = await arun_rollouts(foreign_environment(agent, ToolCallScorer(["broken"])), k=1)
    attempt = result.task_results[0].attempts[0]
    if attempt.score is None:
        assert attempt.error == "ValueError: the adder is broken"
        assert [tool.tool_name for tool in run_of(attempt).tools] == ["broken"]
    else:
        assert not attempt.score.passed
        assert run_of(attempt).tools[0].tool_call_error


@libraries
async def test_a_timed_out_attempt_keeps_its_tools_tokens_and_partial_text(library):
    # The answer's last pieces would come after some ten seconds.
    async with running_server("p=1,tool=1,text=1,pad=2000,chunks=60,slow=150") as server:
        agent = make_agent(library, server.base_url, tools=(add,))
        result = await arun_rollouts(foreign_environment(agent, said, timeout=5), k=1)
    attempt = result.task_results[0].attempts[0]
    run = run_of(attempt)
    assert attempt.stop_reason is StopReason.timeout
    assert run.content is None
    assert run.messages[0].content in ("Be exact.", "ANS=41 How many?")
    assert [tool.tool_name for tool in run.tools] == ["add"]
    assert run.metrics.output_tokens > 0
    assert run.partial_text
    assert len(run.partial_text) < 2000


@libraries
async def test_an_error_of_the_provider_is_the_error_of_the_attempt(library):
    async with running_server("e401=1") as server:
        result = await arun_rollouts(foreign_environment(make_agent(library, server.base_url, output=Answer)), k=1)
    attempt = result.task_results[0].attempts[0]
    assert attempt.stop_reason is StopReason.error
    assert attempt.score is None
    assert "API key" in (attempt.error or "")
    if library != "agno":  # which tells what happened only in words
        assert attempt.status == 401


@libraries
def test_one_agent_serves_two_runs_one_after_the_other(library):
    """The first run's event loop, and the connections that it made, are gone when the second one starts."""
    with server_process("p=1") as server:
        env = foreign_environment(make_agent(library, server.base_url, output=Answer))
        first, second = run_rollouts(env, k=2), run_rollouts(env, k=2)
    assert (first.pass_rate, second.pass_rate) == (1.0, 1.0), (first.errors(), second.errors())
    assert second.diff(first).to_dict()["policy_changed"] is False


@libraries
async def test_a_function_that_makes_the_agent_is_called_for_every_attempt(library):
    made = []
    async with running_server("p=1") as server:

        def factory():
            made.append(1)
            return make_agent(library, server.base_url, output=Answer)

        result = await arun_rollouts(foreign_environment(factory), k=2)
    assert result.pass_rate == 1.0
    assert len(made) == 3  # one to look at when the run starts
    assert result.env_fingerprint is not None


# -- fingerprints ---------------------------------------------------------------------------------------------------


@libraries
def test_equal_agents_have_equal_fingerprints(library):
    first = prints(make_agent(library, NOWHERE, output=Answer, tools=(add, subtract), temperature=0.3))
    second = prints(make_agent(library, NOWHERE, output=Answer, tools=(subtract, add), temperature=0.3, key="another"))
    assert first.warnings == ()
    assert first.env is not None
    assert first.policy is not None
    assert (first.env, first.policy) == (second.env, second.policy)


@libraries
@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"instructions": "Be brief."}, "prompt"),
        ({"tools": (add, subtract)}, "tools"),
        ({"output": OtherAnswer}, "output_schema"),
    ],
)
def test_what_shapes_the_prompt_changes_the_environment_fingerprint(library, changed, part):
    settings = {"instructions": "Be exact.", "tools": (add,), "output": Answer}
    before = prints(make_agent(library, NOWHERE, **settings))
    after = prints(make_agent(library, NOWHERE, **{**settings, **changed}))
    assert before.env is not None
    assert after.env is not None
    differing = {name for name in before.parts if before.parts[name] != after.parts[name]}
    # Where the output type belongs to the prompt, that is where it shows.
    assert differing <= {part, "prompt"}
    assert differing
    assert before.policy == after.policy


@libraries
@pytest.mark.parametrize("changed", [{"temperature": 0.9}, {"id": "other"}, {"url": "http://127.0.0.1:10/v1"}])
def test_what_shapes_the_sampling_changes_the_policy_fingerprint(library, changed):
    settings = {"url": NOWHERE, "temperature": 0.3, "id": "sim"}
    before = prints(make_agent(library, **settings))
    after = prints(make_agent(library, **{**settings, **changed}))
    assert before.policy is not None
    assert after.policy is not None
    assert before.policy != after.policy
    assert before.env == after.env


@libraries
def test_instructions_that_are_made_by_a_function_leave_no_fingerprint_and_a_warning_says_what_helps(library):
    def made(*context):
        return "Be exact."

    agent = make_agent(library, NOWHERE, instructions=made)
    without = prints(agent)
    assert without.env is None
    assert without.policy is not None
    (warning,) = without.warnings
    assert "instructions" in warning
    assert "prompt_fields={...}" in warning
    told = prints(ADAPTERS[library](agent, prompt_fields={"instructions": 1}))
    assert told.env is not None
    assert told.warnings == ()
    assert told.env != prints(ADAPTERS[library](agent, prompt_fields={"instructions": 2})).env


@libraries
def test_fingerprints_are_the_same_in_another_process(library):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from rollgrid.adapters import adapted\n"
        "from rollgrid.scorer.canonical import digest\n"
        "from support.foreign import Answer, add, make_agent\n"
        f"agent = adapted(make_agent({library!r}, {NOWHERE!r}, output=Answer, tools=(add,), temperature=0.3))\n"
        "print(digest([agent.prompt_fields(), agent.tool_specs(), agent.policy()]))\n"
    )
    told = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program, os.path.dirname(os.path.dirname(os.path.dirname(__file__)))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        told.add(done.stdout.splitlines()[-1])
    assert len(told) == 1


@libraries
def test_credentials_are_in_no_fingerprint(library):
    agent = ADAPTERS[library](make_agent(library, "http://user:hunter2@127.0.0.1:9/v1", key="sk-secret"))
    hashed = json.dumps([agent.prompt_fields(), agent.tool_specs(), agent.policy()])
    assert "sk-secret" not in hashed
    assert "hunter2" not in hashed
    assert "127.0.0.1:9" in hashed


@libraries
def test_fingerprints_can_be_asked_for_on_a_running_loop(library):
    async def ask():
        return prints(make_agent(library, NOWHERE, output=Answer)).env

    assert asyncio.run(ask()) == prints(make_agent(library, NOWHERE, output=Answer)).env


@libraries
def test_the_key_can_be_found_where_keys_are_looked_for_that_must_not_get_into_the_log(library):
    adapter = ADAPTERS[library](make_agent(library, NOWHERE, key="sk-of-this-agent-alone"))
    holders = (adapter, adapter.model, adapter.client, getattr(adapter.model, "client", None))
    assert "sk-of-this-agent-alone" in {getattr(holder, "api_key", None) for holder in holders}
