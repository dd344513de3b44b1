"""Carries out a request in this process, from the user's file to the final result."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from rollgrid.environments.environment import Environment
from rollgrid.environments.from_log import aresult_from_log
from rollgrid.environments.task import Task
from rollgrid.errors import ModelError, RunError
from rollgrid.models.base import Model
from rollgrid.models.pricing import GivenPrice
from rollgrid.runner.budget import Limits
from rollgrid.runner.carrier import LocalCarrier, MakeCarrier
from rollgrid.runner.load import load_environment
from rollgrid.runner.policy import choose_model
from rollgrid.runner.prepare import Prepared, prepare_run
from rollgrid.runner.ray_options import RayOptions
from rollgrid.runner.request import RunRequest
from rollgrid.runner.rescue import take_in
from rollgrid.runner.resources import closing_resources, rarer_collections
from rollgrid.runner.resume import prepare_resume
from rollgrid.runner.sampling import SamplingPlan
from rollgrid.runner.session import RunProgress, Session, SessionOptions, SessionOutcome
from rollgrid.runner.steering import ADAPTIVE_START
from rollgrid.scorer.base import MismatchError
from rollgrid.store.reader import LogReader
from rollgrid.store.rows import RunRow

DEFAULT_K = 8
DEFAULT_CONCURRENCY = 4


async def execute(
    request: RunRequest,
    *,
    handle_signals: bool,
    on_ready: Callable[[str], None] = lambda _run_id: None,
    on_progress: Callable[[RunProgress], None] = lambda _progress: None,
    on_message: Callable[[str], None] = lambda _text: None,
) -> SessionOutcome:
    """Run or resume what the request names. Raises `RollgridError` for everything a person can put right.

    The outcome's result reads transcripts from the log when they are asked for.
    """
    async with closing_resources():
        prepared = await _prepare(request)
        if prepared.model is not None:
            await _check(prepared.model)
        source = prepared.source
        adaptive = request.adaptive
        if adaptive is None:
            # A number that is given now speaks against what was asked for when the run was started.
            adaptive = request.concurrency is None and bool(source.get("adaptive"))
        start = ADAPTIVE_START if adaptive else source.get("concurrency") or DEFAULT_CONCURRENCY
        price = request.price or source.get("price")
        concurrency = request.concurrency or start
        options = SessionOptions(
            log=request.log,
            author=request.author,
            concurrency=concurrency,
            adaptive=adaptive,
            limits=request.limits.over(prepared.limits),
            price=GivenPrice.parse(price) if price is not None else None,
            run_id=request.run_id,
            storm_action=request.storm_action,
            handle_signals=handle_signals,
            collect=False,
            on_ready=on_ready,
            on_progress=on_progress,
            on_message=on_message,
        )
        async with _carriers(request, prepared, None if adaptive else concurrency, on_message) as make_carrier:
            with rarer_collections():
                outcome = await Session(prepared, replace(options, make_carrier=make_carrier)).run()
    return outcome.with_result(await aresult_from_log(request.log, request.run_id))


@asynccontextmanager
async def _carriers(
    request: RunRequest, prepared: Prepared, concurrency: int | None, say: Callable[[str], None]
) -> AsyncGenerator[MakeCarrier]:
    """Who carries the attempts out: this process, or workers that are there for as long as this is open."""
    if (request.engine or prepared.source.get("engine") or "local") == "local":
        yield LocalCarrier
        return
    from rollgrid.runner.ray_engine import ray_crew

    ray = request.ray.over(RayOptions.from_dict(prepared.source.get("ray") or {}))
    async with ray_crew(request, ray, prepared, concurrency=concurrency, say=say) as crew:
        yield crew.board


async def _check(model: Model) -> None:
    try:
        await model.check()
    except ModelError as error:
        raise RunError(str(error)) from error


async def _prepare(request: RunRequest) -> Prepared:
    if request.concurrency is not None and request.concurrency < 1:
        raise RunError(f"the concurrency must be at least 1, got {request.concurrency}")
    if not request.resume:
        assert request.ref is not None
        return _fresh(request.ref, request.cwd, request, DEFAULT_K if request.k is None else request.k)
    await take_in(request.log, request.run_id)
    async with aclosing(await LogReader.open(request.log)) as reader:
        row = await reader.run(request.run_id)
        if row is None:
            raise RunError(f"no run {request.run_id} in {request.log}", "`rollgrid runs` lists them")
        fresh = _fresh_for(row, request)
        chosen = select_tasks(fresh.env, request.tasks, request.where)
        only = None if chosen is None else [_name_of(fresh.env, task) for task in chosen]
        prepared = await prepare_resume(
            fresh,
            reader,
            request.log,
            row,
            author=request.author,
            k=request.k,
            more=request.more,
            only=only,
            sampling=_sampling_of(row, request),
        )
        return replace(prepared, limits=await _limits_of(reader, row))


def _sampling_of(row: RunRow, request: RunRequest) -> SamplingPlan | None:
    """What a resume goes on to decide. Somebody who asks for a number of attempts gets that number."""
    asked = row.source.get("sampling")
    if asked is None:
        if request.max_k is not None:
            raise RunError(
                f"run {row.run_id} was not started with --until decided, so --max-k has no meaning",
                "ask for more attempts with -k or --more",
            )
        return None
    if request.k is not None or request.more is not None:
        return None
    plan = SamplingPlan.from_dict(asked)
    return plan if request.max_k is None else replace(plan, max_k=request.max_k)


async def _limits_of(reader: LogReader, row: RunRow) -> Limits:
    """What the last session was given to keep to."""
    sessions = await reader.events(row.run_id, kinds=("session_started",), limit=1_000_000)
    return Limits.from_dict(sessions[-1].data.get("limits") or {}) if sessions else Limits()


def _name_of(env: Environment, task: Task) -> str:
    return task.id or f"t{next(i for i, one in enumerate(env.tasks, start=1) if one is task)}"


def _fresh_for(row: RunRow, request: RunRequest) -> Prepared:
    ref = request.ref or row.source.get("ref")
    if ref is None:
        raise RunError(
            f"run {row.run_id} was started by a script, so its environment is not known here",
            "name it: rollgrid resume RUN --env path.py",
        )
    model = request.model or row.source.get("model")
    wanted = RunRequest(
        run_id=row.run_id,
        log=request.log,
        author=request.author,
        model=model,
        seed=row.source.get("seed"),
        concurrency=row.source.get("concurrency"),
        adaptive=row.source.get("adaptive"),
        price=row.source.get("price"),
        engine=row.source.get("engine"),
        ray=RayOptions.from_dict(row.source.get("ray") or {}),
    )
    return _fresh(ref, request.cwd or row.source.get("cwd"), wanted, row.k)


def _fresh(ref: str, cwd: str | None, request: RunRequest, k: int) -> Prepared:
    loaded = load_environment(ref, cwd)
    tasks = select_tasks(loaded.env, request.tasks, request.where)
    source = {**request.source(), "ref": loaded.ref, "cwd": loaded.cwd}
    try:
        model = choose_model(request.model, loaded.env) if request.model is not None else None
        return prepare_run(
            loaded.env, k=k, tasks=tasks, model=model, source=source, seed=request.seed, sampling=request.sampling
        )
    except (ValueError, TypeError, MismatchError) as error:
        raise RunError(str(error)) from error


def select_tasks(env: Environment, ids: tuple[str, ...], where: tuple[tuple[str, str], ...]) -> tuple[Task, ...] | None:
    """The environment's tasks with these ids and this metadata, or None for all of them."""
    if not ids and not where:
        return None
    named = {task.id or f"t{index}": task for index, task in enumerate(env.tasks, start=1)}
    unknown = [name for name in ids if name not in named]
    if unknown:
        raise RunError(f"{env.name} has no task {unknown[0]}", f"it has {_some(list(named))}")
    chosen = tuple(
        task
        for name, task in named.items()
        if (not ids or name in ids) and all(str(task.metadata.get(key)) == value for key, value in where)
    )
    if not chosen:
        raise RunError("no task matches --where " + " ".join(f"{key}={value}" for key, value in where))
    return chosen


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


__all__ = ["DEFAULT_CONCURRENCY", "DEFAULT_K", "execute", "select_tasks"]
