"""`rollgrid gate`: whether a run is good enough, for CI."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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

if TYPE_CHECKING:
    from rollgrid.analysis.gate import GateDecision
    from rollgrid.environments import EnvironmentRunResult

SHARE = click.FloatRange(0, 1)
FILE = click.Path(path_type=Path, dir_okay=False)
UNFINISHED = {"running", "paused", "stopping"}


def _floors(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """`ID=RATE` as many times as there are; an id may hold an equals sign, a rate never does."""
    floors: dict[str, float] = {}
    for text in given:
        task, equals, rate = text.rpartition("=")
        try:
            floor = float(rate)
        except ValueError:
            floor = -1.0
        if not equals or not task or not 0 <= floor <= 1:
            raise click.BadParameter(f"{text!r} is no ID=RATE with a rate from 0 to 1, such as t3=0.5.")
        floors[task] = floor
    return floors


@click.command("gate", epilog="Example: rollgrid gate last --baseline baselines/marks.json --min-pass-rate 0.8")
@click.argument("run")
@click.option("--baseline", type=click.Path(path_type=Path), help="Compare with this baseline file.")
@click.option("--min-pass-rate", type=SHARE, help="Least pass rate, from 0 to 1, as it is.")
@click.option("--min-lower-bound", type=SHARE, help="Least lower end of the pass rate's interval.")
@click.option("--min-task-pass-rate", type=SHARE, help="Least pass rate of every task.")
@click.option(
    "--task-floor",
    "task_floors",
    multiple=True,
    callback=_floors,
    metavar="ID=RATE",
    help="Least pass rate of one task; can be repeated.",
)
@click.option("--max-drop", type=SHARE, help="How far the rate may fall below the baseline's, as it is.")
@click.option("--max-significant-drop", type=SHARE, help="The same, when it is more than chance; 0 for any such drop.")
@click.option(
    "--no-regressed-tasks/--allow-regressed-tasks",
    default=None,
    help="No task may fall by more than chance. On with a baseline, unless another rule of it is given.",
)
@click.option("--max-unscored", type=SHARE, help="Share of unscored attempts above which nothing is decided; 0.1.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Most that the run may have cost.")
@click.option(
    "--scope",
    type=click.Choice(["like-these", "these"]),
    help="Whom bounds and significance answer for: tasks like these, or exactly these tasks run again.",
)
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Of every interval; 0.95."
)
@click.option("--junit", type=FILE, help="Write JUnit XML.")
@click.option("--markdown", type=FILE, help="Write Markdown, for the summary of a CI job.")
@click.option("--html", type=FILE, help="Write a report with plots as one HTML file.")
@json_option
@common_options()
@click.pass_obj
def gate_command(
    settings: Settings,
    run: str,
    baseline: Path | None,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Decide whether RUN, a run or a baseline file, is good enough.

    Exit code 0: every rule is kept. 1: a rule is broken. 3: nothing can be decided, since the run ended early or too
    much of it is unscored. Rules come from these flags or from [tool.rollgrid.gate] in pyproject.toml; with a baseline
    and no rule about it, nothing may be worse by more than chance.
    """
    from rollgrid.analysis.rules import rules_from
    from rollgrid.environments import MismatchError
    from rollgrid_tui.cli.baseline import load_file

    config = settings.config
    rules = rules_from(config.gate or {}, flags, f"{config.source}: [gate]" if config.source else "the gate")
    result = load_judged(settings, run)
    before = None if baseline is None else load_file(baseline)
    from rollgrid.analysis.gate import decide

    try:
        decision = decide(result, rules, before)
    except ValueError as error:
        raise CommandError(str(error), "rollgrid gate --help explains the rules.") from error
    except MismatchError as error:
        raise CommandError(str(error), "Save a new baseline: rollgrid baseline save RUN FILE.") from error
    write_reports(decision, result, junit=junit, markdown=markdown, html=html)
    if as_json:
        emit_json(decision.to_dict())
    else:
        emit(str(decision))
    return decision.exit_code


def load_judged(settings: Settings, run: str) -> "EnvironmentRunResult":
    """A run or a file. A run that is still going on is not whole, whatever it shows so far."""
    from rollgrid_tui.cli.baseline import load_either

    result = load_either(settings, run)
    run_id = result.about.get("run_id")
    if isinstance(run_id, str) and result.stopped_early is None and not Path(run).is_file():
        state = wait(_state(settings.log_path(), run_id))
        if state in UNFINISHED:
            result.stopped_early = f"still {state}"
    return result


async def _state(path: Path, run_id: str) -> str:
    async with open_reader(path) as reader:
        return (await find_run(reader, run_id)).effective_state


def write_reports(
    decision: "GateDecision",
    result: "EnvironmentRunResult",
    *,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
) -> None:
    """Each file whole or not at all. Nothing is imported for a report that was not asked for."""
    if junit is not None:
        from rollgrid.analysis.junit import junit_bytes

        write_file(junit, junit_bytes(decision, at=time.time()))
    if markdown is not None:
        from rollgrid.analysis.markdown import markdown_text

        write_file(markdown, markdown_text(decision).encode())
    if html is not None:
        from rollgrid.analysis.html import html_page

        page = html_page(decision.statistics, decision.comparison, decision, result.errors())
        write_file(html, page.encode())


def write_file(path: Path, data: bytes) -> None:
    from rollgrid.environments.files import atomic_file

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(data)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}", "Choose another place.") from error
