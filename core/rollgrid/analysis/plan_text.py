"""A plan as plain text for people. Programs read `to_dict()`."""

from rollgrid.analysis.plan import Plan, Price, TaskPlan
from rollgrid.analysis.text import counted, grid, money
from rollgrid.environments.report_text import for_stdout
from rollgrid.text import clean_line

__all__ = ["plan_text"]


def plan_text(told: Plan) -> str:
    """What is settled and what the rest takes, then a row for each task."""
    asked = "in which zone is each task"
    if told.delta is not None:
        asked = f"did a task change by {round(100 * told.delta, 1):g} points or more"
    lines = [f"{clean_line(told.env_name)}: {asked}? Wrong about a task at most {100 * told.alpha:g} times in 100."]
    if told.simulated:
        lines.append("SIMULATED: these answers are made up, no model was asked")
    standing = [f"{len(told.settled)} of {counted(len(told.tasks), 'task')} settled", f"{len(told.open)} open"]
    if told.out_of_reach:
        standing.append(f"{len(told.out_of_reach)} out of reach")
    if told.not_asked:
        standing.append(f"{len(told.not_asked)} not in the baseline")
    lines.append(", ".join(standing))
    lines += _takes(told)
    compared = told.delta is not None
    headers = ["task", "passed", *(["baseline"] if compared else []), "settled", "more", "90 %", "tokens", "cost"]
    rows = [_row(one, told) for one in told.tasks]
    if not told.open:
        headers, rows = headers[:-4], [row[:-4] for row in rows]
    return for_stdout("\n".join([*lines, "", *grid(headers, rows, words=(0, 3 if compared else 2))]))


def _takes(told: Plan) -> list[str]:
    if not told.open:
        return ["more attempts would settle nothing further"]
    lines = [f"the rest takes about {_priced(told.expected)}"]
    if told.likely is None:
        lines.append(f"  for some tasks {told.horizon} more may not be enough; figures count those as {told.horizon}")
    else:
        lines.append(f"  enough with a chance of 90 %: {_priced(told.likely)}")
    if told.unscored_share:
        lines.append(f"  {100 * told.unscored_share:.0f} % of the attempts were unscored; that is reckoned with")
    return lines


def _priced(price: Price) -> str:
    parts = [f"{price.attempts:.0f} attempts"]
    if price.tokens is not None:
        parts.append(f"{price.tokens:.0f} tokens")
    if price.cost is not None:
        parts.append(money(price.cost))
    return ", ".join(parts)


def _row(one: TaskPlan, told: Plan) -> list[str]:
    says = clean_line(one.says)
    if one.holds_overall is not None:
        says += "" if one.holds_overall else " (not among all tasks)"
    if one.is_settled or one.finding is None:
        cells = [says, "", "", "", ""]
    else:
        cells = [
            says,
            f"{'' if one.need.chance > 0.9 else '>'}{one.expected.attempts:.0f}",
            f">{told.horizon}" if one.likely is None else f"{one.likely.attempts:.0f}",
            "-" if one.expected.tokens is None else f"{one.expected.tokens:.0f}",
            "-" if one.expected.cost is None else money(one.expected.cost),
        ]
    before = [] if told.delta is None else ["-" if one.baseline is None else f"{one.baseline[0]}/{one.baseline[1]}"]
    return [clean_line(one.id), f"{one.n_passed}/{one.n_scored}", *before, *cells]
