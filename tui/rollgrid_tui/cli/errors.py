"""`rollgrid errors`: the storm desk in the shell: errors by cause, a sample of each, what to do, what was asked."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rollgrid_tui.cli.common import Settings, common_options, emit, emit_json, find_run, json_option, open_reader, wait

if TYPE_CHECKING:
    from rollgrid.store.rows import CommandRow, RunRow, TaskRow
    from rollgrid_tui.state.alerts_view import Cluster

TASKS_NAMED = 12
SAMPLE_CHARACTERS = 4000


@click.command("errors", epilog="Example: rollgrid errors last --json")
@click.argument("run")
@json_option
@common_options()
@click.pass_obj
def errors_command(settings: Settings, run: str, as_json: bool) -> None:
    """Print the errors of RUN by cause, with one of them whole, what to do, and what people asked of its runner."""
    wait(_errors(settings, run, as_json=as_json))


async def _errors(settings: Settings, run: str, *, as_json: bool) -> None:
    from rollgrid_tui.state.alerts_view import clusters

    async with open_reader(settings.log_path()) as reader:
        row = await find_run(reader, run)
        tasks = await reader.tasks(row.run_id)
        found = clusters(await reader.attempts(row.run_id), row.concurrency, row.storm)
        commands = await reader.commands(row.run_id)
    if as_json:
        emit_json(
            {
                "run_id": row.run_id,
                "state": row.effective_state,
                "storm": row.storm,
                "errors": [cluster_facts(one, row, tasks) for one in found],
                "commands": [command._asdict() for command in commands],
            }
        )
    else:
        emit(errors_text(row, tasks, found, commands, time.time()))


def cluster_facts(one: "Cluster", row: "RunRow", tasks: "Sequence[TaskRow]") -> dict[str, Any]:
    """A cluster for programs: `count` takes, `open` of which still count; `recent` of the `window` that ended last."""
    happened, advice = advice_for(one, row)
    return {
        "signature": one.signature,
        "cause": one.cause.value,
        "count": one.n,
        "open": one.n_open,
        "recent": one.n_recent,
        "window": one.recent,
        "first": one.first,
        "last": one.last,
        "tasks": [tasks[task].id for task in one.tasks],
        "sample": one.sample,
        "happened": happened,
        "advice": advice,
        "attempts": [{"task": tasks[task].id, "attempt": attempt, "take": take} for task, attempt, take in one.cells],
    }


def advice_for(one: "Cluster", row: "RunRow") -> tuple[str, str]:
    """What happened and what to do about it, with commands of the shell where the dashboard names keys."""
    from rollgrid_tui.state.alerts_view import ADVICE

    happened, advice = ADVICE[one.cause]
    words = {
        "run": row.run_id,
        "resume": f"rollgrid resume {row.run_id}",
        "slower": f"rollgrid concurrency {row.run_id} N",
        "auto": f"rollgrid concurrency {row.run_id} auto",
        "retry": f"rollgrid retry {row.run_id} --signature TEXT",
    }
    return happened, advice.replace("or press {auto}", "or use {auto}").format(**words)


def errors_text(
    row: "RunRow",
    tasks: "Sequence[TaskRow]",
    found: "Sequence[Cluster]",
    commands: "Sequence[CommandRow]",
    now: float,
) -> str:
    from rollgrid_tui.cli.show import heading, indent
    from rollgrid_tui.state.runs_view import age

    lines = heading(row)
    if row.storm:
        lines.append(f"ERROR STORM: {row.storm}")
    if not found:
        lines += ["", "No attempt has an error. A wrong answer is none: it is scored, and counts."]
    for one in found:
        happened, advice = advice_for(one, row)
        names = ", ".join(tasks[task].id for task in one.tasks[:TASKS_NAMED])
        more = f" and {len(one.tasks) - TASKS_NAMED} more" if len(one.tasks) > TASKS_NAMED else ""
        again = f", {one.n - one.n_open} of them run again since" if one.n > one.n_open else ""
        sample = one.sample[:SAMPLE_CHARACTERS]
        span = f"first {age(now - one.first)}, last {age(now - one.last)}"
        lines += [
            "",
            f"{one.n} x {one.cause.value}: {one.signature}",
            f"  {one.n_recent} of the last {one.recent}, {span}{again}",
            f"  tasks: {names}{more}",
            f"  {happened} {advice}",
            indent(sample),
        ]
    if commands:
        lines += ["", "asked of the run:", *(f"  {command_line(command, tasks)}" for command in commands)]
    return "\n".join(lines)


def command_line(row: "CommandRow", tasks: "Sequence[TaskRow]") -> str:
    """Who asked for what, when, and what the runner said."""
    from rollgrid_tui.state.asked import answer_line

    day = time.strftime("%Y-%m-%d", time.localtime(row.at))
    return f"{day} {answer_line(row, lambda task: tasks[task].id if 0 <= task < len(tasks) else None)}"
