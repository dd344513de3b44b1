"""`rollgrid export`: training data and reports out of a run or a baseline file."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    emit_json,
    json_option,
    open_reader,
    wait,
)

if TYPE_CHECKING:
    from rollgrid.environments import EnvironmentRunResult, ExportReport, PreferenceReport
    from rollgrid_tui.cli.reviews_file import Reviewed


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


@export_command.command("reviews", epilog="Example: rollgrid export reviews last reviews.csv")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--csv", "as_csv", is_flag=True, help="One row a review; what a FILE gets that is not called .json.")
@click.option("--history", is_flag=True, help="Also reviews that were replaced or taken back.")
@json_option
@common_options()
@click.pass_obj
def reviews_command(
    settings: Settings, run: str, file: Path | None, as_csv: bool, history: bool, as_json: bool
) -> None:
    """Write who said what of which attempt of RUN, beside its score, to FILE or to stdout.

    As CSV, or as one JSON object that has the agreement of people and scorer too.
    """
    from rollgrid.analysis.text import counted
    from rollgrid.text import clean_block
    from rollgrid_tui.cli.gate import write_file
    from rollgrid_tui.cli.reviews_file import reviews_csv

    if as_csv and as_json:
        raise CommandError("--csv and --json are two formats", "Choose one.")
    known = wait(_reviewed(settings, run))
    rows = known.facts(history=history)
    if as_json or (not as_csv and file is not None and file.suffix == ".json"):
        facts = {"run_id": known.row.run_id, "env": known.row.env_name, "scoring": known.scoring}
        text = json.dumps(facts | {"agreement": known.agreement().to_dict(), "reviews": rows}, allow_nan=False)
        data = text.encode("ascii") + b"\n"
    else:
        data = reviews_csv(rows)
    if file is None:
        text = data.decode()
        # A program gets what people wrote as they wrote it; a terminal gets nothing that acts on it.
        click.echo(clean_block(text) if sys.stdout.isatty() else text, nl=False)
        return
    write_file(file, data)
    emit(f"Wrote {counted(len(rows), 'review')} to {file}")


async def _reviewed(settings: Settings, run: str) -> "Reviewed":
    from rollgrid_tui.cli.reviews_file import reviewed_run

    async with open_reader(settings.log_path()) as reader:
        return await reviewed_run(reader, run)


def _load(settings: Settings, run: str) -> "EnvironmentRunResult":
    from rollgrid_tui.cli.baseline import is_simulated, load_either

    result = load_either(settings, run)
    if is_simulated(result):
        click.echo("rollgrid: SIMULATED: this run's answers are made up, no model was asked.", err=True)
    return result


def _tell(report: "ExportReport | PreferenceReport", file: Path, *, as_json: bool) -> None:
    if as_json:
        emit_json({"file": str(file), "report": asdict(report)})
    else:
        emit(f"Wrote {file}: {in_words(report)}")


def in_words(report: "ExportReport | PreferenceReport") -> str:
    """What became of the attempts: `34 written, 12 skipped failed`."""
    counts = asdict(report)
    return ", ".join(f"{n} {name[2:].replace('_', ' ')}" for name, n in counts.items() if n or name == "n_written")
