"""`rollgrid run` and `rollgrid resume`: start a run in a process of its own, or in this one when headless."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    emit_json,
    json_option,
    on_a_terminal,
    wait,
)
from rollgrid_tui.cli.engine import engine_options, ray_options_of
from rollgrid_tui.cli.limits import AUTO, concurrency_option, limit_options, limits_of
from rollgrid_tui.cli.until import max_k_option, sampling_of, until_options
from rollgrid_tui.cli.watch import baseline_option, open_dashboard

if TYPE_CHECKING:
    from rollgrid.runner.request import RunRequest

headless_option = click.option(
    "--headless", is_flag=True, help="Run in this process: progress on stderr, the final grid on stdout."
)
detach_option = click.option("--detach", is_flag=True, help="Start the run, print its id, and end.")
k_option = click.option(
    "-k", "--k", "k", type=click.IntRange(min=1), envvar="ROLLGRID_K", help="Attempts of each task; default 8."
)


@click.command("run", epilog="Example: rollgrid run evals/arithmetic.py -k 8 --where split=validation")
@click.argument("env")
@k_option
@concurrency_option
@click.option("--tasks", multiple=True, metavar="ID,...", help="Only these tasks; can be repeated.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only tasks with this metadata; can be repeated.")
@click.option(
    "--model",
    envvar="ROLLGRID_MODEL",
    help='Another model id for the agent, or "local", "local/NAME", "simulated".',
)
@baseline_option
@click.option("--seed", help="Seeds for models that sample on this machine; default the run's id.")
@until_options
@limit_options
@engine_options
@headless_option
@detach_option
@json_option
@common_options(draws=True)
@click.pass_obj
def run_command(
    settings: Settings,
    env: str,
    k: int | None,
    concurrency: int | str | None,
    tasks: tuple[str, ...],
    where: tuple[str, ...],
    model: str | None,
    baseline: Path | None,
    seed: str | None,
    until: str | None,
    max_k: int | None,
    delta: float | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    price: str | None,
    headless: bool,
    detach: bool,
    as_json: bool,
    engine: Literal["local", "ray"] | None,
    **ray: Any,
) -> int:
    """Run every task of ENV K times, or until it is decided, and watch the grid.

    ENV is path.py, path.py:name or module:name. The run is a process of its own: closing the dashboard leaves it going.
    """
    mode = Mode(headless=headless, detach=detach, as_json=as_json)
    mode.check()
    sampling = sampling_of(until, max_k, delta, baseline=baseline)
    from rollgrid.runner.machine import author
    from rollgrid.runner.request import RunRequest
    from rollgrid.store.ids import new_run_id

    at_once = settings.config.concurrency if concurrency is None else concurrency
    request = RunRequest(
        run_id=new_run_id(),
        log=settings.log_path(),
        author=author(),
        ref=env,
        cwd=str(Path.cwd()),
        k=settings.config.k if k is None else k,
        concurrency=at_once if isinstance(at_once, int) else None,
        adaptive=at_once == AUTO,
        limits=limits_of(max_cost, max_tokens, max_time, settings.config),
        price=price,
        tasks=ids(tasks),
        where=tuple(pair(text) for text in where),
        model=settings.config.model if model is None else model,
        seed=seed,
        sampling=sampling,
        engine=engine,
        ray=ray_options_of(engine or "local", **ray),
        storm_action="pause" if mode.watched else "stop",
    )
    return carry_out(settings, request, mode, baseline)


@click.command("resume", epilog="Example: rollgrid resume last --headless")
@click.argument("run")
@click.option("--env", metavar="ENV", help="The environment, for a run that a script started.")
@click.option("-k", "--k", "k", type=click.IntRange(min=1), help="Ask for so many attempts of each task.")
@concurrency_option
@click.option("--tasks", multiple=True, metavar="ID,...", help="Go on with these tasks only; can be repeated.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only tasks with this metadata; can be repeated.")
@baseline_option
@max_k_option
@limit_options
@engine_options
@headless_option
@detach_option
@json_option
@common_options(draws=True)
@click.pass_obj
def resume_command(
    settings: Settings,
    run: str,
    env: str | None,
    k: int | None,
    concurrency: int | str | None,
    tasks: tuple[str, ...],
    where: tuple[str, ...],
    baseline: Path | None,
    max_k: int | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    price: str | None,
    headless: bool,
    detach: bool,
    as_json: bool,
    engine: Literal["local", "ray"] | None,
    **ray: Any,
) -> int:
    """Go on with RUN: one that is paused, or one that was stopped, interrupted or killed.

    Only attempts that are missing, unscored or superseded are run. A run whose environment has changed is refused.
    Limits count what all sessions of the run have spent; one that is not given is what it was.
    """
    mode = Mode(headless=headless, detach=detach, as_json=as_json)
    row = wait(_find(settings, run))
    if row.alive and row.state == "paused":
        from rollgrid_tui.cli.control import steer

        steer(settings, row.run_id, "resume", {}, as_json=as_json)
        if mode.watched and on_a_terminal():
            open_dashboard(settings, row.run_id, baseline)
        return 0
    if row.alive:
        raise CommandError(
            f"run {row.run_id} is {row.state} already, by process {row.pid} on {row.host}",
            f"rollgrid watch {row.run_id} shows it.",
        )
    mode.check()
    from rollgrid.runner.machine import author
    from rollgrid.runner.request import RunRequest

    request = RunRequest(
        run_id=row.run_id,
        log=settings.log_path(),
        author=author(),
        ref=env,
        cwd=str(Path.cwd()) if env is not None else None,
        resume=True,
        k=k,
        max_k=max_k,
        concurrency=concurrency if isinstance(concurrency, int) else None,
        adaptive=None if concurrency is None else concurrency == AUTO,
        limits=limits_of(max_cost, max_tokens, max_time),
        price=price,
        tasks=ids(tasks),
        where=tuple(pair(text) for text in where),
        engine=engine,
        ray=ray_options_of(engine, **ray),
        storm_action="pause" if mode.watched else "stop",
    )
    return carry_out(settings, request, mode, baseline)


async def _find(settings: Settings, run: str) -> Any:
    from rollgrid_tui.cli.common import find_run, open_reader

    async with open_reader(settings.log_path()) as reader:
        return await find_run(reader, run)


class Mode:
    """How a run is followed: on the dashboard, in this process, or not at all."""

    def __init__(self, *, headless: bool, detach: bool, as_json: bool) -> None:
        self.headless = headless
        self.detach = detach
        self.as_json = as_json

    @property
    def watched(self) -> bool:
        """Somebody sees the run and can steer it."""
        return not (self.headless or self.detach)

    def check(self) -> None:
        """Refuse what does not go together, before anything is started."""
        if self.headless and self.detach:
            raise CommandError("--headless and --detach exclude each other", "Choose one.")
        if self.as_json and self.watched:
            raise CommandError("--json prints a result, and the dashboard shows it", "Add --headless or --detach.")
        if self.watched and not on_a_terminal():
            raise CommandError(
                "the dashboard needs a terminal, and this is none", "Add --headless to follow the run as text."
            )


def ids(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for text in texts for part in text.split(",") if part)


def pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise CommandError(f"--where {text} is no KEY=VALUE", "Write it like --where split=validation.")
    return key, value


def carry_out(settings: Settings, request: "RunRequest", mode: Mode, baseline: Path | None) -> int:
    """Start what is asked for and follow it as the mode says; returns the exit code."""
    if baseline is not None:
        from rollgrid_tui.cli.baseline import load_file

        load_file(baseline)  # a file that cannot be read is told now, not after the run was paid for
    if mode.headless:
        from rollgrid_tui.cli.headless import run_headless

        return run_headless(request, as_json=mode.as_json, baseline=baseline)
    from rollgrid.runner.spawn import start_runner

    run_id = start_runner(request)
    if mode.detach:
        if mode.as_json:
            emit_json({"run_id": run_id, "log": str(request.log)})
        else:
            emit(run_id)
        return 0
    open_dashboard(settings, run_id, baseline)
    return 0
