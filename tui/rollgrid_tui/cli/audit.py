"""`rollgrid audit`: can the scorer of a run be trusted, and are its samples samples?"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    emit_json,
    json_option,
    one_line,
    open_reader,
    table,
    wait,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollgrid.analysis.agreement import Agreement, Opinion
    from rollgrid.analysis.audit import Copies, Flaky
    from rollgrid.store.rows import AttemptRow
    from rollgrid_tui.cli.reviews_file import Reviewed

SHOWN = 20
"""Lines that a list has at most; --json has all of it."""

CELLS = 60


@click.command("audit", epilog="Example: rollgrid audit last --env evals/arithmetic.py --rescore-twice")
@click.argument("run")
@click.option("--rescore-twice", "twice", is_flag=True, help="Score the stored transcripts twice and compare.")
@click.option("--env", "ref", metavar="ENV", help="Whose scorer is asked twice; default the run's own, as it is now.")
@click.option(
    "-c", "--concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Scored at once, when twice."
)
@json_option
@common_options()
@click.pass_obj
def audit_command(settings: Settings, run: str, twice: bool, ref: str | None, concurrency: int, as_json: bool) -> None:
    """How far the scorer of RUN (a judge, say) agrees with people, and whether its samples are copies of each other.

    RUN@NUMBER audits a later scoring. With --rescore-twice also: whether the scorer gives one transcript two verdicts;
    a judge is then called twice for each attempt, and nothing is kept.
    """
    if ref is not None and not twice:
        raise CommandError("--env is whose scorer is asked twice", "Add --rescore-twice, or leave --env out.")
    path = settings.log_path()
    known, copies = wait(_look(path, run))
    flaky: list[Flaky] | None = None
    if twice:
        flaky = wait(_score_twice(path, known.row.run_id, ref, concurrency))
    figures = known.agreement()
    names = [task.id for task in known.tasks]
    if as_json:
        emit_json(
            {
                "run_id": known.row.run_id,
                "env": known.row.env_name,
                "scoring": known.scoring,
                "agreement": figures.to_dict(),
                "disagreements": [opinion_facts(one, names) for one in figures.disagreements],
                "identical_outputs": [one._asdict() for one in copies],
                "flaky": None if flaky is None else [_flaky_facts(one, names) for one in flaky],
            }
        )
        return
    scoring = f"  scoring {known.scoring}" if known.scoring != 1 else ""
    lines = [f"run {known.row.run_id}  {known.row.env_name}{scoring}", "", *agreement_text(figures, names)]
    lines += ["", *copies_text(copies)]
    if flaky is not None:
        lines += ["", *_flaky_text(flaky, names)]
    emit("\n".join(lines))


async def _look(path: Path, run: str) -> "tuple[Reviewed, list[Copies]]":
    from rollgrid.analysis.audit import SIMULATED, copies_in_log
    from rollgrid_tui.cli.reviews_file import reviewed_run

    async with open_reader(path) as reader:
        known = await reviewed_run(reader, run)
        if known.row.model_kind == SIMULATED:
            return known, []
        names = [task.id for task in known.tasks]
        return known, await copies_in_log(reader, known.row.run_id, names)


async def _score_twice(path: Path, run_id: str, ref: str | None, concurrency: int) -> "list[Flaky]":
    """Two dry runs of `rollgrid rescore`, which keep nothing in the log."""
    from rollgrid.analysis.audit import flaky_verdicts
    from rollgrid.runner.machine import author
    from rollgrid.runner.rescoring_run import RescoreRequest, rescore_run
    from rollgrid_tui.cli.streams import prints_on_stderr

    request = RescoreRequest(
        log=path,
        run_id=run_id,
        author=author(),
        ref=ref,
        cwd=os.getcwd(),
        dry_run=True,
        concurrency=concurrency,
    )
    with prints_on_stderr():
        first = await rescore_run(request)
        second = await rescore_run(request)
    # With an unchanged scorer the run's own scores are a third opinion.
    own = [first.before] if first.same_scorer else []
    return flaky_verdicts([*own, first.after, second.after])


def agreement_text(figures: "Agreement", names: "Sequence[str]") -> list[str]:
    from rollgrid_tui.cli.review import agreement_lines

    lines = agreement_lines(figures)
    if figures.rate is None:
        return lines
    if figures.kappa is not None:
        kappa = figures.kappa
        more = f"; for tasks like these {_range(kappa.interval_tasks)}" if figures.n_tasks > 1 else ""
        lines.append(f"Cohen's kappa {kappa.value:.2f} (95% interval {_range(kappa.interval)}{more})")
    else:
        lines.append("Cohen's kappa is undefined: scorer and people gave one and the same verdict throughout")
    counts = [
        [
            f"scorer {'passed' if scorer else 'failed'}",
            *(str(figures.table[scorer, person]) for person in (True, False)),
        ]
        for scorer in (True, False)
    ]
    lines += ["", table(("", "should pass", "should fail"), counts, right=(1, 2))]
    if len(figures.authors) > 1:
        people = [[one.author, str(one.n), f"{100 * one.rate:.0f}%", str(one.n_blind)] for one in figures.authors]
        lines += ["", table(("who", "reviews", "agree", "blind"), people, right=(1, 2, 3))]
    if figures.n_shared:
        share = f"{figures.n_shared_same} of {figures.n_shared}"
        lines.append(f"two people who judged one attempt said the same of it in {share} cases")
    if figures.disagreements:
        lines += ["", "disagreements:", _disagreements(figures.disagreements, names)]
    return lines


def _disagreements(found: "Sequence[Opinion]", names: "Sequence[str]") -> str:
    words = {True: "pass", False: "fail"}
    rows = [
        [
            names[one.task],
            str(one.attempt),
            words[one.scorer_passed],
            words[one.human_passed],
            one.author,
            _cut(one.review.label or ""),
            _cut(one.review.note or ""),
        ]
        for one in found[:SHOWN]
    ]
    text = table(("task", "attempt", "score", "should", "who", "label", "note"), rows, right=(1,))
    return text + _more(len(found))


def copies_text(found: "Sequence[Copies]") -> list[str]:
    if not found:
        return ["no task has attempts that are copies of each other"]
    return [
        *(one_line(one.line()) for one in found[:SHOWN]),
        *([_more(len(found)).strip()] if len(found) > SHOWN else []),
    ]


def _flaky_text(found: "Sequence[Flaky]", names: "Sequence[str]") -> list[str]:
    if not found:
        return ["the scorer gave every transcript the same verdict each time"]
    flips = sum(one.flips for one in found)
    rows = [
        [names[one.task], str(one.attempt), *map(_verdict, one.verdicts), _cut(_why(one.verdicts[-1]))]
        for one in found[:SHOWN]
    ]
    n = len(found[0].verdicts)
    what = f"{len(found)} attempt{'s' if len(found) > 1 else ''} came out differently"
    head = f"the scorer is flaky: of transcripts that were scored {n} times, {what}, {flips} in passing or failing"
    times = ("in the run", "once", "twice")[-n:]
    return [head, table(("task", "attempt", *times, "reason"), rows, right=(1,)) + _more(len(found))]


def _verdict(row: "AttemptRow") -> str:
    if row.passed is None:
        return "unscored"
    return f"{'pass' if row.passed else 'fail'} {row.value:.2f}"


def _why(row: "AttemptRow") -> str:
    return row.error or row.reason or ""


def opinion_facts(one: "Opinion", names: "Sequence[str]") -> dict[str, Any]:
    """A disagreement for programs."""
    return {
        "task": names[one.task],
        "attempt": one.attempt,
        "take": one.review.take,
        "author": one.author,
        "scorer_passed": one.scorer_passed,
        "human_passed": one.human_passed,
        "label": one.review.label,
        "note": one.review.note,
        "blind": one.review.blind,
    }


def _flaky_facts(one: "Flaky", names: "Sequence[str]") -> dict[str, Any]:
    verdicts = [{"passed": row.passed, "value": row.value, "reason": _why(row)} for row in one.verdicts]
    return {
        "task": names[one.task],
        "attempt": one.attempt,
        "take": one.take,
        "flips": one.flips,
        "verdicts": verdicts,
    }


def _range(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.2f} to {interval[1]:.2f}"


def _cut(text: str) -> str:
    from rollgrid.text import clean_line

    return clean_line(" ".join(text.split()), CELLS)


def _more(n: int) -> str:
    return f"\n{n - SHOWN} more; --json has them" if n > SHOWN else ""
