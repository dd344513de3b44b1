"""Whatever stands as the agent, an attempt gets one callable."""

from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from rollgrid.adapters import FunctionAgent
from rollgrid.agent import Agent, Message, RunContext, RunOutput, RunStatus, ToolExecution
from rollgrid.environments.agents import resolve_agent
from rollgrid.errors import RollgridError
from support.canned import CannedModel


class Answer(BaseModel):
    value: int


async def run(agent, input="question", model=None, context=None):
    return await resolve_agent(agent).for_attempt(model)(input, context or RunContext())


async def test_an_agent_answers_through_the_context_that_it_was_given():
    context = RunContext()
    output = await run(Agent(model=CannedModel("hello")), context=context)
    assert output is context.output
    assert (output.content, output.status) == ("hello", RunStatus.completed)


async def test_each_attempt_has_its_own_session_state():
    agent = Agent(model=CannedModel(), session_state={"seen": []})
    source = resolve_agent(agent)
    first, second = source.attempt(), source.attempt()
    first._subject.session_state["seen"].append(1)
    assert second._subject.session_state == {"seen": []}
    assert agent.session_state == {"seen": []}


async def test_a_factory_is_called_once_per_attempt_and_once_to_look_at():
    made = []

    def factory():
        made.append(1)
        return Agent(model=CannedModel())

    source = resolve_agent(factory)
    assert len(made) == 1
    await source.for_attempt()("a", RunContext())
    await source.for_attempt()("b", RunContext())
    assert len(made) == 3


async def test_an_async_function_may_answer_with_text():
    async def agent(input):
        return input.upper()

    output = await run(agent)
    assert output.content == output.raw_text == "QUESTION"
    assert [(m.role, m.content) for m in output.messages] == [("user", "question"), ("assistant", "QUESTION")]
    assert output.status is RunStatus.completed


async def test_a_typed_answer_has_no_words_of_the_model():
    async def agent(input):
        return Answer(value=4)

    output = await run(agent)
    assert output.content == Answer(value=4)
    assert [m.role for m in output.messages] == ["user"]
    assert output.raw_text is None


async def test_a_run_output_of_the_agents_own_is_taken_over_whole():
    async def agent(input):
        return RunOutput(
            content="4",
            messages=[Message(role="user", content=input), Message(role="assistant", content="4")],
            tools=[ToolExecution("add", {"a": 2}, result="4")],
            status=RunStatus.paused,
            model="other",
        )

    context = RunContext(session_id="s", user_id="u")
    output = await run(agent, context=context)
    assert output is context.output
    assert (output.content, output.model, output.status) == ("4", "other", RunStatus.paused)
    assert [tool.tool_name for tool in output.tools] == ["add"]
    assert (output.session_id, output.user_id, output.input) == ("s", "u", "question")


async def test_a_run_of_the_same_shape_from_another_library_is_taken_over():
    shape = {
        "content": {"value": 4},
        "status": "COMPLETED",
        "messages": [
            {"role": "user", "content": "question"},
            {"role": "tool", "content": "refused", "tool_call_id": "c9", "tool_call_error": True},
            {"role": "assistant", "content": '{"value": 4}'},
        ],
        "tools": [{"tool_name": "add", "tool_args": {"a": 1}, "tool_call_id": "c1", "result": "2"}],
    }

    async def agent(input):
        return SimpleNamespace(content=Answer(value=4), to_dict=lambda: shape)

    output = await run(agent)
    assert output.content == Answer(value=4)
    assert output.tools[0].tool_args == {"a": 1}
    assert output.tool_call_limit_hit


@pytest.mark.parametrize(("answer", "named"), [(None, "None"), (42, "int"), ({"a": 1}, "dict"), (b"x", "bytes")])
async def test_an_answer_of_another_type_is_an_error_that_names_it(answer, named):
    async def agent(input):
        return answer

    with pytest.raises(TypeError, match=f"returned {named}"):
        await run(agent)


async def test_what_the_agent_raises_comes_out():
    async def agent(input):
        raise TimeoutError("the search took too long")

    with pytest.raises(TimeoutError, match="search"):
        await run(agent)


async def test_an_agent_that_calls_exit_ends_its_attempt_and_not_the_run():
    async def agent(input):
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match=r"sys.exit\(3\)"):
        await run(agent)


async def test_an_attempt_that_is_cut_off_keeps_what_was_asked():
    async def agent(input):
        raise ValueError("broken")

    context = RunContext()
    with pytest.raises(ValueError, match="broken"):
        await run(agent, context=context)
    assert [m.content for m in context.output.messages] == ["question"]


async def test_identities_are_handed_to_a_signature_that_names_them():
    class Foreign:
        async def arun(self, input, *, session_id=None, user_id=None):
            return f"{session_id} {user_id}"

    output = await run(Foreign(), context=RunContext(session_id="s1", user_id="u1"))
    assert output.content == "s1 u1"


@pytest.mark.parametrize("name", ["context", "session_id", "user_id"])
async def test_the_input_may_be_called_what_it_likes(name):
    told = {}
    exec(f"async def agent({name}): return {name}", told)
    for agent in (told["agent"], SimpleNamespace(arun=told["agent"]), FunctionAgent(told["agent"])):
        assert (await run(agent)).content == "question"


class Remembering:
    def __init__(self):
        self.seen = []

    async def arun(self, input):
        self.seen.append(input)
        return str(len(self.seen))


async def test_an_object_is_copied_for_each_attempt():
    agent = Remembering()
    source = resolve_agent(agent)
    answers = [(await source.for_attempt()("q", RunContext())).content for _ in range(3)]
    assert answers == ["1", "1", "1"]
    assert agent.seen == []


def test_an_object_that_cannot_be_copied_is_refused_with_a_way_out():
    class Connected:
        def __deepcopy__(self, memo):
            raise TypeError("cannot copy a connection")

        async def arun(self, input):
            return "x"

    with pytest.raises(TypeError, match=r"Connected.*factory"):
        resolve_agent(Connected())


@pytest.mark.parametrize(("made", "named"), [(None, "None"), ("text", "str"), (Remembering, "the class Remembering")])
def test_a_factory_that_returns_a_wrong_thing_is_refused_before_any_attempt(made, named):
    with pytest.raises(TypeError, match=named):
        resolve_agent(lambda: made)


def test_a_factory_that_raises_is_refused_before_any_attempt():
    def factory():
        raise KeyError("OPENAI_API_KEY")

    with pytest.raises(RuntimeError, match=r"before any attempt: KeyError") as raised:
        resolve_agent(factory)
    assert isinstance(raised.value, RollgridError)


async def test_another_model_replaces_the_agents_own_also_behind_a_factory():
    other = CannedModel("from the other", id="other")
    for agent in (Agent(model=CannedModel("own")), lambda: Agent(model=CannedModel("own"))):
        assert (await run(agent, model=other)).content == "from the other"


async def test_an_agent_that_takes_no_model_says_so():
    async def agent(input):
        return "x"

    with pytest.raises(TypeError, match="with_model"):
        resolve_agent(agent).for_attempt(CannedModel())


def test_the_source_tells_model_schema_and_name():
    model = CannedModel()
    source = resolve_agent(Agent(model=model, output_schema=Answer, name="adder"))
    assert (source.model, source.output_schema, source.label) == (model, Answer, "adder")
    assert resolve_agent(Remembering()).label == "Remembering"
    assert resolve_agent(Remembering()).model is None
