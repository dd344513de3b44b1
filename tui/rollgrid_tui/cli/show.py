"""`rollgrid show`: a run, a task or one attempt as text, or as JSON for programs."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
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
    one_line,
    open_reader,
    rate,
    span,
    table,
    wait,
)
from rollgrid_tui.cli.control import task_index
from rollgrid_tui.cli.runs import run_facts
from rollgrid_tui.cli.scorings import Seen, seen_by
from rollgrid_tui.cli.transcript import transcript_text
from rollgrid_tui.cli.until import settled_evidence, settled_facts, settled_line, settled_word

if TYPE_CHECKING:
    from rollgrid.store.logged import Overview
    from rollgrid.store.reader import LogReader
    from rollgrid.store.rows import AttemptRow, RunRow, TaskRow

REASON_CELLS = 72


@click.command("show", epilog="Example: rollgrid show last t3 2")
@click.argument("run")
@click.argument("task", required=False)
@click.argument("attempt", type=click.IntRange(min=1), required=False)
@click.option("--take", type=click.IntRange(min=1), help="An earlier take of the attempt; default the newest.")
@click.option("--errors", is_flag=True, help="The run's failures by signature, instead of its tasks.")
@click.option("--statistics", is_flag=True, help="Intervals, pass@j and pass^j, quantiles, for the run and its tasks.")
@click.option("--scoring", metavar="NUMBER", help='A later scoring of the run: its number, or "latest".')
@json_option
@common_options()
@click.pass_obj
def show_command(
    settings: Settings,
    run: str,
    task: str | None,
    attempt: int | None,
    take: int | None,
    errors: bool,
    statistics: bool,
    scoring: str | None,
    as_json: bool,
) -> None:
    """Print RUN, one TASK of it, or the whole transcript of one ATTEMPT.

    RUN is an id, the beginning of one, or "last". TASK is a task's id, ATTEMPT its number from 1.
    """
    run, _, named = run.partition("@")
    scoring = scoring or named or None
    if statistics:
        _show_statistics(settings, run if scoring is None else f"{run}@{scoring}", task, as_json=as_json)
        return
    wait(_show(settings, run, task, attempt, take, errors=errors, scoring=scoring, as_json=as_json))


def _show_statistics(settings: Settings, run: str, task: str | None, *, as_json: bool) -> None:
    from rollgrid_tui.cli.baseline import load_run

    if task is not None:
        raise CommandError("--statistics is about a whole run", f"Leave the task out: rollgrid show {run} --statistics")
    told = load_run(settings, run).statistics()
    if as_json:
        emit_json(told.to_dict())
    else:
        emit(str(told))


async def _show(
    settings: Settings,
    run: str,
    task: str | None,
    attempt: int | None,
    take: int | None,
    *,
    errors: bool,
    scoring: str | None,
    as_json: bool,
) -> None:
    from rollgrid.analysis.audit import SIMULATED, copies_in_log
    from rollgrid.store.logged import LoggedRun
    from rollgrid_tui.cli.audit import copies_text

    async with open_reader(settings.log_path()) as reader:
        row = await find_run(reader, run)
        tasks = await reader.tasks(row.run_id)
        index = None if task is None else task_index(tasks, task)
        # Of a large run no more is read than is shown; a later scoring is counted over all attempts.
        at_a_glance = task is None and not errors and scoring is None
        wanted = index if scoring is None else None
        seen = await seen_by(
            reader, row, [] if at_a_glance else await reader.attempts(row.run_id, task=wanted), scoring
        )
        row, attempts = seen.row, seen.attempts
        if index is None:
            if errors:
                facts, text = _errors(row, tasks, attempts)
            elif at_a_glance:
                facts, text = _run(row, tasks, await asyncio.to_thread(LoggedRun(reader.path, row.run_id).overview))
            else:
                facts, text = _run(row, tasks, overview(attempts))
            names = [one.id for one in tasks]
            copies = [] if row.model_kind == SIMULATED else await copies_in_log(reader, row.run_id, names)
            facts |= seen.facts() | {"identical_outputs": [one._asdict() for one in copies]}
            text = "\n".join([text, *seen.tail(), *(["", *copies_text(copies)] if copies else [])])
        else:
            mine = sorted((a for a in attempts if a.task == index), key=lambda a: (a.attempt, a.take))
            if attempt is None:
                facts, text = await _task(reader, row, tasks[index], mine)
            else:
                facts, text = await _attempt(reader, seen, tasks[index], mine, attempt, take)
    if as_json:
        emit_json(facts)
    else:
        emit("\n".join([*seen.head(), text]))


def _run(
    row: "RunRow", tasks: "Sequence[TaskRow]", at_a_glance: "Mapping[int, Overview]"
) -> tuple[dict[str, Any], str]:
    from rollgrid.store.logged import Overview

    shown: list[dict[str, Any]] = []
    lines: list[list[str]] = []
    asked = row.until_decided
    columns = ("task", "attempts", "passed", "unscored", "tokens", *(("settled",) if asked else ()))
    for task in tasks:
        mine = at_a_glance.get(task.index, Overview())
        figures = _figures(mine.n_scored, mine.n_passed, mine.n_unscored)
        shown.append({"id": task.id, "metadata": task.metadata, "k": task.k, **figures, **settled_facts(row, task)})
        cells = mine.marks
        marks = "".join(cells.get(number, ".") for number in range(1, max(task.k, *cells, 0) + 1))
        line = [task.id, marks, rate(mine.n_passed, mine.n_scored), str(mine.n_unscored), str(mine.tokens)]
        lines.append([*line, settled_word(task)] if asked else line)
    text = "\n".join(
        [
            *heading(row),
            *([settled_line(tasks)] if asked else []),
            "",
            table(columns, lines, right=(2, 3, 4)),
            "",
            "P pass  F fail  ~ partly  E error  T timeout  C cancelled  > running  . not started",
        ]
    )
    return run_facts(row) | {"tasks": shown}, text


def heading(row: "RunRow") -> list[str]:
    """A run in a few lines: what, with which model, how far, with what outcome."""
    state = row.effective_state + (f", {row.stopped_early}" if row.stopped_early not in {None, row.state} else "")
    simulated = "  SIMULATED: these answers are made up, no model was asked" if row.model_kind == "simulated" else ""
    lines = [
        f"run {row.run_id}  {row.env_name}  k={row.k_text}  {state}",
        f"model {row.model}{simulated}",
        f"{row.n_ended} of {row.n_planned} attempts ended, passed {rate(row.n_passed, row.n_scored)}, "
        f"{row.n_ended - row.n_scored} unscored, {row.n_retries} retries, {_lasted(row)}",
    ]
    if row.reason:
        lines.append(f"because: {row.reason}")
    return lines


def _lasted(row: "RunRow") -> str:
    """How long: what a session took is known when it has ended."""
    if row.alive and row.started_at is not None:
        return f"started {span(max(0.0, time.time() - row.started_at))} ago"
    return f"active {span(row.active_seconds)}"


def _errors(row: "RunRow", tasks: "Sequence[TaskRow]", attempts: "Sequence[AttemptRow]") -> tuple[dict[str, Any], str]:
    clusters: dict[str, list[AttemptRow]] = {}
    for attempt in attempts:
        if attempt.error_signature is not None and attempt.superseded is None:
            clusters.setdefault(attempt.error_signature, []).append(attempt)
    ordered = sorted(clusters.items(), key=lambda item: -len(item[1]))
    facts = run_facts(row)
    facts["errors"] = [
        {
            "signature": signature,
            "count": len(found),
            "sample": found[0].error,
            "tasks": sorted({tasks[a.task].id for a in found}),
        }
        for signature, found in ordered
    ]
    if not ordered:
        return facts, "\n".join([*heading(row), "", "No attempt has an error."])
    lines = [[str(len(found)), signature, first_line(found[0].error)] for signature, found in ordered]
    return facts, "\n".join([*heading(row), "", table(("count", "signature", "first one"), lines, right=(0,))])


async def _task(
    reader: "LogReader", row: "RunRow", task: "TaskRow", attempts: "Sequence[AttemptRow]"
) -> tuple[dict[str, Any], str]:
    prompt, expected = await reader.task_text(row.run_id, task.index)
    current = newest_takes(attempts)
    figures = task_figures(current)
    facts = {
        "run_id": row.run_id,
        "task": {"id": task.id, "input": prompt, "expected": _json_ready(expected), "metadata": task.metadata},
        **figures,
        **settled_facts(row, task),
        "attempts": [a._asdict() for a in attempts],
    }
    lines = [
        [
            str(a.attempt),
            str(a.take),
            outcome(a),
            "-" if a.duration_seconds is None else f"{a.duration_seconds:.1f} s",
            str(a.input_tokens + a.output_tokens),
            first_line(a.error or a.reason),
        ]
        for a in attempts
    ]
    text = "\n".join(
        [
            f"run {row.run_id}  task {task.id}  passed {rate(figures['n_passed'], figures['n_scored'])}",
            *settled_evidence(task),
            *(f"{key}: {value}" for key, value in task.metadata.items()),
            "",
            "input",
            indent(prompt),
            "",
            "expected",
            indent(_as_text(expected)),
            "",
            table(("attempt", "take", "outcome", "time", "tokens", "reason"), lines, right=(0, 1, 3, 4)),
        ]
    )
    return facts, text


async def _attempt(
    reader: "LogReader",
    seen: Seen,
    task: "TaskRow",
    attempts: "Sequence[AttemptRow]",
    number: int,
    take: int | None,
) -> tuple[dict[str, Any], str]:
    from rollgrid.store.rows import standing_reviews
    from rollgrid_tui.state.review_book import review_line

    row = seen.row
    mine = sorted((a for a in attempts if a.attempt == number), key=lambda a: a.take)
    chosen = mine[-1] if mine and take is None else next((a for a in mine if a.take == take), None)
    if chosen is None:
        what = f"attempt {number}" + (f", take {take}" if take is not None else "")
        raise CommandError(
            f"task {task.id} has no {what} yet", f"rollgrid show {row.run_id} {task.id} lists what it has."
        )
    where = (row.run_id, task.index, number, chosen.take)
    body = await reader.transcript(*where) or await reader.live(*where)
    if body is not None and "score" in body:
        body["score"] = seen.score_of(chosen, body["score"])
    reviews = [one for one in standing_reviews(await reader.reviews(row.run_id)) if one[1:4] == where[1:]]
    facts = {"run_id": row.run_id, "task": task.id, **chosen._asdict(), "transcript": body}
    facts |= {"task": task.id, "reviews": [one._asdict() for one in reviews]}
    head = [f"run {row.run_id}  task {task.id}  attempt {number}  take {chosen.take}  {outcome(chosen)}"]
    if chosen.superseded:
        head.append(f"superseded ({chosen.superseded}): it counts for nothing")
    if chosen.value is not None:
        head.append(f"score {chosen.value:g}" + (f": {chosen.reason}" if chosen.reason else ""))
    if chosen.error:
        head.append(f"error: {chosen.error}")
    usage = f"{chosen.input_tokens} tokens in, {chosen.output_tokens} out, {chosen.retries} retries"
    if chosen.duration_seconds is not None:
        usage = f"{chosen.duration_seconds:.2f} s, {usage}"
    head.append(usage)
    head += [f"review: {one_line(review_line(one))}" for one in reviews]
    return facts, "\n".join([*head, "", transcript_text(body)])


def newest_takes(attempts: "Iterable[AttemptRow]") -> "list[AttemptRow]":
    """The take of each attempt that counts, or the newest one while none does."""
    best: dict[tuple[int, int], AttemptRow] = {}
    for row in attempts:
        key = (row.task, row.attempt)
        held = best.get(key)
        if held is None or (row.superseded is None, row.take) > (held.superseded is None, held.take):
            best[key] = row
    return list(best.values())


def task_figures(attempts: "Sequence[AttemptRow]") -> dict[str, Any]:
    """Counts of one task. Only a scored attempt counts in a rate; an ended one without a score is unscored."""
    counted = [a for a in attempts if a.superseded is None and a.phase == "ended"]
    scored = [a for a in counted if a.value is not None]
    return _figures(len(scored), sum(bool(a.passed) for a in scored), len(counted) - len(scored))


def _figures(n_scored: int, n_passed: int, n_unscored: int) -> dict[str, Any]:
    return {
        "n_scored": n_scored,
        "n_passed": n_passed,
        "n_unscored": n_unscored,
        "pass_rate": n_passed / n_scored if n_scored else None,
        "learning_zone": 0 < n_passed < n_scored,
    }


def overview(attempts: "Iterable[AttemptRow]") -> "dict[int, Overview]":
    """Tasks at a glance, by position, out of their attempts."""
    by_task: dict[int, list[AttemptRow]] = {}
    for one in newest_takes(attempts):
        by_task.setdefault(one.task, []).append(one)
    return {task: _glance(mine) for task, mine in by_task.items()}


def _glance(attempts: "Sequence[AttemptRow]") -> "Overview":
    from rollgrid.store.logged import Overview

    figures = task_figures(attempts)
    return Overview(
        figures["n_scored"],
        figures["n_passed"],
        figures["n_unscored"],
        sum(one.input_tokens + one.output_tokens for one in attempts),
        {one.attempt: mark(one) for one in attempts},
    )


def mark(attempt: "AttemptRow") -> str:
    """One ASCII character for an attempt."""
    if attempt.superseded is not None:
        return "s"
    if attempt.phase != "ended":
        return ">"
    if attempt.value is None:
        return {"timeout": "T", "cancelled": "C"}.get(attempt.stop_reason or "", "E")
    if attempt.passed:
        return "P"
    return "~" if attempt.value > 0 else "F"


def outcome(attempt: "AttemptRow") -> str:
    if attempt.superseded is not None:
        return "superseded"
    if attempt.phase != "ended":
        return attempt.phase
    if attempt.value is None:
        return attempt.stop_reason or "unscored"
    return "pass" if attempt.passed else "fail"


def first_line(text: str | None) -> str:
    from rollgrid.text import clean_line

    return clean_line((text or "").strip().split("\n")[0], REASON_CELLS)


def indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _as_text(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, indent=2)


def _json_ready(value: Any) -> Any:
    import json

    return json.loads(json.dumps(value, default=str))
