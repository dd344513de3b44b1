"""A run as a stream of events."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from rollgrid.agent.context import RunContext, RunObserver
from rollgrid.agent.events import CallRetried, ModelCalled, RunEnded, RunEvent, TextArrived, ToolEnded, ToolStarted
from rollgrid.agent.loop import run_agent
from rollgrid.agent.run import RunOutput, ToolExecution
from rollgrid.models.retry import RetryNotice

if TYPE_CHECKING:
    from rollgrid.agent.agent import Agent


class _Relay:
    """Turns what a run tells its observer into events; the caller's own observer is told as well."""

    def __init__(self, inner: RunObserver) -> None:
        self._inner = inner
        self._seen = 0
        self.events: asyncio.Queue[RunEvent | None] = asyncio.Queue()

    def on_model_call(self, run: RunOutput) -> None:
        self._seen = 0
        self._inner.on_model_call(run)
        self.events.put_nowait(ModelCalled(run))

    def on_text(self, run: RunOutput) -> None:
        self._inner.on_text(run)
        text = run.partial_text or ""
        self.events.put_nowait(TextArrived(run, text[self._seen :]))
        self._seen = len(text)

    def on_tool_start(self, run: RunOutput, name: str) -> None:
        self._inner.on_tool_start(run, name)
        self.events.put_nowait(ToolStarted(run, name))

    def on_tool_end(self, run: RunOutput, execution: ToolExecution) -> None:
        self._inner.on_tool_end(run, execution)
        self.events.put_nowait(ToolEnded(run, execution))

    def on_retry(self, run: RunOutput, notice: RetryNotice) -> None:
        self._inner.on_retry(run, notice)
        self.events.put_nowait(CallRetried(run, notice))


async def stream_agent(agent: "Agent", text: str, context: RunContext) -> AsyncGenerator[RunEvent, None]:
    """Run the agent and yield its events. Leaving the stream early cancels the run."""
    relay = _Relay(context.observer)

    async def work() -> RunOutput:
        try:
            return await run_agent(agent, text, replace(context, observer=relay))
        finally:
            relay.events.put_nowait(None)

    # Not a TaskGroup: its scope may not stay open across a yield.
    task = asyncio.create_task(work())
    try:
        while (event := await relay.events.get()) is not None:
            yield event
        yield RunEnded(await task)
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        elif not task.cancelled():
            # A listener that left before the end does not want the failure either: it counts as seen.
            task.exception()
