"""Plans and agents for tests of the runner, without a model."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rollgrid.agent.context import RunContext
from rollgrid.agent.run import RunOutput
from rollgrid.environments.task import Task
from rollgrid.runner.engine import Engine
from rollgrid.runner.plan import RunPlan, all_slots
from rollgrid.scorer.base import Score
from rollgrid.store.events import Event

Behaviour = Callable[[str, RunContext], Awaitable[Any]]


class EqualScorer:
    """Passes when the content equals what is expected."""

    async def ascore(self, run: RunOutput, expected: Any) -> Score:
        return Score(1.0, True) if run.content == expected else Score(0.0, False)

    def digest(self) -> str:
        return "equal"


class ListSink:
    """Keeps every event in a list."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.bodies: list[bytes | None] = []
        self.live: list[tuple[int, int, int]] = []

    def append(self, event: Event, body: bytes | None = None) -> None:
        self.events.append(event)
        self.bodies.append(body)

    def put_live(self, run_id: str, task: int, attempt: int, take: int, data: bytes) -> None:
        self.live.append((task, attempt, take))

    def when_saved(self, callback: Callable[[], None]) -> None:
        callback()

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def agent_of(behaviour: Behaviour) -> Callable[[], Callable[[str, RunContext], Awaitable[RunOutput]]]:
    """An agent maker: `behaviour(prompt, context)` gives the content, or raises."""

    async def run(prompt: str, context: RunContext) -> RunOutput:
        context.output.content = await behaviour(prompt, context)
        return context.output

    return lambda: run


async def answer_ok(prompt: str, context: RunContext) -> str:
    await asyncio.sleep(0)
    return "ok"


def make_plan(behaviour: Behaviour = answer_ok, *, n_tasks: int = 3, k: int = 2, **changes: Any) -> RunPlan:
    values: dict[str, Any] = {
        "run_id": "run",
        "tasks": tuple(Task(input=f"q{i}", expected="ok", id=f"task{i}") for i in range(n_tasks)),
        "k": k,
        "scorer": EqualScorer(),
        "make_agent": agent_of(behaviour),
        "timeout_seconds": 30,
        "slots": all_slots(n_tasks, k),
        "seed": "s",
    }
    return RunPlan(**{**values, **changes})


def make_engine(
    plan: RunPlan, sink: ListSink, concurrency: int = 4, **changes: Any
) -> tuple[Engine, dict[tuple[int, int], Any]]:
    """An engine and the dict that its results go into, by (task, attempt)."""
    results: dict[tuple[int, int], Any] = {}

    def take(slot, result):
        results[slot.task, slot.attempt] = result

    return Engine(plan, sink, concurrency=concurrency, on_result=take, **changes), results
