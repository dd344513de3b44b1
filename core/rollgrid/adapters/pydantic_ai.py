"""An agent of pydantic-ai as an agent of an environment."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from rollgrid.adapters.foreign import Facts, ForeignAgent, Given, Record, library, public_url
from rollgrid.agent.run import Message, ToolCall

__all__ = ["PydanticAIAgent"]

_PROBE = "What is asked here is of no matter."
_NO_SAMPLING = {"timeout", "extra_headers"}


class PydanticAIAgent(ForeignAgent):
    """A `pydantic_ai.Agent`, run with `agent.iter`: no message history, one run per attempt.

    `deps` is handed to every run as it is; `make_deps` is called for each run instead. `usage_limits` and
    `model_settings` are the library's own. `stream=False` is for models that cannot stream; an attempt that is cut off
    then keeps what was whole by then.

    For the fingerprint the agent is run up to its first question, with a model that answers nothing: this tells the
    instructions, tools and output as a model would see them. Functions that make instructions or system prompts,
    toolsets that are not made of Python functions and capabilities of one's own cannot be told.
    """

    library_name = "pydantic-ai"

    def __init__(
        self,
        agent: Any,
        *,
        deps: Any = None,
        make_deps: Callable[[], Any] | None = None,
        usage_limits: Any = None,
        model_settings: Mapping[str, Any] | None = None,
        stream: bool = True,
        prompt_fields: Given = None,
        policy: Given = None,
    ) -> None:
        super().__init__(agent, prompt_fields=prompt_fields, policy=policy)
        if deps is not None and make_deps is not None:
            raise TypeError("give deps or make_deps, not both")
        self._lib = library("pydantic_ai", "pydantic-ai")
        self._make_deps = make_deps or (lambda: deps)
        self._usage_limits = usage_limits
        self._settings = model_settings
        self._stream = stream
        self._seen: Any = None

    # -- running ----------------------------------------------------------------------------------------------------

    async def _run(self, input: str, record: Record) -> None:
        settings = None if self._settings is None else dict(self._settings)
        async with self.agent.iter(
            input, deps=self._make_deps(), usage_limits=self._usage_limits, model_settings=settings, infer_name=False
        ) as run:
            try:
                async for node in run:
                    if self.agent.is_model_request_node(node):
                        _put_down(run.all_messages(), record)
                        await self._ask(node, run.ctx, record)
                    elif self.agent.is_call_tools_node(node):
                        _put_down(run.all_messages(), record)
                        async with node.stream(run.ctx) as events:
                            await _follow_tools(events, record)
            finally:
                _put_down(run.all_messages(), record)
            if run.result is not None:
                self._conclude(run.result.output, record)

    async def _ask(self, node: Any, ctx: Any, record: Record) -> None:
        record.asks()
        if not self._stream:
            return
        async with node.stream(ctx) as events:
            async for event in events:
                kind = getattr(event, "event_kind", "")
                record.begins()
                part: Any = getattr(event, "part" if kind == "part_start" else "delta", None)
                if getattr(part, "part_kind", None) == "text":
                    record.hears(part.content or "")
                elif getattr(part, "part_delta_kind", None) == "text":
                    record.hears(part.content_delta or "")

    def _conclude(self, output: Any, record: Record) -> None:
        run = record.run
        if type(output).__name__ == "DeferredToolRequests":
            for part in [*output.calls, *output.approvals]:
                record.waits(part.tool_name, part.args, part.tool_call_id)
            return
        run.content = output
        last = next((message for message in reversed(run.messages) if message.role == "assistant"), None)
        if last is not None:
            # A typed answer may come as a call of an output tool: then its arguments are the model's own words.
            run.raw_text = last.content or (last.tool_calls[-1].arguments if last.tool_calls else None)

    def _clients(self) -> list[Any]:
        clients = [getattr(model, "client", None) for _, model in _models("", self.agent.model)]
        return [client for client in clients if client is not None]

    # -- fingerprints -----------------------------------------------------------------------------------------------

    def _prompt(self) -> Facts:
        facts = Facts()
        asked = self._probed(facts)
        if asked is None:
            return facts
        messages, parameters = asked
        parts = [part for message in messages for part in message.parts if part.part_kind == "system-prompt"]
        if any(part.dynamic_ref for part in parts) or getattr(self.agent, "_system_prompt_functions", None):
            facts.hide("system prompts that are made by functions")
        facts.add("system_prompts", [part.content for part in parts])
        instructions: list[Any] = parameters.instruction_parts or []
        if any(part.dynamic for part in instructions):
            facts.hide("instructions that are made by functions")
        facts.add("instructions", [part.content for part in instructions])
        facts.add("output_mode", parameters.output_mode)
        facts.add("output_object", _output(parameters.output_object))
        facts.add("output_tools", [_definition(one) for one in parameters.output_tools])
        facts.add("allow_text_output", parameters.allow_text_output)
        facts.add("usage_limits", self._usage_limits)
        return facts

    def _tools(self) -> Facts:
        facts = Facts()
        asked = self._probed(facts)
        if asked is None:
            return facts
        parameters = asked[1]
        for one in parameters.function_tools:
            facts.add(one.name, _definition(one))
        for one in parameters.native_tools:
            facts.add(f"native:{one.kind}", one)
        return facts

    def _policy(self) -> Facts:
        facts = Facts()
        model = self.agent.model
        if isinstance(model, str):
            # Agents that were made with defer_model_check name a model that is looked up when they run.
            model = self._lib.models.infer_model(model)
        for prefix, one in _models("", model):
            _model_facts(facts, prefix, one)
        for name, settings in (("agent", self.agent.model_settings), ("run", self._settings)):
            _settings_facts(facts, f"{name}_settings", settings)
        return facts

    def _probed(self, facts: Facts) -> tuple[Any, Any] | None:
        """The messages and parameters of the first question, None when they cannot be had."""
        strange: list[str] = []

        def look(toolset: Any) -> None:
            if "FunctionToolset" not in {cls.__name__ for cls in type(toolset).__mro__}:
                strange.append(f"a {type(toolset).__name__}")

        for toolset in self.agent.toolsets:
            toolset.apply(look)

        def look_closer(capability: Any) -> None:
            if _is_own(capability):
                strange.append(f"a {type(capability).__name__}")

        self.agent.root_capability.apply(look_closer)
        if strange:
            for name in strange:
                facts.hide(name)
            return None
        if self._seen is None:
            self._seen = _probe(self.agent, self._make_deps)
        if isinstance(self._seen, BaseException):
            facts.hide(f"a prompt that cannot be made: {type(self._seen).__name__}: {self._seen}")
            return None
        return self._seen


def _probe(agent: Any, make_deps: Callable[[], Any]) -> Any:
    """The first question's messages and parameters, or the exception that came instead."""
    functions = library("pydantic_ai.models.function", "pydantic-ai")
    seen: list[Any] = []

    def refuse(messages: Any, info: Any) -> Any:
        seen.append((messages, info.model_request_parameters))
        raise InterruptedError

    async def ask() -> None:
        with agent.override(model=functions.FunctionModel(refuse)):
            await agent.run(_PROBE, deps=make_deps(), infer_name=False)

    def in_own_loop() -> None:
        try:
            asyncio.run(ask())
        except Exception as error:  # noqa: BLE001 - whatever the user's functions raise is why there is no prompt
            if not seen:
                seen.append(error)

    # The caller may be on an event loop, in which no other one can run.
    thread = threading.Thread(target=in_own_loop, name="rollgrid probe", daemon=True)
    thread.start()
    thread.join()
    return seen[0]


def _put_down(messages: Any, record: Record) -> None:
    """All messages and the tokens so far, in our shapes."""
    kept: list[Message] = []
    tokens = [0, 0, 0, 0]
    reasoning: list[str] = []
    instructions: str | None = None
    for message in messages:
        if message.kind == "request":
            if message.instructions and message.instructions != instructions:
                instructions = message.instructions
                kept.append(Message("system", instructions))
            kept += [one for part in message.parts if (one := _request(part)) is not None]
            continue
        response = _response(message)
        if getattr(message, "state", "complete") == "interrupted":
            record.run.partial_text = response.content or record.run.partial_text
            continue
        kept.append(response)
        if response.reasoning:
            reasoning.append(response.reasoning)
        usage = message.usage
        details: dict[str, int] = usage.details or {}
        thought: int = getattr(usage, "output_reasoning_tokens", 0) or details.get("reasoning_tokens", 0)
        counts: tuple[int, ...] = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, thought)
        tokens = [total + (more or 0) for total, more in zip(tokens, counts, strict=True)]
        record.run.model = message.model_name or record.run.model
        record.run.model_provider = message.provider_name or record.run.model_provider
    run = record.run
    answers = sum(message.role == "assistant" for message in run.messages)
    if kept:
        run.messages = kept
    run.reasoning = "\n\n".join(reasoning) or None
    if sum(message.role == "assistant" for message in kept) > answers:
        record.heard()
    record.spent(input=tokens[0], output=tokens[1], cached=tokens[2], reasoning=tokens[3])


def _request(part: Any) -> Message | None:
    kind = part.part_kind
    if kind == "system-prompt":
        return Message("system", part.content)
    if kind == "user-prompt":
        return Message("user", _prompt_text(part.content))
    if kind == "tool-return":
        is_error = getattr(part, "outcome", "success") != "success"
        return Message(
            "tool", _returned(part), tool_call_id=part.tool_call_id, name=part.tool_name, tool_call_error=is_error
        )
    if kind == "retry-prompt":
        text = part.model_response()
        if part.tool_name is None:
            return Message("user", text)
        return Message("tool", text, tool_call_id=part.tool_call_id, name=part.tool_name, tool_call_error=True)
    # Notes of the library to itself about instructions and tools; what they bring about shows elsewhere.
    content = getattr(part, "content", None)
    return Message("user", content) if isinstance(content, str) else None


def _response(message: Any) -> Message:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for part in message.parts:
        if part.part_kind == "text":
            texts.append(part.content)
        elif part.part_kind == "thinking" and part.content:
            thoughts.append(part.content)
        elif part.part_kind in ("tool-call", "builtin-tool-call"):
            arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
            calls.append(ToolCall(part.tool_call_id, part.tool_name, arguments))
    text = "".join(texts)
    return Message(
        "assistant", text or (None if calls else ""), tool_calls=calls, reasoning="\n\n".join(thoughts) or None
    )


async def _follow_tools(events: AsyncIterator[Any], record: Record) -> None:
    async for event in events:
        kind = getattr(event, "event_kind", "")
        if kind == "function_tool_call":
            record.calls(event.part.tool_name, event.part.args, event.part.tool_call_id)
        elif kind == "function_tool_result":
            part = getattr(event, "part", None) or event.result
            is_retry = part.part_kind == "retry-prompt"
            text = part.model_response() if is_retry else _returned(part)
            failed = is_retry or getattr(part, "outcome", "success") != "success"
            record.called(part.tool_call_id, text, is_error=failed)


def _returned(part: Any) -> str:
    return part.content if isinstance(part.content, str) else part.model_response_str()


def _prompt_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(one if isinstance(one, str) else f"[{type(one).__name__}]" for one in content)


def _definition(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}


def _output(output: Any) -> dict[str, Any] | None:
    return (
        None
        if output is None
        else {"name": output.name, "schema": output.json_schema, "description": output.description}
    )


def _is_own(capability: Any) -> bool:
    """Whether a capability came from the user; those that every agent has are in private modules of the library."""
    module = type(capability).__module__
    return not module.startswith("pydantic_ai.capabilities._")


def _models(prefix: str, model: Any) -> Iterator[tuple[str, Any]]:
    """The models behind a model that asks others, each with a prefix of its own; else the model itself."""
    inner = getattr(model, "wrapped", None)
    several: Any = getattr(model, "models", None)
    if inner is not None:
        yield from _models(prefix, inner)
    elif several:
        for index, one in enumerate(several):
            yield from _models(f"{prefix}{index}.", one)
    else:
        yield prefix, model


def _model_facts(facts: Facts, prefix: str, model: Any) -> None:
    if model is None:
        facts.hide("a model that is not set")
        return
    facts.add(f"{prefix}class", type(model).__name__)
    facts.add(f"{prefix}id", model.model_name)
    facts.add(f"{prefix}system", model.system)
    facts.add(f"{prefix}base_url", public_url(getattr(model, "base_url", None)))
    if type(model).__name__ == "FunctionModel":
        facts.hide("a FunctionModel")
    _settings_facts(facts, f"{prefix}settings", model.settings)


def _settings_facts(facts: Facts, name: str, settings: Any) -> None:
    if settings is None:
        return
    if not isinstance(settings, Mapping):
        facts.hide(name, settings)
        return
    for key, value in sorted(dict(settings).items()):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if key not in _NO_SAMPLING:
            facts.add(f"{name}.{key}", value)
