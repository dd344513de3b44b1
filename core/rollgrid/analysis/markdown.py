"""A gate's decision as Markdown, for the summary page of a CI job."""

import re

from rollgrid.analysis.comparison import TaskComparison, Verdict
from rollgrid.analysis.gate import GateDecision, Outcome
from rollgrid.analysis.text import (
    chance,
    counted,
    money,
    overall_lines,
    percent,
    point_range,
    points,
    range_of,
)
from rollgrid.text import clean_line

__all__ = ["ROWS", "markdown_text"]

ROWS = 100
"""Tasks that are shown at most. A job summary has a size limit, and the worst come first."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$&!]|(?<=:)/(?=/)|(?<=www)\.|^[-+=]|(?<=^\d)[.)]", re.IGNORECASE)
_REFERENCE = re.compile(r"[@#]")
_WORDS = {Outcome.passed: "passed", Outcome.failed: "FAILED", Outcome.inconclusive: "INCONCLUSIVE"}


def markdown_text(decision: GateDecision) -> str:
    """Verdict, rules, and a table of tasks, the worst first. Names and messages are escaped: nothing in them acts."""
    told = decision.statistics
    lines = [f"## {escaped(told.env_name)}: gate {_WORDS[decision.outcome]}", "", escaped(decision.summary), ""]
    if told.simulated:
        lines += ["**SIMULATED: these answers are made up, no model was asked.**", ""]
    if told.scoring:
        lines += [escaped(told.scoring), ""]
    lines += [
        f"Pass rate **{percent(told.pass_rate)}** ({told.n_passed}/{told.n_scored} scored attempts of "
        f"{counted(len(told.tasks), 'task')}, {told.n_unscored} unscored), {100 * told.confidence:g} % interval "
        f"{range_of(told.interval)} for tasks like these, {range_of(told.interval_these_tasks)} "
        "for exactly these tasks." + (f" Cost {money(told.total_cost)}." if told.total_cost is not None else ""),
        "",
        "| rule | outcome | found |",
        "|---|---|---|",
    ]
    order = sorted(decision.findings, key=lambda one: one.outcome is Outcome.passed)
    lines += [f"| {escaped(one.rule)} | {_WORDS[one.outcome]} | {escaped(one.message)} |" for one in order[:ROWS]]
    if len(order) > ROWS:
        lines.append(f"| | | and {len(order) - ROWS} more |")
    lines.append("")
    lines += _comparison_rows(decision) if decision.comparison is not None else _task_rows(decision)
    return "\n".join(lines) + "\n"


def _comparison_rows(decision: GateDecision) -> list[str]:
    told = decision.comparison
    if told is None:
        return []
    lines = ["### Against the baseline", "", *(line.strip() + "  " for line in overall_lines(told)), ""]
    lines += ["| task | baseline | current | delta | interval | q | verdict |", "|---|--:|--:|--:|--:|--:|---|"]
    shown = sorted(told.tasks, key=_badness)
    for one in shown[:ROWS]:
        cells = [
            escaped(one.id),
            "" if one.baseline is None else str(one.baseline),
            "" if one.current is None else str(one.current),
            points(one.delta),
            point_range(one.interval),
            chance(one.q_value),
            f"**{one.verdict}**" if one.verdict is Verdict.regressed else str(one.verdict),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, *_rest(len(shown))]


def _task_rows(decision: GateDecision) -> list[str]:
    told = decision.statistics
    lines = ["### Tasks", "", "| task | passed | rate | interval | unscored |", "|---|--:|--:|--:|--:|"]
    shown = sorted(told.tasks, key=lambda one: (one.pass_rate is not None, one.pass_rate or 0.0))
    for one in shown[:ROWS]:
        lines.append(
            f"| {escaped(one.id)} | {one.n_passed}/{one.n_scored} | {percent(one.pass_rate)} "
            f"| {range_of(one.interval)} | {one.n_unscored} |"
        )
    return [*lines, *_rest(len(shown))]


def _rest(number: int) -> list[str]:
    return ["", f"{number - ROWS} more tasks are not shown."] if number > ROWS else []


def _badness(one: TaskComparison) -> tuple[int, float]:
    order = (Verdict.regressed, Verdict.not_comparable, Verdict.within_noise, Verdict.improved)
    return order.index(one.verdict), one.delta if one.delta is not None else 0.0


def escaped(text: str) -> str:
    """One line of plain text in Markdown. Links, HTML, table cells, mentions and issue numbers in it do not act."""
    plain = _SPECIAL.sub(lambda match: f"\\{match.group()}", clean_line(text, 400))
    # A mention is looked for in the text after rendering, where an escape would be gone; a comment parts it for good.
    return _REFERENCE.sub(lambda match: f"{match.group()}<!-- -->", plain)
