"""`rollgrid more`: further attempts of a run's tasks, while it runs or when it is over."""

from typing import TYPE_CHECKING

import click

from rollgrid.errors import RunError
from rollgrid_tui.cli.common import CommandError, Settings, common_options, find_run, json_option, open_reader, wait
from rollgrid_tui.cli.control import post_and_wait, tell, tell_command
from rollgrid_tui.cli.limits import AUTO, concurrency_option, limit_options, limits_of
from rollgrid_tui.cli.run import Mode, carry_out, detach_option, headless_option, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollgrid.store.rows import RunRow, TaskRow


@click.command("more", epilog="Example: rollgrid more last t3 -n 4")
@click.argument("run")
@click.argument("task", nargs=-1)
@click.option("-n", "--attempts", "n", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Tasks with this metadata; can be repeated.")
@click.option("--env", metavar="ENV", help="The environment, for a run that a script started and that is over.")
@concurrency_option
@limit_options
@headless_option
@detach_option
@json_option
@common_options(draws=True)
@click.pass_obj
def more_command(
    settings: Settings,
    run: str,
    task: tuple[str, ...],
    n: int,
    where: tuple[str, ...],
    env: str | None,
    concurrency: int | str | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    price: str | None,
    headless: bool,
    detach: bool,
    as_json: bool,
) -> int:
    """Run N further attempts of each TASK of RUN, or of every task when none is named.

    A runner that works on RUN takes them in. A run that is over goes on for them alone; then -c, the limits and how it
    is followed are those of `rollgrid resume`.
    """
    row, tasks, known = wait(_find(settings, run, task, where))
    if row.alive:
        args = {"n": n} if tasks is None else {"n": n, "tasks": [one.index for one in tasks]}
        path = settings.log_path()
        answer = wait(post_and_wait(path, row.run_id, "more", args))
        if answer.accepted:
            tell(row.run_id, answer, as_json=as_json)
            return 0
        if not wait(_is_over(settings, row.run_id)):
            raise RunError(f"run {row.run_id} refused: {answer.answer}", tell_command("show", row.run_id))
    from rollgrid.runner.machine import author
    from rollgrid.runner.request import RunRequest

    mode = Mode(headless=headless, detach=detach, as_json=as_json)
    mode.check()
    chosen = () if tasks is None else tuple(one.id for one in tasks)
    if len(chosen) == known:
        chosen = ()
    request = RunRequest(
        run_id=row.run_id,
        log=settings.log_path(),
        author=author(),
        ref=env,
        resume=True,
        more=n,
        concurrency=concurrency if isinstance(concurrency, int) else None,
        adaptive=None if concurrency is None else concurrency == AUTO,
        limits=limits_of(max_cost, max_tokens, max_time),
        price=price,
        tasks=chosen,
        storm_action="pause" if mode.watched else "stop",
    )
    return carry_out(settings, request, mode, None)


async def _find(
    settings: Settings, run: str, ids: tuple[str, ...], where: tuple[str, ...]
) -> "tuple[RunRow, Sequence[TaskRow] | None, int]":
    """The run, the tasks that are meant (None: all), and how many tasks it has."""
    async with open_reader(settings.log_path()) as reader:
        row = await find_run(reader, run)
        tasks = await reader.tasks(row.run_id)
    if not ids and not where:
        return row, None, len(tasks)
    known = {task.id: task for task in tasks}
    for name in ids:
        if name not in known:
            raise CommandError(f"run {row.run_id} has no task {name!r}", tell_command("show", row.run_id))
    pairs = [pair(text) for text in where]
    chosen = [
        task
        for task in tasks
        if (not ids or task.id in ids) and all(str(task.metadata.get(key)) == value for key, value in pairs)
    ]
    if not chosen:
        raise CommandError(f"no task of run {row.run_id} matches --where", tell_command("show", row.run_id))
    return row, chosen, len(tasks)


async def _is_over(settings: Settings, run_id: str) -> bool:
    """Whether the runner that refused has ended, or does within a moment."""
    import asyncio

    async with open_reader(settings.log_path()) as reader:
        for _ in range(20):
            row = await find_run(reader, run_id)
            if not row.alive:
                return True
            if row.state in {"running", "paused", "stopping"}:
                return False
            await asyncio.sleep(0.1)
    return False
