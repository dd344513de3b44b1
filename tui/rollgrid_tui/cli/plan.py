"""`rollgrid plan`: what a run has settled, and what it takes to settle the rest."""

import click

from rollgrid_tui.cli.common import CommandError, Settings, common_options, emit, emit_json, json_option
from rollgrid_tui.cli.until import SHARE


@click.command("plan", epilog="Example: rollgrid plan last --baseline baselines/marks.json --delta 0.3")
@click.argument("run")
@click.option("--baseline", metavar="B", help="Ask for changes from this run or baseline file, instead of zones.")
@click.option("--delta", type=SHARE, help="The change that is looked for with a baseline; 0.2.")
@click.option(
    "--confidence", type=SHARE, default=0.95, show_default=True, help="A claim is wrong with one minus this at most."
)
@click.option(
    "--horizon",
    type=click.IntRange(1, 1000),
    default=128,
    show_default=True,
    help="Look so many attempts of a task ahead.",
)
@json_option
@common_options()
@click.pass_obj
def plan_command(
    settings: Settings,
    run: str,
    baseline: str | None,
    delta: float | None,
    confidence: float,
    horizon: int,
    as_json: bool,
) -> None:
    """Say which tasks of RUN are settled, and how many more attempts the others take, in tokens and money too.

    RUN is a run or a baseline file. A task is settled when it is known whether it passes nearly always, nearly never,
    or lies between; with a baseline, when it is known whether it changed. `rollgrid run --until decided` samples until
    that is so.
    """
    from rollgrid.analysis.plan import plan_run
    from rollgrid.environments import MismatchError
    from rollgrid_tui.cli.baseline import load_either

    if delta is not None and baseline is None:
        raise CommandError("--delta is a change from a baseline, and there is none", "Add --baseline B.")
    result = load_either(settings, run)
    before = None if baseline is None else load_either(settings, baseline)
    try:
        told = plan_run(
            result,
            before,
            delta=0.2 if delta is None else delta,
            alpha=round(1 - confidence, 12),
            horizon=horizon,
        )
    except MismatchError as error:
        raise CommandError(str(error), "Plan against a run of the same environment.") from error
    if as_json:
        emit_json(told.to_dict())
    else:
        emit(str(told))
