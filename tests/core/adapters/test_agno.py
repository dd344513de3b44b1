"""What only agents of agno have."""

import gc
import os
import re
import subprocess
import sys

import pytest

from rollgrid.adapters import AgnoAgent
from rollgrid.environments import StopReason, arun_rollouts, run_rollouts
from rollgrid.environments.fingerprint import fingerprint_run
from support.foreign import Answer, add, foreign_environment, make_agent
from support.results import run_of
from support.server import running_server, server_process

pytest.importorskip("agno", reason="agno is not installed (dependency group compat)")

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


def said(run, expected):
    return str(expected) in run.content


async def test_a_live_agent_is_an_environments_agent_as_it_is():
    async with running_server("p=1,tool=1") as server:
        agent = make_agent("agno", server.base_url, output=Answer, tools=(add,))
        result = await arun_rollouts(foreign_environment(agent), k=3)
    assert result.pass_rate == 1.0
    assert result.env_fingerprint is not None
    assert result.policy_fingerprint is not None
    assert [tool.result for tool in run_of(result.task_results[0].attempts[0]).tools] == ["0"]


async def test_remembered_answers_are_not_used(tmp_path):
    async with running_server("p=1,text=1") as server:
        agent = make_agent("agno", server.base_url)
        agent.model.cache_response = True
        agent.model.cache_dir = str(tmp_path)
        result = await arun_rollouts(foreign_environment(agent, said), k=3, concurrency=1)
        asked = server.stats()["requests"]
    assert result.n_scored == 3
    assert asked == 3
    assert agent.model.cache_response is True


async def test_history_and_memories_of_one_attempt_are_not_seen_by_the_next():
    from agno.db.in_memory import InMemoryDb

    async with running_server("p=1,text=1", record=20) as server:
        agent = make_agent("agno", server.base_url, api="chat")
        agent.db = InMemoryDb()
        agent.add_history_to_context = True
        agent.session_id = "one for all"
        agent.user_id = "me"
        agent.update_memory_on_run = True
        result = await arun_rollouts(foreign_environment(agent, said), k=3, concurrency=1)
        asked = list(server.requests)
        written = agent.db.get_sessions()
    assert result.pass_rate == 1.0
    assert {len(request["messages"]) for request in asked} == {2}
    assert len(asked) == 3
    assert not written
    assert "one for all" not in {run_of(attempt).session_id for attempt in result.task_results[0].attempts}


async def test_no_attempt_reports_to_the_makers_of_the_library(monkeypatch):
    import agno.api.agent

    sent = []
    monkeypatch.setattr(agno.api.agent, "acreate_agent_run", lambda *a, **kw: sent.append(a), raising=False)
    monkeypatch.setattr(agno.api.agent, "create_agent_run", lambda *a, **kw: sent.append(a), raising=False)
    monkeypatch.delenv("AGNO_TELEMETRY", raising=False)
    async with running_server("p=1,text=1") as server:
        agent = make_agent("agno", server.base_url)
        assert agent.telemetry
        await arun_rollouts(foreign_environment(agent, said), k=1)
    assert sent == []


async def test_calls_past_the_limit_are_known_as_such():
    async with running_server("p=1,tool=3,text=1") as server:
        agent = make_agent("agno", server.base_url, tools=(add,))
        agent.tool_call_limit = 1
        result = await arun_rollouts(foreign_environment(agent, said), k=1)
    attempt = result.task_results[0].attempts[0]
    assert attempt.tool_call_limit_hit
    assert attempt.stop_reason is StopReason.completed


async def test_a_call_that_needs_a_persons_consent_pauses_the_attempt():
    from agno.tools import tool

    async with running_server("p=1,tool=1") as server:
        agent = make_agent("agno", server.base_url, tools=(tool(requires_confirmation=True)(add),))
        result = await arun_rollouts(foreign_environment(agent), k=1)
    attempt = result.task_results[0].attempts[0]
    assert attempt.stop_reason is StopReason.paused
    assert [(tool.tool_name, tool.is_paused) for tool in run_of(attempt).tools] == [("add", True)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("description", "You add."),
        ("markdown", True),
        ("expected_output", "A number."),
        ("additional_input", ["Mind the sign."]),
        ("add_datetime_to_context", True),
        ("role", "adder"),
    ],
)
def test_every_setting_that_shapes_the_prompt_counts(name, value):
    agent = make_agent("agno", NOWHERE)
    before = prints(agent)
    setattr(agent, name, value)
    after = prints(agent)
    assert before.env is not None
    assert after.env is not None
    assert before.env != after.env


def test_where_runs_are_kept_and_what_the_agent_is_called_do_not_count():
    from agno.db.in_memory import InMemoryDb

    agent = make_agent("agno", NOWHERE)
    before = prints(agent)
    agent.db, agent.name, agent.debug_mode, agent.user_id = InMemoryDb(), "adder", True, "me"
    assert prints(agent).env == before.env


def test_a_knowledge_base_leaves_no_fingerprint():
    agent = make_agent("agno", NOWHERE)
    agent.knowledge = object()
    told = prints(agent)
    assert told.env is None
    assert "knowledge" in told.warnings[0]


def test_an_agent_that_learns_for_all_its_copies_is_refused_when_the_run_starts():
    agent = make_agent("agno", NOWHERE)
    agent.learning = True
    with pytest.raises(TypeError, match=r"cannot be kept apart.*learning"):
        run_rollouts(foreign_environment(agent), k=1)
    assert AgnoAgent(agent, isolate=False).copy_for_attempt() is not None


SCRIPT = """
from agno.agent import Agent
from agno.environments import Environment, EnvironmentRunResult, Task, run_rollouts
from agno.models.openai import OpenAIResponses
from agno.scorer import CodeScorer, Score, ToolCallScorer
from pydantic import BaseModel


class Answer(BaseModel):
    value: int


def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b


def exact(run, expected):
    return Score(1.0, True, reason="exact") if run.content.value == expected else Score(0.0, False, reason="off")


agent = Agent(
    model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low", verbosity="low", max_output_tokens=3000),
    instructions="Compute exactly and return the final integer.",
    output_schema=Answer,
    tools=[add],
    tool_call_limit=4,
)
tasks = (
    Task(id="small", input="ANS=391 What is 17 x 23?", expected=391, metadata={"split": "smoke"}),
    Task(id="large", input="ANS=2021 What is 43 x 47?", expected=2021, metadata={"split": "validation"}),
)
env = Environment(name="moved", agent=agent, tasks=tasks, scorer=CodeScorer(exact), timeout_seconds=60)

if __name__ == "__main__":
    import sys

    result = run_rollouts(env, k=2, concurrency=2)
    print(result)
    result.print_report(only="all")
    result.print_attempt("small", 1)
    result.save(sys.argv[1])
    loaded = EnvironmentRunResult.load(sys.argv[1])
    assert loaded.summary() == result.summary()
    chosen = [task for task in env.tasks if task.metadata["split"] == "smoke"]
    stronger = run_rollouts(env, tasks=chosen, k=2, model=OpenAIResponses(id="gpt-5.5", reasoning_effort="high"))
    diff = stronger.diff(result)
    print(diff)
    called = run_rollouts(Environment("calls", tasks, ToolCallScorer(["add"]), agent), k=1)
    rates = [result.pass_rate, stronger.pass_rate, called.pass_rate]
    print("rates", rates, result.n_scored, diff.policy_changed, list(diff.unmatched_baseline))
"""


@pytest.fixture(scope="module")
def script_output(tmp_path_factory):
    """The last line that the script prints, as it was written and with only the library's name changed."""
    told = {}
    with server_process("p=1,tool=1") as server:
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
            "AGNO_TELEMETRY": "false",
            "ROLLGRID_LOG": "off",
        }
        for name in ("agno", "rollgrid"):
            folder = tmp_path_factory.mktemp(name)
            script = folder / "script.py"
            script.write_text(re.sub(r"^from agno\b", f"from {name}", SCRIPT, flags=re.MULTILINE))
            done = subprocess.run(
                [sys.executable, script, folder / "baseline.json"], env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            told[name] = done.stdout.splitlines()[-1]
    return told


def test_a_script_for_the_library_runs_when_only_its_imports_are_changed(script_output):
    assert script_output["rollgrid"] == "rates [1.0, 1.0, 1.0] 4 True ['large']"
    assert script_output["rollgrid"] == script_output["agno"]
