"""`rollgrid runs`: what the log holds, newest first."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rollgrid_tui.cli.common import (
    Settings,
    common_options,
    emit,
    emit_json,
    json_option,
    open_reader,
    rate,
    span,
    table,
    wait,
)

if TYPE_CHECKING:
    from rollgrid.store.rows import RunRow


@click.command("runs", epilog="Example: rollgrid runs --json")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=200, show_default=True, help="At most so many.")
@json_option
@common_options()
@click.pass_obj
def runs_command(settings: Settings, limit: int, as_json: bool) -> None:
    """List the runs of the log, newest first."""
    path = settings.log_path()
    # A log that is only just being made is still an empty file.
    rows, learning = wait(read_runs(path, limit)) if path.exists() and path.stat().st_size else ([], {})
    if as_json:
        facts = [run_facts(row) | {"n_learning": learning[row.run_id]} for row in rows]
        emit_json({"log": str(path), "runs": facts})
    elif rows:
        emit(runs_table(rows, time.time(), learning))
    else:
        emit(f"No runs in {path} yet. Start one with: rollgrid run ENV, or rollgrid demo")


async def read_runs(path: Path, limit: int) -> "tuple[list[RunRow], dict[str, int]]":
    """The newest runs, and by run how many of its tasks are in the learning zone."""
    async with open_reader(path) as reader:
        rows = await reader.runs(limit)
        learning = await reader.learning([row.run_id for row in rows])
    return sorted(rows, key=lambda row: row.created_at, reverse=True), learning


def run_facts(row: "RunRow") -> dict[str, Any]:
    """A run for programs. `state` is what is true now: a run whose runner is gone is `dead`."""
    facts = row._asdict()
    facts["env"] = facts.pop("env_name")
    facts["state"] = row.effective_state
    facts["n_planned"] = row.n_planned
    facts["pass_rate"] = row.n_passed / row.n_scored if row.n_scored else None
    first = ("run_id", "state", "env", "pid")
    return {key: facts[key] for key in first} | {key: value for key, value in facts.items() if key not in first}


def runs_table(rows: "list[RunRow]", now: float, learning: "Mapping[str, int]") -> str:
    lines: list[list[str]] = []
    for row in rows:
        model = row.model + (" SIMULATED" if row.model_kind == "simulated" else "")
        lines.append(
            [
                row.run_id,
                row.stopped_early or row.effective_state,
                row.env_name,
                model,
                row.k_text,
                f"{row.n_ended}/{row.n_planned}",
                rate(row.n_passed, row.n_scored),
                str(learning.get(row.run_id, 0)) if row.n_scored else "-",
                str(row.n_ended - row.n_scored),
                "-" if row.cost is None else f"${row.cost:.4f}",
                span(now - row.created_at),
            ]
        )
    headers = ("run", "state", "environment", "model", "k", "ended", "passed", "learning", "unscored", "cost", "age")
    return table(headers, lines, right=(4, 5, 6, 7, 8, 9, 10))
