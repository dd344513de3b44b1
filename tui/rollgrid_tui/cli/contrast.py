"""`rollgrid contrast`: two attempts of a task step by step, with the words that differ."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rollgrid_tui.cli.common import CommandError, Settings, common_options, emit, emit_json, json_option

if TYPE_CHECKING:
    from rollgrid.environments.attempt import AttemptResult
    from rollgrid.environments.result import EnvironmentRunResult
    from rollgrid_tui.state.side_by_side import Pair, Sides, Span


@click.command("contrast", epilog="Example: rollgrid contrast last t3 2; or, against a file: --baseline base.json")
@click.argument("run")
@click.argument("task")
@click.argument("attempt", type=click.IntRange(min=1), required=False)
@click.argument("other", type=click.IntRange(min=1), required=False)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The other attempt comes from this baseline file.",
)
@json_option
@common_options()
@click.pass_obj
def contrast_command(
    settings: Settings,
    run: str,
    task: str,
    attempt: int | None,
    other: int | None,
    baseline: Path | None,
    as_json: bool,
) -> None:
    """Print ATTEMPT of a TASK of RUN beside OTHER, from the step at which they part.

    Without OTHER it is the first attempt with the opposite outcome; without ATTEMPT the first that failed.
    """
    from rollgrid_tui.cli.baseline import load_file, load_run
    from rollgrid_tui.state.side_by_side import compare_steps

    result = load_run(settings, run)
    mine = attempts_of(result, task)
    theirs = attempts_of(load_file(baseline), task) if baseline is not None else mine
    one = chosen(mine, attempt, passed=False, what=f"task {task}")
    beside = chosen(theirs, other, passed=not one.passed, what=f"task {task}" + (" of the file" if baseline else ""))
    sides = compare_steps(_steps(one), _steps(beside))
    where = {
        "run": run,
        "task": task,
        "attempt": one.index,
        "other": beside.index,
        "baseline": None if baseline is None else str(baseline),
    }
    if as_json:
        emit_json(where | facts_of(sides))
    else:
        names = (f"attempt {one.index}, {word(one)}", f"attempt {beside.index}, {word(beside)}")
        emit(contrast_text(sides, names, f"run {run}  task {task}"))


def attempts_of(result: "EnvironmentRunResult", task: str) -> "list[AttemptResult]":
    for each in result.task_results:
        if each.task.id == task:
            return list(each.read_attempts())
    known = ", ".join(str(each.task.id) for each in result.task_results[:8])
    raise CommandError(f"there is no task {task!r}", f"Its tasks: {known}.")


def chosen(attempts: "list[AttemptResult]", number: int | None, *, passed: bool, what: str) -> "AttemptResult":
    """The attempt of this number, or without one the first scored one with this outcome."""
    if number is not None:
        found = next((one for one in attempts if one.index == number), None)
        why = f"{what} has no attempt {number} that has ended"
    else:
        found = next((one for one in attempts if one.score is not None and one.passed is passed), None)
        why = f"no attempt of {what} has {'passed' if passed else 'failed'}, so there is nothing to compare with"
    if found is None:
        raise CommandError(why, "Name the two attempts: rollgrid contrast RUN TASK ATTEMPT OTHER")
    return found


def word(one: "AttemptResult") -> str:
    if one.score is None:
        return f"{one.stop_reason.value}, unscored"
    return "passed" if one.passed else "failed"


def _steps(one: "AttemptResult") -> Any:
    from rollgrid_tui.state.side_by_side import outcome_text, steps_of

    run = one.read_run()
    body: Mapping[str, Any] | None = None if run is None else run.to_dict()
    score = one.score
    outcome = outcome_text(
        passed=None if score is None else score.passed,
        value=None if score is None else score.value,
        reason=None if score is None else score.reason,
        error=one.error,
        stop_reason=one.stop_reason.value,
    )
    return steps_of(body, outcome)


def facts_of(sides: "Sides") -> dict[str, Any]:
    """For programs. A side of a step is its text in pieces with whether they differ; None where it has no such step."""
    return {
        "first_difference": sides.first_difference,
        "left_out": sides.left_out,
        "steps": [
            {
                "title": pair.title,
                "differs": pair.differs,
                "left": _pieces(pair.left),
                "right": _pieces(pair.right),
            }
            for pair in sides.pairs
        ],
    }


def _pieces(spans: "tuple[Span, ...]") -> list[dict[str, Any]] | None:
    return [span._asdict() for span in spans] if spans else None


def contrast_text(sides: "Sides", names: tuple[str, str], title: str) -> str:
    """Steps in order; what is equal in one line, what differs from both sides with its words in [-...-] and {+...+}."""
    lines = [title, f"  - {names[0]}", f"  + {names[1]}"]
    first = sides.first_difference
    lines.append("  they do not differ" if first is None else f"  they part at step {first + 1} of {len(sides.pairs)}")
    for number, pair in enumerate(sides.pairs, start=1):
        lines += ["", f"{number}. {pair.title}" + ("" if pair.differs else "  (equal)")]
        if pair.differs:
            lines += _side("-", pair, pair.left, "[-", "-]") + _side("+", pair, pair.right, "{+", "+}")
    if sides.left_out:
        lines += ["", f"{sides.left_out} further steps were not compared"]
    return "\n".join(lines)


def _side(sign: str, pair: "Pair", spans: "tuple[Span, ...]", before: str, after: str) -> list[str]:
    if not spans:
        return [f"  {sign} (no such step)"]
    text = "".join(f"{before}{one.text}{after}" if one.differs else one.text for one in spans)
    return [f"  {sign} {line}" for line in text.split("\n")]
