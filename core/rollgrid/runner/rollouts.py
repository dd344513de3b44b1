"""The library's doors to a run: `run_rollouts` and `arun_rollouts`."""

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rollgrid.environments.environment import Environment
from rollgrid.environments.result import EnvironmentRunResult
from rollgrid.environments.task import Task
from rollgrid.models.base import Model
from rollgrid.runner.budget import Limits
from rollgrid.runner.machine import author
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.resources import closing_resources
from rollgrid.runner.sampling import DEFAULT_MAX_K, SamplingPlan, sampling_against
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.runner.steering import ADAPTIVE_START, AUTO
from rollgrid.scorer.isolated_worker import IN_WORKER
from rollgrid.store.ids import new_run_id
from rollgrid.store.paths import default_log_path, log_is_off

LOG_PATIENCE_SECONDS = 30.0
"""The caller has the results, so a log that cannot be written does not hold them back for longer."""


async def arun_rollouts(
    env: Environment,
    *,
    k: int = 8,
    tasks: Sequence[Task] | None = None,
    model: Model | None = None,
    concurrency: int | Literal["auto"] = 4,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    until: Literal["decided"] | None = None,
    max_k: int = DEFAULT_MAX_K,
    baseline: EnvironmentRunResult | None = None,
    delta: float = 0.2,
) -> EnvironmentRunResult:
    """Run every task `k` times, each attempt isolated, and score every attempt.

    `tasks` chooses among the very objects in `env.tasks`. `model` is another policy for the environment's agent, as an
    instance. At most `concurrency` attempts run at once (a model's own `max_concurrency` may be lower); `"auto"` finds
    out how many the endpoint bears.

    `max_cost` (US dollars), `max_tokens` and `max_seconds` bound the run: no attempt starts that is expected to take it
    over one of them, what is in flight finishes, and the result has `stopped_early="budget"`.

    `until="decided"` makes as many attempts of each task as it takes to tell in which zone its pass rate lies, or with
    a `baseline` whether it changed by `delta`, and at most `max_k`; `k` has no meaning then. What was settled, and on
    what evidence, is in `result.about["settled"]` by task id.

    The run is written to the log (`ROLLGRID_LOG`, by default `.rollgrid/log.db` in the project; `off` writes nothing),
    so it can be watched from a dashboard. Failures of attempts are data in the result. Raises `ValueError` or
    `TypeError` for arguments that make no sense and `RollgridError` when the log cannot be used.
    """
    return await _arun(
        env,
        k=k,
        tasks=tasks,
        model=model,
        concurrency=concurrency,
        limits=Limits(max_cost, max_tokens, max_seconds),
        sampling=_sampling(until, max_k, baseline, delta),
        handle_signals=False,
    )


def run_rollouts(
    env: Environment,
    *,
    k: int = 8,
    tasks: Sequence[Task] | None = None,
    model: Model | None = None,
    concurrency: int | Literal["auto"] = 4,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    until: Literal["decided"] | None = None,
    max_k: int = DEFAULT_MAX_K,
    baseline: EnvironmentRunResult | None = None,
    delta: float = 0.2,
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
    return asyncio.run(
        _arun(
            env,
            k=k,
            tasks=tasks,
            model=model,
            concurrency=concurrency,
            limits=Limits(max_cost, max_tokens, max_seconds),
            sampling=_sampling(until, max_k, baseline, delta),
            handle_signals=threading.current_thread() is threading.main_thread(),
        )
    )


def _sampling(
    until: str | None, max_k: int, baseline: EnvironmentRunResult | None, delta: float
) -> SamplingPlan | None:
    if until is None:
        return None
    if until != "decided":
        raise ValueError(f'until must be "decided" or None, got {until!r}')
    return sampling_against(baseline, max_k=max_k, delta=delta)


async def _arun(
    env: Environment,
    *,
    k: int,
    tasks: Sequence[Task] | None,
    model: Model | None,
    concurrency: int | Literal["auto"],
    limits: Limits,
    sampling: SamplingPlan | None,
    handle_signals: bool,
) -> EnvironmentRunResult:
    if isinstance(concurrency, str):
        if concurrency != AUTO:
            raise ValueError(f"concurrency must be a number or {AUTO!r}, got {concurrency!r}")
    elif isinstance(concurrency, bool) or not isinstance(concurrency, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"concurrency must be a whole number or {AUTO!r}, got {type(concurrency).__name__}")
    elif concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, got {concurrency}")
    if os.environ.get(IN_WORKER):
        raise RuntimeError(
            "this script runs rollouts when a scorer's process imports it; put that under "
            'an `if __name__ == "__main__":`'
        )
    source = {"script": _script(), "sampling": None if sampling is None else sampling.to_dict()}
    prepared = prepare_run(env, k=k, tasks=tasks, model=model, source=source, sampling=sampling)
    options = SessionOptions(
        log=None if log_is_off() else default_log_path(),
        author=author(),
        concurrency=ADAPTIVE_START if isinstance(concurrency, str) else concurrency,
        adaptive=isinstance(concurrency, str),
        limits=limits,
        run_id=new_run_id(),
        handle_signals=handle_signals,
        log_patience=LOG_PATIENCE_SECONDS,
        on_message=lambda text: print(f"rollgrid: {text}", file=sys.stderr),
    )
    async with closing_resources():
        outcome = await Session(prepared, options).run()
    return outcome.result


def _script() -> str | None:
    """The program that runs this, as a person would name it."""
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else None
