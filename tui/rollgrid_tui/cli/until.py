"""Options of a run that goes on until something is decided, and what is said of it at the end."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rollgrid.text import clean_line
from rollgrid_tui.cli.common import CommandError

if TYPE_CHECKING:
    from rollgrid.runner.sampling import SamplingPlan
    from rollgrid.store.rows import RunRow, TaskRow

F = TypeVar("F", bound=Callable[..., Any])

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)

max_k_option = click.option("--max-k", type=click.IntRange(min=1), help="Most attempts of a task; 64.")


def until_options(function: F) -> F:
    """`--until`, `--max-k` and `--delta`."""
    for option in (
        click.option("--delta", type=SHARE, help="The change that is looked for with a baseline; 0.2."),
        max_k_option,
        click.option(
            "--until",
            type=click.Choice(["decided"]),
            help="In place of -k: attempts until each task's zone, or with --baseline its change, is decided.",
        ),
    ):
        function = option(function)
    return function


def sampling_of(
    until: str | None, max_k: int | None, delta: float | None, *, baseline: Path | None
) -> "SamplingPlan | None":
    """What the options ask for, or None where a fixed number of attempts is."""
    if until is None:
        for name, value in (("--max-k", max_k), ("--delta", delta)):
            if value is not None:
                raise CommandError(f"{name} means nothing without --until", "Add --until decided.")
        return None
    # A usual number of attempts that stands in the surroundings says nothing about this run.
    if click.get_current_context().get_parameter_source("k") is ParameterSource.COMMANDLINE:
        raise CommandError("--until decides how many attempts each task gets, and so does -k", "Give --max-k instead.")
    if delta is not None and baseline is None:
        raise CommandError("--delta is a change from a baseline, and there is none", "Add --baseline FILE.")
    from rollgrid.runner.sampling import DEFAULT_MAX_K, sampling_against
    from rollgrid_tui.cli.baseline import load_file

    before = None if baseline is None else load_file(baseline)
    return sampling_against(
        before, max_k=DEFAULT_MAX_K if max_k is None else max_k, delta=0.2 if delta is None else delta
    )


_NAMED = 12
"""Of so many tasks a line says the names; `rollgrid show` has all."""


def settled_lines(settled: Mapping[str, Mapping[str, Any]], n_tasks: int) -> list[str]:
    """How many tasks are settled, and a line for each claim with its tasks."""
    from rollgrid.analysis.sequential import NO_CLAIMS, Claim

    by_says: dict[str, list[str]] = {}
    claimed = 0
    for name, one in settled.items():
        claimed += one["claim"] not in NO_CLAIMS
        by_says.setdefault(str(one["says"]), []).append(f"{clean_line(name)} {one['n_passed']}/{one['n_scored']}")
    order = [str(claim) for claim in Claim]
    first = {str(one["says"]): order.index(one["claim"]) for one in settled.values() if one["claim"] in order}
    lines = [f"settled: {claimed} of {n_tasks} tasks, each claim wrong at most 5 times in 100"]
    for says in sorted(by_says, key=lambda one: first.get(one, len(order))):
        named = by_says[says]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        lines.append(f"  {clean_line(says)}: {', '.join(named[:_NAMED])}{more}")
    return lines


def settled_word(task: "TaskRow") -> str:
    return "open" if task.settled is None else task.settled.claim


def settled_line(tasks: "Sequence[TaskRow]") -> str:
    """How many tasks are settled, and as what."""
    from rollgrid.analysis.sequential import NO_CLAIMS

    words = [settled_word(task) for task in tasks]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    done = sum(word not in NO_CLAIMS and word != "open" for word in words)
    return f"settled: {done} of {len(words)} tasks ({counts})"


def settled_evidence(task: "TaskRow") -> list[str]:
    """What is settled of the task, and on what evidence, in one line; nothing while it is open."""
    one = task.settled
    if one is None:
        return []
    return [f"settled: {one.says}; {one.n_passed} of {one.n_scored} when it was decided, evidence {one.evidence:.3g}"]


def settled_facts(row: "RunRow", task: "TaskRow") -> dict[str, Any]:
    """For programs; nothing of a run with a fixed number of attempts."""
    if not row.until_decided:
        return {}
    return {"settled": None if task.settled is None else task.settled._asdict()}
