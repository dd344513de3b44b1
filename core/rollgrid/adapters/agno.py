"""An agent of agno as an agent of an environment."""

import copy
import inspect
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pydantic import BaseModel

from rollgrid.adapters.foreign import Facts, ForeignAgent, ForeignRunError, Given, Record, library, public_url
from rollgrid.adapters.shape import run_of_shape
from rollgrid.agent.run import RunOutput, RunStatus

__all__ = ["AgnoAgent"]

_NO_PROMPT = frozenset(
    {
        # Where runs are kept and watched.
        "db",
        "user_id",
        "session_id",
        "id",
        "cache_session",
        "store_media",
        "media_storage",
        "store_tool_messages",
        "store_history_messages",
        "store_events",
        "events_to_skip",
        "stream",
        "stream_events",
        "debug_mode",
        "debug_level",
        "telemetry",
        "save_response_to_file",
        "metadata",
        "cache_callables",
        "callable_tools_cache_key",
        "callable_knowledge_cache_key",
        "checkpoint",
        # What each attempt goes without.
        "enable_agentic_memory",
        "update_memory_on_run",
        "enable_session_summaries",
        "update_knowledge",
        "overwrite_db_session_state",
        # Parts of the fingerprint of their own.
        "self",
        "model",
        "name",
        "tools",
        "tool_choice",
        "tool_call_limit",
        "output_schema",
        "session_state",
        # How failed calls are made again.
        "retries",
        "delay_between_retries",
        "exponential_backoff",
    }
)
_NO_SAMPLING = re.compile(
    r"key|secret|credential|password|(auth|access|session|ad|bearer)_token|^token$|header|client|timeout|retr(y|ies)"
    r"|^exponential_backoff$|cache|^name$|^id$|^organization$|^system_prompt$|^instructions$|^role_map$|^metadata$|^user$"
)


class AgnoAgent(ForeignAgent):
    """An `agno.agent.Agent`. Each attempt has a deep copy with an empty store, a session and a user of its own, and no
    response cache.

    Switched off on the copy: whatever is written for later runs (memories, session summaries, knowledge, files), and
    telemetry. An agent that learns, has a file system or MCP tools shares these with all its copies and is refused:
    pass a function that makes the agent, or `isolate=False` if sharing is meant.

    Settings that differ from agno's defaults are hashed by value; what is no data (a knowledge base, a hook,
    instructions that are made by a function) cannot be told.
    """

    library_name = "agno"

    def __init__(self, agent: Any, *, isolate: bool = True, prompt_fields: Given = None, policy: Given = None) -> None:
        super().__init__(agent, prompt_fields=prompt_fields, policy=policy)
        self._isolate = isolate
        self._own: Any = None
        schema = getattr(agent, "output_schema", None)
        self.output_schema: type[BaseModel] | None = (
            schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None
        )
        self.session_state: Any = getattr(agent, "session_state", None)
        self.tool_choice: Any = getattr(agent, "tool_choice", None)
        self.tool_call_limit: Any = getattr(agent, "tool_call_limit", None)

    # -- running ----------------------------------------------------------------------------------------------------

    def copy_for_attempt(self) -> "AgnoAgent":
        """An adapter with an agent of this attempt's own. Raises `TypeError` for one that cannot be kept apart."""
        twin = copy.copy(self)
        twin._own = self._fresh()
        return twin

    def as_made(self) -> "AgnoAgent":
        """The agent itself is kept apart from others, without a copy."""
        self._own = self._apart(self.agent)
        return self

    async def _run(self, input: str, record: Record) -> None:
        agent = self._own or self._fresh()
        failure: str | None = None
        final: Any = None
        async for event in agent.arun(
            input,
            stream=True,
            stream_events=True,
            yield_run_output=True,
            session_id=record.run.session_id,
            user_id=record.run.user_id,
        ):
            kind = getattr(event, "event", None)
            if kind is None:
                final = event
            elif kind == "RunError":
                failure = f"{event.error_type}: {event.content}" if event.error_type else str(event.content)
            else:
                _follow(kind, event, record)
        if failure is not None:
            raise ForeignRunError(failure)
        if final is None:
            raise ForeignRunError("the run ended without an output")
        _take_over(final, record)

    def _fresh(self) -> Any:
        agent = self.agent.deep_copy()
        for tool in _items(agent.tools) if self._isolate else ():
            if any("MCPTools" in cls.__name__ for cls in type(tool).__mro__):
                raise TypeError(_SHARED.format(type(tool).__name__))
        return self._apart(agent)

    def _apart(self, agent: Any) -> Any:
        agent.telemetry = False
        agent.model = _uncached(agent.model)
        if not self._isolate:
            return agent
        for name in ("learning", "filesystem", "sandbox"):
            if getattr(agent, name, None):
                raise TypeError(_SHARED.format(f"{name}={type(getattr(agent, name)).__name__}"))
        store = library("agno.db.in_memory", "agno").InMemoryDb()
        agent.db = store
        for name, value in cast("dict[str, Any]", vars(agent)).copy().items():
            if name.endswith("_model") and value is not None:
                setattr(agent, name, _uncached(value))
            elif name.endswith("_manager") and value is not None:
                manager = copy.copy(value)
                if hasattr(manager, "db"):
                    manager.db = store
                if getattr(manager, "model", None) is not None:
                    manager.model = _uncached(manager.model)
                setattr(agent, name, manager)
        for name in ("update_memory_on_run", "enable_agentic_memory", "enable_session_summaries", "update_knowledge"):
            if hasattr(agent, name):
                setattr(agent, name, False)
        agent.save_response_to_file = None
        return agent

    # -- fingerprints -----------------------------------------------------------------------------------------------

    def _prompt(self) -> Facts:
        facts = Facts()
        agent = self.agent
        for name, parameter in inspect.signature(type(agent).__init__).parameters.items():
            value = getattr(agent, name, parameter.default)
            if name in _NO_PROMPT or parameter.kind is parameter.VAR_KEYWORD or _is_default(value, parameter.default):
                continue
            facts.add(name, _told(value))
        if getattr(agent, "add_name_to_context", False):
            facts.add("name", agent.name)
        for name in ("system_prompt", "instructions"):
            facts.add(f"model.{name}", getattr(agent.model, name, None))
        return facts

    def _tools(self) -> Facts:
        facts = Facts()
        declared = self.agent.tools
        if declared is None:
            return facts
        if not isinstance(declared, (list, tuple)):
            facts.hide("tools that are made by a function")
            return facts
        function = library("agno.tools.function", "agno").Function
        for tool in _items(declared):
            self._tool(facts, function, tool)
        return facts

    def _tool(self, facts: Facts, function: Any, tool: Any) -> None:
        if isinstance(tool, dict):
            facts.add(f"{len(facts.known)}", tool)
        elif hasattr(tool, "functions"):
            functions: dict[str, Any] = {**tool.functions, **(getattr(tool, "async_functions", None) or {})}
            for name, one in functions.items():
                facts.add(name, _declared(one))
        elif isinstance(tool, function):
            facts.add(str(getattr(tool, "name", len(facts.known))), _declared(tool))
        elif callable(tool):
            made = function.from_callable(tool)
            facts.add(made.name, _declared(made))
        else:
            facts.hide("a tool", tool)

    def _policy(self) -> Facts:
        facts = Facts()
        model = self.agent.model
        if model is None:
            facts.hide("a model that is not set")
            return facts
        if not is_dataclass(model):
            facts.hide("the settings of a model", model)
        facts.add("class", type(model).__name__)
        facts.add("id", getattr(model, "id", None))
        for one in fields(model) if is_dataclass(model) else ():
            if one.name == "base_url":
                facts.add("base_url", public_url(getattr(model, "base_url")))  # noqa: B009 - not every model has one
            elif not one.name.startswith("_") and not _NO_SAMPLING.search(one.name):
                facts.add(one.name, getattr(model, one.name))
        for name in ("fallback_models", "fallback_config", "reasoning_model", "parser_model", "output_model"):
            if getattr(self.agent, name, None):
                facts.hide(name)
        return facts


_SHARED = (
    "this agno agent cannot be kept apart from attempt to attempt: its copies share {0}; pass a function that makes "
    "the agent, or AgnoAgent(agent, isolate=False) if sharing it is meant"
)


def _follow(kind: str, event: Any, record: Record) -> None:
    if kind == "ModelRequestStarted":
        record.asks()
    elif kind == "RunContent":
        if isinstance(event.content, str):
            record.hears(event.content)
    elif kind == "ModelRequestCompleted":
        now = record.run.metrics
        record.spent(
            input=now.input_tokens + (event.input_tokens or 0),
            output=now.output_tokens + (event.output_tokens or 0),
            cached=now.cached_tokens + (getattr(event, "cache_read_tokens", 0) or 0),
            reasoning=now.reasoning_tokens + (getattr(event, "reasoning_tokens", 0) or 0),
        )
    elif kind == "ToolCallStarted":
        record.calls(event.tool.tool_name, event.tool.tool_args, event.tool.tool_call_id)
    elif kind in ("ToolCallCompleted", "ToolCallError"):
        tool = event.tool
        record.called(tool.tool_call_id, tool.result or "", is_error=bool(tool.tool_call_error))


def _take_over(final: Any, record: Record) -> None:
    """The run as agno tells it, and of the record what agno does not keep."""
    run = record.run
    told = run_of_shape(final, type(final).__name__)
    if not isinstance(final.content, (str, BaseModel)):
        told.content = final.content
    for tool, one in zip(told.tools, final.tools or (), strict=False):
        tool.is_paused = tool.is_paused or bool(getattr(one, "is_paused", False))
    told.metrics.model_calls = run.metrics.model_calls
    told.metrics.time_to_first_token = run.metrics.time_to_first_token or told.metrics.time_to_first_token
    last = next((message for message in reversed(told.messages) if message.role == "assistant"), None)
    told.raw_text = None if last is None else last.content
    for one in fields(RunOutput):
        if one.name not in _OURS:
            setattr(run, one.name, getattr(told, one.name))
    if run.status is RunStatus.error:
        raise ForeignRunError(run.get_content_as_string() or "the run failed")


_OURS = ("input", "session_id", "user_id", "created_at", "agent_name")


def _items(tools: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", tools) if isinstance(tools, (list, tuple)) else ()


def _uncached(model: Any) -> Any:
    """The model with its answers asked for, not remembered. Its connections are shared with the original."""
    if model is None or not hasattr(model, "cache_response"):
        return model
    twin = copy.copy(model)
    twin.cache_response = False
    return twin


def _declared(function: Any) -> dict[str, Any]:
    return {"name": function.name, "description": function.description, "parameters": function.parameters}


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def _told(value: Any) -> Any:
    """Messages without their own ids and times, lists item by item; other values as they are."""
    if isinstance(value, (list, tuple)):
        return [_told(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if type(value).__module__.startswith("agno.models.message"):
        shown = value.to_dict()
        return {key: one for key, one in shown.items() if key not in ("id", "created_at")}
    return value
