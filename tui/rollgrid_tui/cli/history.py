"""`rollgrid history`: an environment over its runs, so that drift is seen."""

from typing import TYPE_CHECKING

import click

from rollgrid_tui.cli.common import CommandError, Settings, common_options, emit, emit_json, json_option, wait

if TYPE_CHECKING:
    from rollgrid.analysis.history import History, TaskHistory

RUNS = 40


@click.command("history", epilog="Example: rollgrid history arithmetic --task t3")
@click.argument("env")
@click.option("--task", metavar="ID", help="Only this task, a line for each run.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=RUNS, show_default=True, help="The newest so many.")
@click.option("--rescored", is_flag=True, help="Each run with its latest scoring, where it has one.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of every interval; changes are told at its complement.",
)
@click.option(
    "--ascii", "ascii_only", is_flag=True, default=None, envvar="ROLLGRID_ASCII", help="ASCII characters only."
)
@json_option
@common_options()
@click.pass_obj
def history_command(
    settings: Settings,
    env: str,
    task: str | None,
    limit: int,
    rescored: bool,
    confidence: float,
    ascii_only: bool | None,
    as_json: bool,
) -> None:
    """Show the pass rate of ENV over its runs, and where it changed by more than chance.

    ENV is an environment's name as `rollgrid runs` lists it, or its file. Runs of another version of the environment
    are shown and not compared.
    """
    from rollgrid.analysis.history_text import history_text, task_text
    from rollgrid.analysis.past_runs import aread_history

    path = settings.log_path()
    if not path.exists():
        raise CommandError(f"there is no log at {path}", "Start a run (rollgrid run ENV), or name a log with --log.")
    told = wait(aread_history(path, env, limit=limit, rescored=rescored, confidence=confidence))
    chosen = None if task is None else _task(told, task)
    if as_json:
        facts = told.to_dict()
        if chosen is not None:
            facts["tasks"] = [one for one in facts["tasks"] if one["id"] == chosen.id]
        emit_json(facts)
        return
    ascii = settings.use_ascii if ascii_only is None else ascii_only
    emit(history_text(told, ascii) if chosen is None else task_text(told, chosen, ascii))


def _task(told: "History", task: str) -> "TaskHistory":
    for one in told.tasks:
        if one.id == task:
            return one
    names = [one.id for one in told.tasks]
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise CommandError(f"no run of {told.env_name} has a task {task!r}", f"There are {shown}")
