"""`rollgrid pause`, `cancel` and `retry`: steer a run from the shell, through the log."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rollgrid.errors import RunError
from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    emit_json,
    find_run,
    json_option,
    open_reader,
    wait,
)
from rollgrid_tui.cli.limits import ConcurrencyType

if TYPE_CHECKING:
    from rollgrid.store.rows import CommandRow

ANSWER_SECONDS = 10.0


@click.command("pause", epilog="Example: rollgrid pause last; later: rollgrid resume last")
@click.argument("run")
@json_option
@common_options()
@click.pass_obj
def pause_command(settings: Settings, run: str, as_json: bool) -> None:
    """Start no further attempt of RUN; those in flight finish. `rollgrid resume RUN` goes on."""
    steer(settings, run, "pause", {}, as_json=as_json)


@click.command("cancel", epilog="Example: rollgrid cancel last")
@click.argument("run")
@json_option
@common_options()
@click.pass_obj
def cancel_command(settings: Settings, run: str, as_json: bool) -> None:
    """Stop RUN. What is finished stays, and `rollgrid resume RUN` can still complete it."""
    steer(settings, run, "cancel", {}, as_json=as_json)


@click.command("concurrency", epilog="Example: rollgrid concurrency last 16; or: rollgrid concurrency last auto")
@click.argument("run")
@click.argument("limit", metavar="N|auto", type=ConcurrencyType())
@json_option
@common_options()
@click.pass_obj
def concurrency_command(settings: Settings, run: str, limit: int | str, as_json: bool) -> None:
    """Have a live RUN make N attempts at once, or find out itself how many its endpoint bears."""
    steer(settings, run, "concurrency", {"limit": limit}, as_json=as_json)


@click.command("retry", epilog="Example: rollgrid retry last t3 2")
@click.argument("run")
@click.argument("task", required=False)
@click.argument("attempt", type=click.IntRange(min=1), required=False)
@click.option("--signature", metavar="TEXT", help="Only failures of this signature (rollgrid show RUN --errors).")
@json_option
@common_options()
@click.pass_obj
def retry_command(
    settings: Settings, run: str, task: str | None, attempt: int | None, signature: str | None, as_json: bool
) -> None:
    """Run failed attempts of a live RUN again: one ATTEMPT of a TASK, those of one signature, or all with an error.

    The earlier takes stay visible as superseded. A run that has ended is completed with `rollgrid resume RUN`.
    """
    if (task is None) != (attempt is None):
        raise CommandError("retry takes a TASK together with an ATTEMPT", "Or neither, for all that failed.")
    wait(_retry(settings, run, task, attempt, signature, as_json=as_json))


async def _retry(
    settings: Settings, run: str, task: str | None, attempt: int | None, signature: str | None, *, as_json: bool
) -> None:
    path = settings.log_path()
    async with open_reader(path) as reader:
        row = await find_run(reader, run)
        if task is not None:
            index = task_index(await reader.tasks(row.run_id), task)
            wanted: list[dict[str, Any]] = [{"task": index, "attempt": attempt}]
        elif signature is not None:
            wanted = [{"signature": signature}]
        else:
            attempts = await reader.attempts(row.run_id)
            found = {a.error_signature for a in attempts if a.superseded is None and a.error_signature is not None}
            wanted = [{"signature": text} for text in sorted(found)]
    if not wanted:
        raise RunError(f"run {row.run_id} has no failed attempt", "Name one: rollgrid retry RUN TASK ATTEMPT.")
    for args in wanted:
        await _steer(path, run, "retry", args, as_json=as_json)


def task_index(tasks: "list[Any]", text: str) -> int:
    """The position of a task by its id."""
    for task in tasks:
        if task.id == text:
            return int(task.index)
    known = ", ".join(task.id for task in tasks[:8]) + (", ..." if len(tasks) > 8 else "")
    raise CommandError(f"the run has no task {text!r}", f"Its tasks: {known}.")


def steer(settings: Settings, run: str, command: str, args: dict[str, Any], *, as_json: bool) -> None:
    """Post a command to a live run and wait for its answer."""
    wait(_steer(settings.log_path(), run, command, args, as_json=as_json))


async def _steer(path: Path, run: str, command: str, args: dict[str, Any], *, as_json: bool) -> None:
    async with open_reader(path) as reader:
        row = await find_run(reader, run)
    if not row.alive:
        raise RunError(
            f"run {row.run_id} is {row.effective_state} and no runner works on it",
            f"rollgrid resume {row.run_id} starts one.",
        )
    answer = await post_and_wait(path, row.run_id, command, args)
    if not answer.accepted:
        raise RunError(
            f"run {row.run_id} refused the command {command}: {answer.answer}", tell_command("show", row.run_id)
        )
    tell(row.run_id, answer, as_json=as_json)


async def post_and_wait(path: Path, run_id: str, command: str, args: dict[str, Any]) -> "CommandRow":
    """Leave a command for a runner and wait for what it says. `RunError` when it says nothing."""
    from rollgrid.runner.machine import author
    from rollgrid.store.commands import post_command, wait_for_answer

    number = await post_command(path, run_id, command, args, author())
    answer = await wait_for_answer(path, number, ANSWER_SECONDS)
    if answer is None or answer.accepted is None:
        raise RunError(
            f"the runner of {run_id} did not answer within {ANSWER_SECONDS:.0f} seconds",
            "It may still act on the command; rollgrid runs shows its state.",
        )
    return answer


def tell(run_id: str, answer: "CommandRow", *, as_json: bool) -> None:
    """Print what the runner said to a command that it took."""
    if as_json:
        emit_json({"run_id": run_id, "command": answer.command, "accepted": True, "answer": answer.answer})
    else:
        emit(f"{run_id}: {answer.answer}")


def tell_command(name: str, run_id: str) -> str:
    """The hint that names the command which shows how things stand."""
    return f"rollgrid {name} {run_id} tells how it stands."
