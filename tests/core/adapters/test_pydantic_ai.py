"""What only agents of pydantic-ai have."""

import gc

import pytest

from rollgrid.adapters import PydanticAIAgent
from rollgrid.agent import RunContext
from rollgrid.environments import StopReason, arun_rollouts
from rollgrid.environments.fingerprint import fingerprint_run
from support.foreign import Answer, add, foreign_environment, make_agent
from support.results import run_of
from support.server import running_server

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic_ai is not installed (dependency group compat)")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def no_log(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    yield
    gc.collect()


def prints(agent):
    return fingerprint_run(foreign_environment(agent))


async def test_dependencies_can_be_made_for_every_attempt():
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    made = []

    def make_deps():
        made.append(len(made))
        return made[-1]

    agent = pydantic_ai.Agent(FunctionModel(lambda messages, info: ModelResponse([TextPart("41")])), deps_type=int)
    seen = []

    @agent.system_prompt
    def prompt(context):
        seen.append(context.deps)
        return "Be exact."

    adapter = PydanticAIAgent(agent, make_deps=make_deps, stream=False, prompt_fields={}, policy={"model": "function"})
    result = await arun_rollouts(foreign_environment(adapter, said_41), k=2, concurrency=1)
    assert result.pass_rate == 1.0
    assert seen[-2:] == made[-2:]
    assert len(set(made)) == len(made)


def said_41(run, expected):
    return run.content == str(expected)


async def test_a_model_that_cannot_stream_is_asked_without():
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    agent = pydantic_ai.Agent(FunctionModel(lambda messages, info: ModelResponse([TextPart("41")])))
    run = await PydanticAIAgent(agent, stream=False).arun("How many?", RunContext())
    assert run.content == run.raw_text == "41"
    assert [message.role for message in run.messages] == ["user", "assistant"]


async def test_a_typed_answer_that_came_as_a_call_is_the_models_own_words_and_no_tool():
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages, info):
        return ModelResponse([ToolCallPart(info.output_tools[0].name, '{"value": 41}')])

    run = await PydanticAIAgent(pydantic_ai.Agent(FunctionModel(answer), output_type=Answer), stream=False).arun("x")
    assert run.content == Answer(value=41)
    assert run.raw_text == '{"value": 41}'
    assert run.tools == []


async def test_a_call_that_needs_a_persons_consent_pauses_the_attempt():
    async with running_server("p=1,tool=1") as server:
        agent = make_agent("pydantic_ai", server.base_url, output=[str, pydantic_ai.DeferredToolRequests])
        agent.tool_plain(add, requires_approval=True)
        result = await arun_rollouts(foreign_environment(agent), k=1)
    attempt = result.task_results[0].attempts[0]
    assert attempt.stop_reason is StopReason.paused
    assert attempt.score is None
    assert [(tool.tool_name, tool.is_paused) for tool in run_of(attempt).tools] == [("add", True)]


async def test_usage_limits_end_an_attempt_as_an_error():
    async with running_server("p=1,tool=9") as server:
        agent = make_agent("pydantic_ai", server.base_url, tools=(add,))
        adapter = PydanticAIAgent(agent, usage_limits=pydantic_ai.UsageLimits(request_limit=2))
        result = await arun_rollouts(foreign_environment(adapter), k=1)
    attempt = result.task_results[0].attempts[0]
    assert (attempt.stop_reason, attempt.error_type) == (StopReason.error, "UsageLimitExceeded")
    assert [tool.tool_name for tool in run_of(attempt).tools] == ["add", "add"]


def test_usage_limits_are_part_of_the_environment():
    agent = make_agent("pydantic_ai", "http://127.0.0.1:9/v1")
    two, three = (
        prints(PydanticAIAgent(agent, usage_limits=pydantic_ai.UsageLimits(request_limit=limit))) for limit in (2, 3)
    )
    assert two.env is not None
    assert three.env is not None
    assert two.env != three.env


def test_a_function_for_the_system_prompt_leaves_no_fingerprint():
    agent = make_agent("pydantic_ai", "http://127.0.0.1:9/v1")
    agent.system_prompt(lambda: "Be exact.")
    told = prints(agent)
    assert told.env is None
    assert "system prompts that are made by functions" in told.warnings[0]


def test_a_toolset_of_another_kind_is_not_started_to_look_at_it():
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import ExternalToolset

    outside = ExternalToolset([ToolDefinition(name="order", parameters_json_schema={"type": "object"})])
    agent = pydantic_ai.Agent("test", toolsets=[outside])
    told = prints(agent)
    assert told.env is None
    assert "ExternalToolset" in told.warnings[0]


def test_deps_are_given_in_one_way():
    with pytest.raises(TypeError, match="not both"):
        PydanticAIAgent(pydantic_ai.Agent("test"), deps=1, make_deps=lambda: 1)
