"""An agent: a model, what it is told, and the tools it may use."""

import asyncio
import copy
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from rollgrid.agent.context import RunContext
from rollgrid.agent.events import RunEvent
from rollgrid.agent.functions import Tool
from rollgrid.agent.loop import run_agent
from rollgrid.agent.prompt import AdditionalInput, Instructions, prompt_fields
from rollgrid.agent.run import Message, RunOutput, content_as_string
from rollgrid.agent.streaming import stream_agent
from rollgrid.models.base import Model, OutputSchema, ToolSpec
from rollgrid.models.schema import output_schema as strict_output_schema

ToolLike = Tool | Callable[..., Any]


class Agent:
    """A model with its instructions, tools and the shape of its answers.

    An agent holds settings and, at most, a session state: every run starts from the same prompt and remembers nothing
    of other runs. The settings can be assigned to between runs.

    Args:
        model: An instance, never a name.
        name: Told to the model only with `add_name_to_context`.
        description, role, instructions: The system message, in this order. A list of instructions becomes bullets. A
            callable is called with the agent for every run.
        system_message: Replaces everything that would be in the system message.
        output_schema: A pydantic model class; `RunOutput.content` is then an instance of it.
        tools: Python functions. Their signatures and docstrings are what the model is told of them.
        tool_choice: "auto", "none", "required", or the provider's object for one tool. A forced call is forced on the
            first request only.
        tool_call_limit: Tool calls of one run; further ones are refused and the model is told so.
        session_state: Given to tools that have a parameter of this name, and put into the texts where they name one
            of its keys in braces. Each run works on its own copy, which ends as `RunOutput.session_state`.
        additional_input: Messages between the system message and the user's.
        markdown, add_name_to_context, add_datetime_to_context, datetime_format, timezone_identifier,
        add_session_state_to_context, expected_output, additional_context: Further parts of the system message.
    """

    def __init__(
        self,
        model: Model,
        instructions: Instructions = None,
        description: str | None = None,
        system_message: str | Message | Callable[["Agent"], str] | None = None,
        output_schema: type[BaseModel] | None = None,
        tools: Sequence[ToolLike] | None = (),
        tool_choice: str | Mapping[str, Any] | None = None,
        tool_call_limit: int | None = None,
        name: str | None = None,
        markdown: bool = False,
        add_datetime_to_context: bool = False,
        session_state: dict[str, Any] | None = None,
        *,
        id: str | None = None,
        role: str | None = None,
        additional_context: str | None = None,
        additional_input: AdditionalInput | None = None,
        expected_output: str | None = None,
        add_name_to_context: bool = False,
        add_session_state_to_context: bool = False,
        datetime_format: str | None = None,
        timezone_identifier: str | None = None,
        use_instruction_tags: bool = False,
        resolve_in_context: bool = True,
        build_context: bool = True,
        system_message_role: str = "system",
        user_message_role: str = "user",
        session_id: str | None = None,
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        if tool_call_limit is not None and tool_call_limit < 0:
            raise ValueError(f"tool_call_limit must be 0 or more, got {tool_call_limit}")
        self.model = require_model(model)
        self.name = name
        self.id = id
        self.instructions = instructions
        self.description = description
        self.role = role
        self.system_message = system_message
        self.expected_output = expected_output
        self.additional_context = additional_context
        self.additional_input = additional_input
        self.markdown = markdown
        self.add_name_to_context = add_name_to_context
        self.add_datetime_to_context = add_datetime_to_context
        self.datetime_format = datetime_format
        self.timezone_identifier = timezone_identifier
        self.add_session_state_to_context = add_session_state_to_context
        self.use_instruction_tags = use_instruction_tags
        self.resolve_in_context = resolve_in_context
        self.build_context = build_context
        self.system_message_role = system_message_role
        self.user_message_role = user_message_role
        self.tool_choice = tool_choice
        self.tool_call_limit = tool_call_limit
        self.session_state = session_state
        self.session_id = session_id
        self.user_id = user_id
        self.metadata = metadata
        self.tools = tools
        self.output_schema = output_schema

    @property
    def tools(self) -> tuple[ToolLike, ...]:
        return self._tools

    @tools.setter
    def tools(self, tools: Sequence[ToolLike] | None) -> None:
        by_name: dict[str, Tool] = {}
        for function in tools or ():
            tool = Tool.of(function)
            if tool.spec.name in by_name:
                raise ValueError(f"two tools are called {tool.spec.name}; a model could not tell them apart")
            by_name[tool.spec.name] = tool
        self._tools = tuple(tools or ())
        self.tools_by_name = by_name

    @property
    def output_schema(self) -> type[BaseModel] | None:
        return self.output.model if self.output is not None else None

    @output_schema.setter
    def output_schema(self, schema: type[BaseModel] | None) -> None:
        if schema is not None and not (isinstance(schema, type) and issubclass(schema, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"output_schema must be a pydantic model class, got {schema!r}")
        self.output: OutputSchema | None = strict_output_schema(schema) if schema is not None else None

    def run(self, input: Any) -> RunOutput:
        """Run once and wait. Raises `RuntimeError` inside a running event loop; await `arun` there."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.arun(input))
        raise RuntimeError("Agent.run() cannot be called inside a running event loop; await Agent.arun() instead")

    async def arun(self, input: Any, context: RunContext | None = None) -> RunOutput:
        """Run once. `input` that is no text is sent as JSON.

        `context.output` is filled as the run goes on. Raises `ModelError` when the model cannot be asked; an answer
        that was refused, cut off or does not validate is no error but `RunOutput.problem`.
        """
        return await run_agent(self.copy_for_attempt(), content_as_string(input), context or RunContext())

    def astream(self, input: Any, context: RunContext | None = None) -> AsyncGenerator[RunEvent, None]:
        """Run once and yield what happens as it happens; the last event is `RunEnded`. Raises as `arun` does."""
        return stream_agent(self.copy_for_attempt(), content_as_string(input), context or RunContext())

    def copy_for_attempt(self) -> "Agent":
        """An agent of an attempt's own: it shares model, connections and functions, never the session state."""
        twin = copy.copy(self)
        if self.session_state is not None:
            twin.session_state = copy.deepcopy(self.session_state)
        return twin

    def with_model(self, model: Model) -> "Agent":
        """The same agent over another model."""
        twin = self.copy_for_attempt()
        twin.model = require_model(model)
        return twin

    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a provider is told of them, in the order given."""
        return tuple(tool.spec for tool in self.tools_by_name.values())

    def prompt_fields(self) -> dict[str, Any]:
        """Settings that shape the prompt, as far as they were set: values of flags, never rendered text."""
        return prompt_fields(self)

    def __repr__(self) -> str:
        return f"Agent({self.name or 'unnamed'}, model={self.model.id})"


def require_model(model: Any) -> Model:
    """The model, or a `TypeError` that names what came instead."""
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        raise TypeError(f"model must be a model instance such as OpenAIResponses(id={model!r}), not a name")
    raise TypeError(f"model must be a model instance, got {type(model).__name__}")
