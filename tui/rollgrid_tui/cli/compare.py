"""`rollgrid compare`: three or more runs of one environment as a table."""

import click

from rollgrid_tui.cli.common import CommandError, Settings, common_options, emit, emit_json, json_option


@click.command("compare", epilog="Example: rollgrid compare baselines/small.json baselines/large.json last")
@click.argument("runs", nargs=-1, required=True)
@click.option("--label", "labels", multiple=True, help="Name of a column, one for each run; the model otherwise.")
@click.option(
    "--reference",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Which one the others are compared with, counted from 1.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of every interval.",
)
@json_option
@common_options()
@click.pass_obj
def compare_command(
    settings: Settings, runs: tuple[str, ...], labels: tuple[str, ...], reference: int, confidence: float, as_json: bool
) -> None:
    """Compare RUNS, each a run or a baseline file: a column for each, a row for each task."""
    from rollgrid.analysis.many import compare_many
    from rollgrid.environments import MismatchError
    from rollgrid_tui.cli.baseline import load_either

    results = [load_either(settings, run) for run in runs]
    try:
        found = compare_many(results, labels=labels or None, reference=reference - 1, confidence=confidence)
    except ValueError as error:
        raise CommandError(str(error), "rollgrid compare --help explains the options.") from error
    except MismatchError as error:
        raise CommandError(str(error), "Compare runs of one environment.") from error
    if as_json:
        emit_json(found.to_dict())
    else:
        emit(str(found))
