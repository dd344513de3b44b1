"""An agent of openai-agents as an agent of an environment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from rollgrid.adapters.foreign import Facts, ForeignAgent, Given, Record, library, public_url, text_of
from rollgrid.agent.run import Message, ToolCall

__all__ = ["OpenAIAgentsAgent"]

_NO_SAMPLING = {"extra_headers", "retry", "timeout", "include_usage", "metadata", "preserve_raw_usage"}
_TOOL_FAILED = "An error occurred while running the tool"
_TEXT = ("response.output_text.delta", "response.refusal.delta")


class OpenAIAgentsAgent(ForeignAgent):
    """An `agents.Agent`, run with `Runner.run_streamed`: no session, no conversation, tracing off.

    `max_turns`, `context` and `run_config` are the library's own; `context` is handed to every run as it is. Tracing is
    off because it would send prompts and answers to a third place; give a `run_config` to decide otherwise. Chat
    completions are asked for their usage, which they leave out of a stream by default.

    Instructions and prompts that are made by functions, MCP servers, hooks, hosted tools with settings that are no
    data, and agents behind `Handoff` objects cannot be told for the fingerprint. Guardrails count by name.
    """

    library_name = "openai-agents"

    def __init__(
        self,
        agent: Any,
        *,
        max_turns: int = 10,
        context: Any = None,
        run_config: Any = None,
        prompt_fields: Given = None,
        policy: Given = None,
    ) -> None:
        super().__init__(agent, prompt_fields=prompt_fields, policy=policy)
        self._lib = library("agents", "openai-agents")
        self._max_turns = max_turns
        self._context = context
        self._config = run_config if run_config is not None else self._lib.RunConfig(tracing_disabled=True)

    # -- running ----------------------------------------------------------------------------------------------------

    async def _run(self, input: str, record: Record) -> None:
        config = replace(self._config, model_settings=self._with_usage(self._config.model_settings))
        if isinstance(self.agent.instructions, str):
            record.run.messages.insert(0, Message("system", self.agent.instructions))
        opening = list(record.run.messages)
        result = self._lib.Runner.run_streamed(
            self.agent, input, context=self._context, max_turns=self._max_turns, run_config=config
        )
        record.asks()
        try:
            async for event in result.stream_events():
                _follow(event, record)
                _put_down(result, opening, record)
        except BaseException:
            # The run goes on in a task of the library's own, which nobody else would stop.
            result.cancel()
            raise
        finally:
            _put_down(result, opening, record)
        self._conclude(result, record)

    def _with_usage(self, settings: Any) -> Any:
        if settings is None:
            return self._lib.ModelSettings(include_usage=True)
        return settings if settings.include_usage is not None else replace(settings, include_usage=True)

    def _conclude(self, result: Any, record: Record) -> None:
        run = record.run
        for item in getattr(result, "interruptions", None) or ():
            raw = item.raw_item
            record.waits(_field(raw, "name") or "", _field(raw, "arguments"), _field(raw, "call_id"))
        run.content = result.final_output
        last = next((message for message in reversed(run.messages) if message.role == "assistant"), None)
        run.raw_text = None if last is None else last.content

    def _clients(self) -> list[Any]:
        clients = [getattr(self._model(agent), "_client", None) for _, agent in self._agents()]
        return [client for client in clients if client is not None]

    def _agents(self) -> list[tuple[str, Any]]:
        """The agent and those that it hands over to or has as tools, as far as they show, each with a prefix."""
        found: list[tuple[str, Any]] = [("", self.agent)]
        seen = {id(self.agent)}
        for prefix, agent in found:
            behind = [getattr(tool, "_agent_instance", None) for tool in agent.tools]
            for one in [*agent.handoffs, *behind]:
                if one is not None and hasattr(one, "instructions") and id(one) not in seen:
                    seen.add(id(one))
                    found.append((f"{prefix}{one.name}.", one))
        return found

    def _model(self, agent: Any) -> Any:
        model = self._config.model if self._config.model is not None else agent.model
        return self._config.model_provider.get_model(model) if model is None or isinstance(model, str) else model

    # -- fingerprints -----------------------------------------------------------------------------------------------

    def _prompt(self) -> Facts:
        facts = Facts()
        facts.add("max_turns", self._max_turns)
        for name in ("input_guardrails", "output_guardrails"):
            facts.add(f"run.{name}", [one.get_name() for one in getattr(self._config, name) or ()] or None)
        for name in ("handoff_input_filter", "call_model_input_filter", "handoff_history_mapper", "sandbox"):
            facts.add(f"run.{name}", getattr(self._config, name, None))
        for prefix, agent in self._agents():
            self._agent_prompt(facts, prefix, agent)
        return facts

    def _agent_prompt(self, facts: Facts, prefix: str, agent: Any) -> None:
        for name in (
            "instructions",
            "prompt",
            "hooks",
            "handoff_description",
            "tool_use_behavior",
            "reset_tool_choice",
        ):
            facts.add(prefix + name, getattr(agent, name))
        facts.add(prefix + "tool_choice", agent.model_settings.tool_choice)
        for name in ("input_guardrails", "output_guardrails"):
            facts.add(prefix + name, [one.get_name() for one in getattr(agent, name)] or None)
        facts.add(prefix + "output_type", self._output_schema(agent.output_type))
        facts.add(prefix + "handoffs", [one.name for one in agent.handoffs if hasattr(one, "instructions")] or None)
        for handoff in agent.handoffs:
            if not hasattr(handoff, "instructions"):
                facts.hide(f"the agent behind the handoff {handoff.agent_name}")
        for tool in agent.tools:
            if getattr(tool, "_is_agent_tool", False) and getattr(tool, "_agent_instance", None) is None:
                facts.hide(f"the agent behind the tool {tool.name}")

    def _output_schema(self, output_type: Any) -> Any:
        if output_type is None or output_type is str:
            return None
        schema = output_type
        if not isinstance(output_type, self._lib.AgentOutputSchemaBase):
            schema = self._lib.AgentOutputSchema(output_type)
        return {"name": schema.name(), "schema": schema.json_schema(), "strict": schema.is_strict_json_schema()}

    def _tools(self) -> Facts:
        facts = Facts()
        for prefix, agent in self._agents():
            for tool in agent.tools:
                if hasattr(tool, "params_json_schema"):
                    told = {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
                    facts.add(prefix + tool.name, {"agent": prefix, **told})
                    if callable(tool.is_enabled):
                        facts.hide(f"is_enabled of the tool {tool.name}")
                else:
                    facts.add(prefix + tool.name, tool)
            for server in agent.mcp_servers:
                facts.hide(f"the MCP server {getattr(server, 'name', type(server).__name__)}")
        return facts

    def _policy(self) -> Facts:
        facts = Facts()
        for prefix, agent in self._agents():
            model = self._model(agent)
            facts.add(prefix + "class", type(model).__name__)
            facts.add(prefix + "id", str(getattr(model, "model", "")) or None)
            url = getattr(getattr(model, "_client", None), "base_url", None) or getattr(model, "base_url", None)
            if url is None:
                facts.hide(f"the address that a {type(model).__name__} asks")
            facts.add(prefix + "base_url", public_url(url))
            _settings(facts, prefix, agent.model_settings)
        _settings(facts, "run.", self._config.model_settings)
        return facts


def _settings(facts: Facts, prefix: str, settings: Any) -> None:
    if settings is None:
        return
    for name, value in sorted(cast("dict[str, Any]", vars(settings)).items()):
        if name not in _NO_SAMPLING and name != "tool_choice" and not name.startswith("_"):
            facts.add(f"{prefix}settings.{name}", value)


def _follow(event: Any, record: Record) -> None:
    if event.type == "raw_response_event":
        kind = getattr(event.data, "type", "")
        if kind == "response.output_item.added":
            record.begins()
        elif kind in _TEXT:
            record.hears(event.data.delta)
        elif kind == "response.completed":
            response = event.data.response
            if response.model:
                record.run.model = response.model
            record.heard()
        return
    if event.type != "run_item_stream_event":
        return
    raw = event.item.raw_item
    if event.name == "tool_called":
        record.calls(_name(raw), _field(raw, "arguments"), _field(raw, "call_id"))
    elif event.name == "tool_output":
        record.called(_field(raw, "call_id"), event.item.output, is_error=_failed(event.item.output))


def _put_down(result: Any, opening: list[Message], record: Record) -> None:
    """All messages and the tokens so far, in our shapes."""
    messages = list(opening)
    thoughts: list[str] = []
    pending: str | None = None
    names: dict[Any, str] = {}
    for item in result.new_items:
        raw, kind = item.raw_item, item.type
        if kind == "reasoning_item":
            pending = "\n\n".join(one.text for one in getattr(raw, "summary", None) or ()) or None
            thoughts += [pending] if pending else []
        elif kind == "message_output_item":
            messages.append(Message("assistant", _said(raw), reasoning=pending))
            pending = None
        elif kind in ("tool_call_item", "handoff_call_item"):
            names[_field(raw, "call_id")] = _name(raw)
            call = ToolCall(_field(raw, "call_id") or "", _name(raw), _field(raw, "arguments") or "")
            if messages[-1].role == "assistant":
                messages[-1].tool_calls.append(call)
            else:
                messages.append(Message("assistant", None, tool_calls=[call], reasoning=pending))
                pending = None
        elif kind in ("tool_call_output_item", "handoff_output_item"):
            output, called = _field(raw, "output"), _field(raw, "call_id")
            text, name = text_of(output), names.get(called)
            messages.append(Message("tool", text, tool_call_id=called, name=name, tool_call_error=_failed(output)))
    record.run.messages = messages
    record.run.reasoning = "\n\n".join(thoughts) or None
    usage = result.context_wrapper.usage
    asked = max(usage.requests, 1)
    while record.run.metrics.model_calls < asked:
        record.asks()
    details, spent = usage.input_tokens_details, usage.output_tokens_details
    record.spent(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cached=getattr(details, "cached_tokens", 0) or 0,
        reasoning=getattr(spent, "reasoning_tokens", 0) or 0,
    )


def _said(raw: Any) -> str:
    parts = [
        getattr(part, "text", None) or getattr(part, "refusal", None) or "" for part in _field(raw, "content") or ()
    ]
    return "".join(parts)


def _failed(output: Any) -> bool:
    """Whether a tool raised. The library tells by the text alone; a failure function of the tool's own is not known."""
    return isinstance(output, str) and output.startswith(_TOOL_FAILED)


def _name(raw: Any) -> str:
    return _field(raw, "name") or _field(raw, "type") or ""


def _field(raw: Any, name: str) -> Any:
    return cast("Mapping[str, Any]", raw).get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)
