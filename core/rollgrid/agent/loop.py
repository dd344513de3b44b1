"""The conversation of one run: ask the model, carry out its tool calls, ask again, until it answers."""

import asyncio
import time
import uuid
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rollgrid.agent.context import RunContext
from rollgrid.agent.functions import ToolContext, ToolResult, describe, read_arguments
from rollgrid.agent.prompt import opening_messages
from rollgrid.agent.run import RunOutput, RunStatus, ToolExecution
from rollgrid.models.base import ModelReply, ModelRequest, OutputSchema
from rollgrid.models.messages import Message, ToolCall
from rollgrid.models.retry import RetryNotice, RetryPolicy, call_with_retries
from rollgrid.models.traffic import respond

if TYPE_CHECKING:
    from rollgrid.agent.agent import Agent

REFUSED_ROUNDS = 8
"""How often a model that is past its tool call limit is told so before its run is ended without an answer."""


async def run_agent(agent: "Agent", text: str, context: RunContext) -> RunOutput:
    """Fill `context.output` with one run of an agent that is this run's own copy.

    Raises `ModelError` when a model call fails for good; the output then has the status `error` and keeps everything
    up to there, as it does, with the status `cancelled`, when the run is cancelled.
    """
    run = context.output
    started = time.perf_counter()
    run.input = text
    run.run_id = run.run_id or str(uuid.uuid4())
    run.agent_name = agent.name
    run.session_id = context.session_id or agent.session_id
    run.user_id = context.user_id or agent.user_id
    run.model = agent.model.id
    run.model_provider = agent.model.provider
    run.created_at = time.time()
    run.session_state = agent.session_state
    run.status = RunStatus.running
    try:
        run.messages = opening_messages(agent, text)
        await _Conversation(agent, run, context).hold()
    except asyncio.CancelledError:
        run.status = RunStatus.cancelled
        raise
    except BaseException:
        run.status = RunStatus.error
        raise
    else:
        run.status = RunStatus.completed
    finally:
        run.metrics.duration = time.perf_counter() - started
    return run


class _Conversation:
    def __init__(self, agent: "Agent", run: RunOutput, context: RunContext) -> None:
        self._agent = agent
        self._run = run
        self._observer = context.observer
        self._seed = context.seed
        self._tools = agent.tools_by_name
        self._specs = agent.tool_specs()
        self._choice = agent.tool_choice if self._specs else None
        self._policy = agent.model.retry or RetryPolicy.default()
        self._calls_made = 0
        self._is_priced = True

    async def hold(self) -> None:
        agent, run = self._agent, self._run
        refused_rounds = 0
        while True:
            reply = await self._ask()
            # A call that was cut off by the token limit, or filtered, may not be what the model meant to call.
            if not reply.tool_calls or reply.finish in ("length", "content_filter"):
                break
            refused = [call for call in reply.tool_calls if not await self._tool(call)]
            if refused:
                run.tool_call_limit_hit = True
                self._choice = "none"
                refused_rounds += 1
                if refused_rounds > REFUSED_ROUNDS:
                    break
            elif self._choice not in (None, "auto", "none"):
                # A forced call is forced once: forcing it again would never let the model answer.
                self._choice = "auto"
        conclude(run, reply, agent.output)

    async def _ask(self) -> ModelReply:
        run, observer, model = self._run, self._observer, self._agent.model
        request = ModelRequest(run.messages, self._specs, self._choice, self._agent.output, self._seed)

        def on_text(piece: str) -> None:
            run.partial_text = piece if run.partial_text is None else run.partial_text + piece
            observer.on_text(run)

        async def call() -> ModelReply:
            observer.on_model_call(run)
            return await respond(model, request, on_text)

        def on_retry(notice: RetryNotice) -> None:
            run.partial_text = None
            run.metrics.retries += 1
            observer.on_retry(run, notice)

        run.partial_text = None
        run.metrics.model_calls += 1
        reply = await call_with_retries(call, self._policy, on_retry)
        run.partial_text = None
        self._record(reply)
        return reply

    def _record(self, reply: ModelReply) -> None:
        run, metrics, usage = self._run, self._run.metrics, reply.usage
        metrics.input_tokens += usage.input_tokens
        metrics.output_tokens += usage.output_tokens
        metrics.cached_tokens += usage.cached_tokens
        metrics.reasoning_tokens += usage.reasoning_tokens
        # A sum with a part that nobody knows is no sum.
        self._is_priced = self._is_priced and reply.cost is not None
        metrics.cost = (metrics.cost or 0.0) + (reply.cost or 0.0) if self._is_priced else None
        if metrics.time_to_first_token is None:
            metrics.time_to_first_token = reply.time_to_first_token
        if reply.model is not None:
            run.model = reply.model
        if reply.reasoning:
            run.reasoning = reply.reasoning if run.reasoning is None else f"{run.reasoning}\n\n{reply.reasoning}"
        for call in reply.tool_calls:
            # Some servers name no call; without a name its result could not be told from another's.
            call.id = call.id or f"call_{uuid.uuid4().hex[:12]}"
        text = reply.text or reply.refusal
        run.messages.append(
            Message(
                "assistant",
                text or (None if reply.tool_calls else ""),
                tool_calls=reply.tool_calls,
                reasoning=reply.reasoning,
                provider_items=reply.provider_items,
            )
        )

    async def _tool(self, call: ToolCall) -> bool:
        """Carry out one call; False when the limit refuses it."""
        agent, run, observer = self._agent, self._run, self._observer
        if agent.tool_call_limit is not None and self._calls_made >= agent.tool_call_limit:
            note = f"Error: the limit of {agent.tool_call_limit} tool calls is reached; {call.name} was not called."
            self._reply_to(call, f"{note} Answer without further calls.", is_error=True)
            return False
        self._calls_made += 1
        tool = self._tools.get(call.name)
        given = read_arguments(call.arguments)
        # The execution is on record before it runs, so that a run cut off inside of it shows where it was.
        execution = ToolExecution(call.name, given if isinstance(given, dict) else {}, call.id)
        run.tools.append(execution)
        observer.on_tool_start(run, call.name)
        started = time.perf_counter()
        if tool is None:
            known = ", ".join(self._tools) or "none"
            result = ToolResult(f"Error: there is no tool called {call.name}; there are: {known}", True)
        elif isinstance(given, str):
            result = ToolResult(given, True)
        else:
            result = await tool.call(given, self._injected())
        execution.result = result.text
        execution.tool_call_error = result.is_error
        execution.duration = time.perf_counter() - started
        self._reply_to(call, result.text, is_error=result.is_error)
        observer.on_tool_end(run, execution)
        return True

    def _injected(self) -> dict[str, Any]:
        agent, run = self._agent, self._run
        state = agent.session_state
        if state is None:
            state = run.session_state = agent.session_state = {}
        context = ToolContext(run.run_id, run.session_id, run.user_id, state)
        return {"agent": agent, "session_state": state, "run_context": context}

    def _reply_to(self, call: ToolCall, text: str, *, is_error: bool) -> None:
        self._run.messages.append(Message("tool", text, tool_call_id=call.id, name=call.name, tool_call_error=is_error))


_PROBLEMS = {"refusal": "refusal", "length": "truncated", "content_filter": "content_filter"}


def conclude(run: RunOutput, reply: ModelReply, output: OutputSchema | None) -> None:
    """Make the last reply the run's answer. What is no usable answer is recorded as what it is, and never raises."""
    text = reply.text or reply.refusal or ""
    run.raw_text = text
    run.problem = _PROBLEMS.get(reply.finish)
    if reply.finish == "refusal":
        run.problem_detail = reply.refusal or text
    elif reply.finish == "length":
        run.problem_detail = f"cut off by the token limit after {reply.usage.output_tokens} tokens"
    elif reply.finish == "content_filter":
        run.problem_detail = "cut off by the provider's content filter"
    if output is None:
        run.content = text
        return
    if run.problem is not None:
        return
    try:
        run.content = output.model.model_validate_json(text)
    except ValidationError as error:
        run.problem, run.problem_detail = "invalid", describe(error)
    except Exception as error:  # noqa: BLE001 - a validator of the user's own may raise anything
        run.problem, run.problem_detail = "invalid", f"{type(error).__name__}: {error}"
