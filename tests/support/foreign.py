"""The same small agent in each library that there is an adapter for."""

import inspect
from importlib.util import find_spec
from typing import Any

import pytest
from pydantic import BaseModel

from rollgrid.environments import Environment, Task
from rollgrid.scorer import CodeScorer

LIBRARIES = {"agno": "agno", "openai_agents": "agents", "pydantic_ai": "pydantic_ai"}


class Answer(BaseModel):
    value: int


class OtherAnswer(BaseModel):
    value: int
    unit: str = ""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def subtract(a: int, b: int) -> int:
    """Subtract one number from another."""
    return a - b


def broken(a: int, b: int) -> int:
    """Add two numbers."""
    raise ValueError("the adder is broken")


def needs(library: str) -> Any:
    module = LIBRARIES[library]
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed (dependency group compat)")


def each_library() -> list[Any]:
    return [pytest.param(library, marks=needs(library)) for library in LIBRARIES]


def make_agent(
    library: str,
    url: str,
    *,
    api: str = "responses",
    instructions: Any = "Be exact.",
    output: Any = None,
    tools: tuple[Any, ...] = (),
    temperature: float | None = None,
    id: str = "sim",
    key: str = "none",
) -> Any:
    """An agent of `library` on the server at `url`, without retries."""
    if library == "agno":
        from agno.agent import Agent
        from agno.models.openai import OpenAIChat, OpenAIResponses

        model = OpenAIResponses if api == "responses" else OpenAIChat
        return Agent(
            model=model(id=id, base_url=url, api_key=key, temperature=temperature, max_retries=0),
            instructions=instructions,
            output_schema=output,
            tools=list(tools) or None,
        )
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key=key, max_retries=0)
    if library == "openai_agents":
        from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, function_tool

        model = OpenAIResponsesModel if api == "responses" else OpenAIChatCompletionsModel
        return Agent(
            name="adder",
            model=model(id, client),
            instructions=instructions,
            output_type=output,
            model_settings=ModelSettings(temperature=temperature),
            tools=[function_tool(tool) for tool in tools],
        )
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIResponsesModel if api == "responses" else OpenAIChatModel
    return Agent(
        model(id, provider=OpenAIProvider(openai_client=client)),
        instructions=instructions,
        output_type=output or str,
        model_settings=None if temperature is None else {"temperature": temperature},
        tools=list(tools),
    )


def right(run: Any, expected: Any) -> bool:
    return run.content.value == expected


def foreign_environment(agent: Any, scorer: Any = right, timeout: float = 60.0) -> Environment:
    """One task whose right answer the simulated server knows."""
    task = Task("ANS=41 How many?", 41, id="many")
    scorer = CodeScorer(scorer) if inspect.isfunction(scorer) else scorer
    return Environment("foreign", [task], scorer, agent, timeout)
