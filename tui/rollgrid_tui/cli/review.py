"""`rollgrid review`: what people say of a run's attempts, from the shell."""

from typing import TYPE_CHECKING, Any

import click

from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    emit_json,
    json_option,
    open_reader,
    table,
    wait,
)
from rollgrid_tui.cli.control import task_index

if TYPE_CHECKING:
    from rollgrid.analysis.agreement import Agreement
    from rollgrid.store.rows import ReviewRow
    from rollgrid_tui.cli.reviews_file import Reviewed
    from rollgrid_tui.state.review_view import Item

QUEUES = ("failed", "all", "disagreements")
REASON_CELLS = 72


@click.command("review", epilog="Example: rollgrid review last t3 2 --disagree --label unit --note 'asked for metres'")
@click.argument("run")
@click.argument("task", required=False)
@click.argument("attempt", type=click.IntRange(min=1), required=False)
@click.option("--agree", "said", flag_value="agree", help="The score is right.")
@click.option("--disagree", "said", flag_value="disagree", help="The score is wrong.")
@click.option("--pass", "said", flag_value="pass", help="It deserves to pass, whatever the score.")
@click.option("--fail", "said", flag_value="fail", help="It deserves to fail, whatever the score.")
@click.option("--undo", "said", flag_value="undo", help="Take your newest review of it back.")
@click.option("--label", metavar="TEXT", help="A label; an empty one takes it away.")
@click.option("--note", metavar="TEXT", help="A note; an empty one takes it away.")
@click.option("--blind", is_flag=True, help="You judged without having seen the score.")
@click.option("--author", metavar="NAME", help="Who reviews; default ROLLGRID_AUTHOR, else the login name.")
@click.option("--take", type=click.IntRange(min=1), help="An earlier take of the attempt; default the one that counts.")
@click.option("--queue", type=click.Choice(QUEUES), help="List the attempts of RUN to review.")
@click.option("--filter", "terms", metavar="TEXT", help="Of the queue only these, as in the grid: is:error, text, ...")
@json_option
@common_options()
@click.pass_obj
def review_command(
    settings: Settings,
    run: str,
    task: str | None,
    attempt: int | None,
    said: str | None,
    label: str | None,
    note: str | None,
    blind: bool,
    author: str | None,
    take: int | None,
    queue: str | None,
    terms: str | None,
    as_json: bool,
) -> None:
    """Say whether the score of one ATTEMPT is right, and see what people say of RUN.

    Without anything to say: the reviews of ATTEMPT, of TASK or of RUN, and how far people and scorer agree.
    """
    from rollgrid.runner.machine import author as login

    name = author or login()
    says = said is not None or label is not None or note is not None or blind
    if terms is not None and queue is None:
        queue = "all"
    if queue is not None:
        if says or task is not None:
            raise CommandError("--queue lists attempts of a whole run", "Leave TASK and what you say of it out.")
        wait(_list_queue(settings, run, queue, terms or "", name, as_json=as_json))
        return
    if not says:
        wait(_show(settings, run, task, attempt, as_json=as_json))
        return
    if task is None or attempt is None:
        raise CommandError("a review is of one attempt", "Name it: rollgrid review RUN TASK ATTEMPT --agree.")
    if said == "undo" and (label is not None or note is not None or blind):
        raise CommandError("--undo stands alone", "Take the review back first, then give another.")
    if blind and said not in ("pass", "fail"):
        raise CommandError("--blind goes with --pass or --fail", "Who has not seen the score cannot agree with it.")
    wait(
        _review(
            settings, run, task, attempt, take, name, said=said, label=label, note=note, blind=blind, as_json=as_json
        )
    )


async def _review(
    settings: Settings,
    run: str,
    task: str,
    attempt: int,
    take: int | None,
    author: str,
    *,
    said: str | None,
    label: str | None,
    note: str | None,
    blind: bool,
    as_json: bool,
) -> None:
    from rollgrid.store.reviews import post_review, undo_review

    if "@" in run:
        raise CommandError("a review is of an attempt, whatever scorings there are", "Name the run without @NUMBER.")
    path = settings.log_path()
    async with open_reader(path) as reader:
        known = await _reviewed(reader, run)
    index = task_index(list(known.tasks), task)
    place = (known.row.run_id, index, attempt, take or _take(known, index, attempt))
    if said == "undo":
        made = await undo_review(path, place, author)
    else:
        made = await post_review(
            path,
            place,
            author,
            verdict="agree" if said == "agree" else "disagree" if said == "disagree" else None,
            passed={"pass": True, "fail": False}.get(said or ""),
            label=label,
            note=note,
            blind=blind,
        )
    async with open_reader(path) as reader:
        known = await _reviewed(reader, run)
    mine = [one for one in known.facts() if (one["task"], one["attempt"], one["take"]) == (task, attempt, place[3])]
    if as_json:
        facts = made._asdict() | {"task": task, "undone": made.undone is not None}
        emit_json({"run_id": known.row.run_id, "review": facts, "reviews": mine})
    else:
        what = "taken back" if said == "undo" else _said(made)
        emit(f"{known.row.run_id} {task} {attempt}: {made.author}: {what}")


def _take(known: "Reviewed", task: int, attempt: int) -> int:
    """The take that counts, or the newest where none does; 1 where there is none yet, which the log then refuses."""
    rows = [row for row in known.attempts if (row.task, row.attempt) == (task, attempt)]
    counting = [row for row in rows if row.superseded is None] or rows
    return max((row.take for row in counting), default=1)


def _said(row: "ReviewRow") -> str:
    from rollgrid_tui.state.review_book import said

    label = f" [{row.label}]" if row.label else ""
    return f"{said(row)}{label}"


async def _reviewed(reader: Any, run: str) -> "Reviewed":
    from rollgrid_tui.cli.reviews_file import reviewed_run

    return await reviewed_run(reader, run)


async def _show(settings: Settings, run: str, task: str | None, attempt: int | None, *, as_json: bool) -> None:
    async with open_reader(settings.log_path()) as reader:
        known = await _reviewed(reader, run)
    if task is not None:
        task_index(list(known.tasks), task)
    rows = [
        one
        for one in known.facts()
        if (task is None or one["task"] == task) and (attempt is None or one["attempt"] == attempt)
    ]
    figures = known.agreement()
    if as_json:
        emit_json({"run_id": known.row.run_id, "agreement": figures.to_dict(), "reviews": rows})
        return
    lines = [f"run {known.row.run_id}  {known.row.env_name}", *agreement_lines(figures)]
    if rows:
        lines += ["", reviews_table(rows)]
    elif task is not None:
        lines.append(f"Nobody has reviewed {'this attempt' if attempt is not None else 'this task'} yet.")
    emit("\n".join(lines))


def agreement_lines(figures: "Agreement") -> list[str]:
    """How far people and scorer agree, in words."""
    if figures.rate is None or figures.interval is None:
        return [
            "Nobody has said whether a score is right yet.",
            "Judge attempts in the dashboard (R) or with: rollgrid review RUN TASK ATTEMPT --agree",
        ]
    lines = [
        f"people and scorer agree in {figures.n_agree} of {figures.n} reviews, {100 * figures.rate:.0f}% "
        f"({_span(figures.interval)}), of {figures.n_attempts} attempts of {figures.n_tasks} tasks"
    ]
    if figures.interval_tasks is not None and figures.n_tasks > 1:
        lines.append(f"for tasks like these: {_span(figures.interval_tasks)}")
    if figures.caution is not None:
        lines.append(f"note: {figures.caution}")
    return lines


def _span(interval: tuple[float, float]) -> str:
    return f"95% interval {100 * interval[0]:.0f}% to {100 * interval[1]:.0f}%"


def reviews_table(rows: list[dict[str, Any]]) -> str:
    words = {True: "pass", False: "fail", None: "-"}
    lines = [
        [
            one["task"],
            str(one["attempt"]),
            words[one["scorer_passed"]],
            one["author"],
            one["verdict"] or "-",
            words[one["passed"]],
            one["label"] or "",
            _one_line(one["note"]),
            one["at"][:16].replace("T", " "),
        ]
        for one in rows
    ]
    headers = ("task", "attempt", "score", "who", "verdict", "should", "label", "note", "when (UTC)")
    return table(headers, lines, right=(1,))


def _one_line(text: str | None) -> str:
    from rollgrid.text import clean_line

    return clean_line(" ".join((text or "").split()), REASON_CELLS)


async def _list_queue(settings: Settings, run: str, queue: str, terms: str, author: str, *, as_json: bool) -> None:
    """The queue of the dashboard's review screen."""
    from rollgrid_tui.state.review_view import ReviewView, Which
    from rollgrid_tui.state.run_view import RunView

    async with open_reader(settings.log_path()) as reader:
        known = await _reviewed(reader, run)
    view = RunView()
    view.apply(known.row, known.tasks, known.attempts)
    view.apply_reviews(known.reviews)
    state = ReviewView(view, author)
    state.which = Which(queue)
    state.set_filter(terms)
    if state.filter.problem is not None:
        raise CommandError(f"the filter {terms!r} is none: {state.filter.problem}", "Put that right.")
    items = state.items()
    if as_json:
        shown = [_item_facts(state, item) for item in items]
        emit_json({"run_id": known.row.run_id, "queue": queue, "n_matching": state.n_matching, "attempts": shown})
        return
    if not items:
        emit("No attempt belongs into this queue.")
        return
    lines = [
        [
            one["task"],
            str(one["attempt"]),
            one["outcome"],
            "open" if one["open"] else "judged",
            str(one["n_reviews"]),
            _one_line(one["reason"]),
        ]
        for one in (_item_facts(state, item) for item in items)
    ]
    more = state.n_matching - len(items)
    tail = [f"{more} more; --filter narrows them down"] if more else []
    emit("\n".join([table(("task", "attempt", "score", "by you", "reviews", "reason"), lines, right=(1, 4)), *tail]))


def _item_facts(state: Any, item: "Item") -> dict[str, Any]:
    row = state.row(item)
    return {
        "task": state.view.task(item.task).id,
        "attempt": item.attempt,
        "take": item.take,
        "outcome": state.cell(item).value,
        "open": state.is_open(item),
        "n_reviews": len(state.reviews(item)),
        "reason": row.reason or row.error,
    }
