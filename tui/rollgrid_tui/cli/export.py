"""`rollgrid export`: training data and reports out of a run or a baseline file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rollgrid_tui.cli.common import CommandError, Settings, common_options, emit, emit_json, json_option

if TYPE_CHECKING:
    from rollgrid.environments import EnvironmentRunResult


@click.group("export", epilog="Example: rollgrid export sft last train.jsonl")
def export_command() -> None:
    """Write training data or a report. Training data holds prompts and responses: treat it as sensitive."""


@export_command.command("sft", epilog="Example: rollgrid export sft last train.jsonl")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--all", "everything", is_flag=True, help="Failed attempts too, not only those that passed.")
@json_option
@common_options()
@click.pass_obj
def sft_command(settings: Settings, run: str, file: Path, everything: bool, as_json: bool) -> None:
    """Write one conversation a line, as {"messages": [...]}, from RUN (or a baseline file) to FILE."""
    from rollgrid.environments import to_sft_jsonl

    result = _load(settings, run)
    try:
        report = to_sft_jsonl(result, file, only_passed=not everything)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}", "Choose another place.") from error
    _tell(report, file, as_json=as_json)


@export_command.command("preferences", epilog="Example: rollgrid export preferences last pairs.jsonl")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@common_options()
@click.pass_obj
def preferences_command(settings: Settings, run: str, file: Path, as_json: bool) -> None:
    """Write pairs of a passing and a failing attempt of one task, as chosen and rejected."""
    from rollgrid.environments import to_preference_jsonl

    result = _load(settings, run)
    try:
        report = to_preference_jsonl(result, file)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}", "Choose another place.") from error
    _tell(report, file, as_json=as_json)


@export_command.command("csv", epilog="Example: rollgrid export csv last attempts.csv")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@common_options()
@click.pass_obj
def csv_command(settings: Settings, run: str, file: Path) -> None:
    """Write one row an attempt, with outcome, reason, error, time, tokens and cost; no prompt and no answer."""
    from rollgrid_tui.cli.gate import write_file
    from rollgrid_tui.cli.table_file import csv_bytes

    write_file(file, csv_bytes(_load(settings, run)))
    emit(f"Wrote {file}")


@export_command.command("html", epilog="Example: rollgrid export html last report.html --baseline baselines/marks.json")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--baseline", type=click.Path(path_type=Path), help="Show what moved since this baseline file.")
@common_options()
@click.pass_obj
def html_command(settings: Settings, run: str, file: Path, baseline: Path | None) -> None:
    """Write the figures of RUN with plots as one HTML file. It needs no network and holds no prompt and no answer."""
    from rollgrid.analysis.html import html_page
    from rollgrid_tui.cli.baseline import diff_results, load_file
    from rollgrid_tui.cli.gate import write_file

    result = _load(settings, run)
    compared = None if baseline is None else diff_results(result, load_file(baseline)).statistics()
    write_file(file, html_page(result.statistics(), compared, None, result.errors()).encode())
    emit(f"Wrote {file}")


def _load(settings: Settings, run: str) -> "EnvironmentRunResult":
    from rollgrid_tui.cli.baseline import is_simulated, load_either

    result = load_either(settings, run)
    if is_simulated(result):
        click.echo("rollgrid: SIMULATED: this run's answers are made up, no model was asked.", err=True)
    return result


def _tell(report: object, file: Path, *, as_json: bool) -> None:
    from dataclasses import asdict, is_dataclass

    if as_json and is_dataclass(report) and not isinstance(report, type):
        emit_json({"file": str(file), "report": asdict(report)})
    else:
        emit(f"Wrote {file}\n{report}")
