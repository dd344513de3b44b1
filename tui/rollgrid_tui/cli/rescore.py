"""`rollgrid rescore`: a changed scorer applied to the transcripts of a run, without a call to its model."""

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from rollgrid_tui.cli.baseline import SIMULATED_NOTE
from rollgrid_tui.cli.common import (
    Settings,
    common_options,
    emit,
    emit_json,
    find_run,
    json_option,
    open_reader,
    rate,
    table,
    wait,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rollgrid.runner.rescoring_run import RescoreOutcome
    from rollgrid.store.rows import AttemptRow
    from rollgrid.store.scorings import Flip

SHOWN_FLIPS = 40
REASON_CELLS = 100


@click.command("rescore", epilog="Example: rollgrid rescore last --env evals/arithmetic.py --dry-run")
@click.argument("run")
@click.option("--env", "ref", metavar="ENV", help="Whose scorer is applied; default the run's own, as it is now.")
@click.option("--dry-run", is_flag=True, help="Show what would flip and keep nothing.")
@click.option("--new-expected", is_flag=True, help="Score against the environment's expected values if they changed.")
@click.option(
    "-c",
    "--concurrency",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Attempts that are scored at once.",
)
@json_option
@common_options()
@click.pass_obj
def rescore_command(
    settings: Settings, run: str, ref: str | None, dry_run: bool, new_expected: bool, concurrency: int, as_json: bool
) -> None:
    """Score the transcripts of RUN with the scorer that its environment has now. The agent's model is not called.

    Both scorings are kept. The run's own scores stay what the run shows; the new ones have a number, and RUN@NUMBER or
    RUN@latest means the run as they see it (in show, diff, gate, compare, export and baseline save).
    """
    from rollgrid.runner.machine import author
    from rollgrid.runner.rescoring_run import RescoreRequest, rescore_run
    from rollgrid_tui.cli.streams import prints_on_stderr

    path = settings.log_path()
    run_id = wait(_resolve(path, run))
    request = RescoreRequest(
        log=path,
        run_id=run_id,
        author=author(),
        ref=ref,
        cwd=os.getcwd(),
        expected="environment" if new_expected else "run",
        dry_run=dry_run,
        concurrency=concurrency,
    )
    progress = _Progress()
    with prints_on_stderr():
        try:
            outcome = wait(rescore_run(request, progress))
        finally:
            progress.close()
    if as_json:
        emit_json(outcome_facts(outcome))
    else:
        emit(outcome_text(outcome))


async def _resolve(path: "Path", run: str) -> str:
    async with open_reader(path) as reader:
        return (await find_run(reader, run)).run_id


class _Progress:
    """A line on a terminal's stderr that is drawn over itself, and nothing anywhere else."""

    def __init__(self) -> None:
        self._stream = sys.__stderr__
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        if self._stream is not None and self._stream.isatty() and (done % 25 == 0 or done == total):
            self._drawn = True
            print(f"\rscored {done} of {total}", end="", file=self._stream, flush=True)

    def close(self) -> None:
        if self._drawn:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def outcome_facts(outcome: "RescoreOutcome") -> dict[str, Any]:
    """The one object of `--json`. `scoring` is null for a dry run."""
    found = found_flips(outcome)
    return {
        "run_id": outcome.run.run_id,
        "env": outcome.run.env_name,
        "scoring": outcome.number,
        "scorer": outcome.scorer,
        "scorer_digest": outcome.digest,
        "same_scorer": outcome.same_scorer,
        "before": counts(outcome.before),
        "after": counts(outcome.after),
        "n_without_a_run": outcome.n_unscorable,
        "flips": [flip_facts(flip, outcome.tasks[flip.after.task].id) for flip in found],
        "remarks": list(outcome.remarks),
        "scorer_input_tokens": outcome.input_tokens,
        "scorer_output_tokens": outcome.output_tokens,
        "scorer_cost": outcome.cost,
    }


def outcome_text(outcome: "RescoreOutcome") -> str:
    found = found_flips(outcome)
    kept = (
        "a dry run, nothing is kept"
        if outcome.number is None
        else f"scoring {outcome.number}, {outcome.run.run_id}@{outcome.number}"
    )
    same = "  the same scorer as the run's" if outcome.same_scorer else ""
    lines = [f"run {outcome.run.run_id}  {outcome.run.env_name}  {kept}", f"scorer {outcome.scorer}{same}", ""]
    if outcome.run.model_kind == "simulated":
        lines.insert(1, SIMULATED_NOTE.strip())
    rows: list[list[str]] = []
    for name, attempts in (("before", outcome.before), ("now", outcome.after)):
        told = counts(attempts)
        value = told["mean_value"]
        rows.append(
            [
                name,
                rate(told["n_passed"], told["n_scored"]),
                "-" if value is None else f"{value:.3f}",
                str(told["n_unscored"]),
            ]
        )
    lines.append(table(("", "passed", "mean value", "unscored"), rows, right=(1, 2, 3)))
    if outcome.n_unscorable:
        n = outcome.n_unscorable
        what = (
            "1 attempt that never came to its end stays"
            if n == 1
            else f"{n} attempts that never came to their end stay"
        )
        lines.append(f"{what} unscored")
    lines += [f"note: {remark}" for remark in outcome.remarks]
    if outcome.cost is not None:
        lines.append(f"the judge cost ${outcome.cost:.4f}")
    return "\n".join([*lines, "", *flip_lines(found, [task.id for task in outcome.tasks])])


def found_flips(outcome: "RescoreOutcome") -> "list[Flip]":
    from rollgrid.store.scorings import flips

    return flips(outcome.before, outcome.after)


def flip_lines(found: "Sequence[Flip]", names: "Sequence[str]", most: int = SHOWN_FLIPS) -> list[str]:
    """How many flipped which way, then each with what was said before and what is now."""
    from rollgrid.text import clean_line

    if not found:
        return ["no attempt flipped"]
    kinds = Counter(flip.kind for flip in found)
    summary = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    lines = [f"{'1 attempt' if len(found) == 1 else f'{len(found)} attempts'} flipped: {summary}"]
    for flip in found[:most]:
        lines.append(f"  {clean_line(names[flip.after.task], 48)} #{flip.after.attempt}  {flip.kind}")
        lines += [
            f"    {name:<6}  {clean_line(said.splitlines()[0], REASON_CELLS)}"
            for name, row in (("before", flip.before), ("now", flip.after))
            if (said := (row.error or row.reason or "").strip())
        ]
    if len(found) > most:
        lines.append(f"  and {len(found) - most} more; --json lists them all")
    return lines


def flip_facts(flip: "Flip", task: str) -> dict[str, Any]:
    return {
        "task": task,
        "attempt": flip.after.attempt,
        "take": flip.after.take,
        "kind": flip.kind,
        "before": _side(flip.before),
        "after": _side(flip.after),
    }


def _side(row: "AttemptRow") -> dict[str, Any]:
    return {"passed": row.passed, "value": row.value, "reason": row.reason, "error": row.error}


def counts(attempts: "Sequence[AttemptRow]") -> dict[str, Any]:
    scored = [row for row in attempts if row.passed is not None]
    values = [row.value for row in scored if row.value is not None]
    passed = sum(bool(row.passed) for row in scored)
    return {
        "n_scored": len(scored),
        "n_passed": passed,
        "n_unscored": len(attempts) - len(scored),
        "pass_rate": passed / len(scored) if scored else None,
        "mean_value": sum(values) / len(values) if values else None,
    }
