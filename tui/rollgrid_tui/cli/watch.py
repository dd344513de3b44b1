"""`rollgrid watch`: the dashboard on one run, and what is said when it is left."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    find_run,
    on_a_terminal,
    open_reader,
    rate,
    wait,
)

if TYPE_CHECKING:
    from rollgrid.store.rows import RunRow


baseline_option = click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Show the differences to this baseline file in the grid, live; headless, compare at the end.",
)


@click.command("watch", epilog="Example: rollgrid watch last")
@click.argument("run", required=False)
@baseline_option
@common_options(draws=True)
@click.pass_obj
def watch_command(settings: Settings, run: str | None, baseline: Path | None) -> None:
    """Open the live grid of RUN, from any terminal; without RUN, of the newest one.

    RUN is an id, the beginning of one, or "last".
    """
    need_a_terminal("rollgrid show prints a run as text")
    run_id = wait(_resolve(settings.log_path(), run or "last"))
    if baseline is not None:
        from rollgrid_tui.cli.baseline import load_file

        load_file(baseline)
    open_dashboard(settings, run_id, baseline)


async def _resolve(path: Path, text: str) -> str:
    async with open_reader(path) as reader:
        return await reader.resolve(text)


def need_a_terminal(instead: str) -> None:
    """Refuse before anything is started or opened: a full-screen dashboard needs a terminal at both ends."""
    if not on_a_terminal():
        raise CommandError("the dashboard needs a terminal, and this is none", f"{instead}.")


def open_dashboard(settings: Settings, run_id: str | None, baseline: Path | None = None) -> None:
    """Show the dashboard until it is left, then say how to come back."""
    need_a_terminal("rollgrid runs lists the runs, and rollgrid run ENV --headless runs without one")
    path = settings.log_path()
    from rollgrid_tui.app import run_dashboard

    left = run_dashboard(path, run_id=run_id, ascii=settings.use_ascii, fps=settings.fps, baseline=baseline)
    shown = left.run_id or run_id
    if shown is not None:
        say_how_to_come_back(path, shown, explicit_log=settings.log is not None)


def say_how_to_come_back(path: Path, run_id: str, *, explicit_log: bool) -> None:
    if path.exists():
        row = wait(_read(path, run_id))
        emit(farewell(row, path if explicit_log else None))


async def _read(path: Path, run_id: str) -> "RunRow":
    async with open_reader(path) as reader:
        return await find_run(reader, run_id)


def farewell(row: "RunRow", log: Path | None) -> str:
    """What a person needs when the dashboard is closed: the run's state, and the command that opens it again."""
    option = f" --log {log}" if log is not None else ""
    watch, resume = f"rollgrid watch {row.run_id}{option}", f"rollgrid resume {row.run_id}{option}"
    state = row.effective_state
    if state in {"running", "stopping"}:
        how, then = "goes on", f"Come back with: {watch}"
    elif state == "paused":
        how, then = "is paused", f"Come back with: {watch}"
    elif state in {"dead", "interrupted"} or row.n_ended < row.n_planned:
        how, then = f"is {row.stopped_early or state}", f"Go on with: {resume}"
    else:
        how, then = f"is {state}", f"Look again with: {watch}"
    progress = f"{row.n_ended} of {row.n_planned} attempts ended, passed {rate(row.n_passed, row.n_scored)}"
    return f"Run {row.run_id} {how}: {progress}.\n{then}"
