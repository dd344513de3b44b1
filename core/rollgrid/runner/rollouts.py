"""The library's doors to a run: `run_rollouts` and `arun_rollouts`."""

import asyncio
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from rollgrid.environments.environment import Environment
from rollgrid.environments.result import EnvironmentRunResult
from rollgrid.environments.task import Task
from rollgrid.models.base import Model
from rollgrid.runner.machine import author
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.resources import closing_resources
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.store.ids import new_run_id
from rollgrid.store.paths import default_log_path, log_is_off


async def arun_rollouts(
    env: Environment,
    *,
    k: int = 8,
    tasks: Sequence[Task] | None = None,
    model: Model | None = None,
    concurrency: int = 4,
) -> EnvironmentRunResult:
    """Run every task `k` times, each attempt isolated, and score every attempt.

    `tasks` chooses among the very objects in `env.tasks`. `model` is another policy for the environment's agent, as an
    instance. At most `concurrency` attempts run at once (a model's own `max_concurrency` may be lower).

    The run is written to the log (`ROLLGRID_LOG`, by default `.rollgrid/log.db` in the project; `off` writes nothing),
    so it can be watched from a dashboard. Failures of attempts are data in the result. Raises `ValueError` or
    `TypeError` for arguments that make no sense and `RollgridError` when the log cannot be used.
    """
    return await _arun(env, k=k, tasks=tasks, model=model, concurrency=concurrency, handle_signals=False)


def run_rollouts(
    env: Environment,
    *,
    k: int = 8,
    tasks: Sequence[Task] | None = None,
    model: Model | None = None,
    concurrency: int = 4,
) -> EnvironmentRunResult:
    """`arun_rollouts` for code without an event loop.

    Ctrl-C stops the run in order: what is in flight may finish (a second Ctrl-C drops it), and the result so far comes
    back with `stopped_early="interrupted"`. Raises `RuntimeError` inside a running event loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise RuntimeError("run_rollouts cannot be called from a running event loop; await arun_rollouts instead")
    in_main = threading.current_thread() is threading.main_thread()
    return asyncio.run(_arun(env, k=k, tasks=tasks, model=model, concurrency=concurrency, handle_signals=in_main))


async def _arun(
    env: Environment,
    *,
    k: int,
    tasks: Sequence[Task] | None,
    model: Model | None,
    concurrency: int,
    handle_signals: bool,
) -> EnvironmentRunResult:
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
    prepared = prepare_run(env, k=k, tasks=tasks, model=model, source={"script": _script()})
    options = SessionOptions(
        log=None if log_is_off() else default_log_path(),
        author=author(),
        concurrency=concurrency,
        run_id=new_run_id(),
        handle_signals=handle_signals,
        on_message=lambda text: print(f"rollgrid: {text}", file=sys.stderr),
    )
    async with closing_resources():
        outcome = await Session(prepared, options).run()
    return outcome.result


def _script() -> str | None:
    """The program that runs this, as a person would name it."""
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else None
