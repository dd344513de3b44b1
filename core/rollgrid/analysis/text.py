"""Statistics, comparisons and decisions as plain text for people. Programs read `to_dict()`."""

from collections.abc import Callable, Iterable, Sequence

from rollgrid.analysis.comparison import Comparison, TaskComparison, Verdict
from rollgrid.analysis.estimators import Effort, RunStatistics, TaskStatistics
from rollgrid.analysis.gate import GateDecision
from rollgrid.analysis.many import ManyComparison
from rollgrid.analysis.quantiles import Quantiles
from rollgrid.analysis.wilson import Interval
from rollgrid.environments.report_text import for_stdout, pad, width
from rollgrid.text import clean_line

__all__ = [
    "comparison_text",
    "counted",
    "decision_text",
    "many_text",
    "money",
    "percent",
    "points",
    "range_of",
    "seconds",
    "statistics_text",
]

_ID_CELLS = 48


def percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f} %"


def range_of(interval: Interval | None) -> str:
    """An interval of rates in percent."""
    return "-" if interval is None else f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def points(delta: float | None) -> str:
    """A difference of rates in percentage points."""
    return "-" if delta is None else f"{100 * delta:+.1f}"


def point_range(interval: Interval | None) -> str:
    return "-" if interval is None else f"[{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def seconds(value: float) -> str:
    if value < 0.1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def money(value: float) -> str:
    return f"${value:.4f}" if value < 1 else f"${value:.2f}"


def statistics_text(told: RunStatistics) -> str:
    """The run as a whole, then a row for each task."""
    level = f"{100 * told.confidence:g} %"
    facts = [f"k={told.k}", counted(len(told.tasks), "task"), counted(told.n_attempts, "attempt")]
    if told.n_unscored:
        facts.append(f"{told.n_unscored} unscored")
    model = f"  {clean_line(told.model)}" if told.model else ""
    lines = [f"{clean_line(told.env_name)}{model}  {', '.join(facts)}"]
    if told.simulated:
        lines.append("SIMULATED: these answers are made up, no model was asked")
    if told.scoring:
        lines.append(clean_line(told.scoring))
    if told.stopped_early:
        lines.append(f"stopped early: {clean_line(told.stopped_early)}")
    lines.append(f"pass rate {percent(told.pass_rate)}, {told.n_passed}/{told.n_scored} passed; {level} intervals:")
    lines.append(f"  {range_of(told.interval)} for tasks like these")
    lines.append(f"  {range_of(told.interval_these_tasks)} for exactly these tasks run again")
    if told.n_unscored and told.bounds is not None:
        lines.append(
            f"had every unscored attempt failed: {percent(told.bounds.low)}; passed: {percent(told.bounds.high)}"
        )
    lines += _at_j_lines(told)
    lines += _effort_lines(told.effort)
    lines.append("")
    headers = ("task", "passed", "rate", f"{level} interval", "if unscored fail/pass", "median time", "tokens")
    rows = [_task_row(one) for one in told.tasks]
    if not told.n_unscored:
        headers = headers[:4] + headers[5:]
        rows = [row[:4] + row[5:] for row in rows]
    return for_stdout("\n".join([*lines, *grid(headers, rows)]))


def _task_row(one: TaskStatistics) -> list[str]:
    bounds = "-" if one.bounds is None else f"{percent(one.bounds.low)} / {percent(one.bounds.high)}"
    latency = one.effort.latency
    return [
        clean_line(one.id),
        f"{one.n_passed}/{one.n_scored}",
        percent(one.pass_rate),
        range_of(one.interval),
        bounds,
        "-" if latency is None else (">= " if latency.bounds[0] else "") + seconds(latency.median),
        "-" if one.effort.tokens is None else f"{one.effort.tokens.total:.0f}",
    ]


def _at_j_lines(told: RunStatistics) -> list[str]:
    if not told.at_j:
        return []
    most = told.at_j[-1].j
    shown = [one for one in told.at_j if one.j in {1, most} or one.j & (one.j - 1) == 0]
    at = ", ".join(f"@{one.j} {percent(one.pass_at)}" for one in shown)
    hat = ", ".join(f"^{one.j} {percent(one.pass_hat)}" for one in shown)
    lines = [f"at least one of j attempts passes: pass {at}", f"all of j attempts pass: pass {hat}"]
    if shown[-1].n_tasks < len(told.tasks):
        lines.append(f"  (j = {most} over the {counted(shown[-1].n_tasks, 'task')} with that many scored attempts)")
    return lines


def _effort_lines(effort: Effort) -> list[str]:
    lines: list[str] = []
    if effort.latency is not None:
        cut = f", {effort.latency.n_censored} of them timed out" if effort.latency.n_censored else ""
        lines.append(f"time: {_levels(effort.latency, seconds)} of {counted(effort.latency.n, 'attempt')}{cut}")
    if effort.tokens is not None:
        lines.append(
            f"tokens: {_levels(effort.tokens, lambda value: f'{value:.0f}')}, {effort.tokens.total:.0f} in all"
        )
    if effort.cost is not None:
        missing = f", {effort.n_unpriced} attempts without a known price" if effort.n_unpriced else ""
        lines.append(f"cost: {_levels(effort.cost, money)}, {money(effort.cost.total)} in all{missing}")
    return lines


def _levels(told: Quantiles, shown: Callable[[float], str]) -> str:
    names = ("median", "90 %", "99 %")
    return ", ".join(
        f"{name} {'at least ' if bound else ''}{shown(value)}"
        for name, value, bound in zip(names, told.values, told.bounds, strict=True)
    )


def comparison_text(told: Comparison) -> str:
    """The overall movement, then a row for each task."""
    level = f"{100 * told.confidence:g} %"
    policy = "policy changed" if told.policy_changed else "same policy"
    lines = [f"{clean_line(told.env_name)}: baseline -> current (same environment, {policy})", *overall_lines(told), ""]
    headers = ("task", "baseline", "current", "delta", f"{level} interval", "p", "q", "verdict")
    return for_stdout("\n".join([*lines, *grid(headers, [_comparison_row(one) for one in told.tasks], words=(0, 7))]))


def overall_lines(told: Comparison) -> list[str]:
    """What a comparison comes to, without its tasks."""
    if told.delta is None:
        return ["no task was scored on both sides: not comparable"]
    level = f"{100 * told.confidence:g} %"
    lines = [
        f"{told.verdict}: {percent(told.baseline_rate)} -> {percent(told.current_rate)} over "
        f"{counted(told.n_shared, 'shared task')}, {points(told.delta)} points; {level} intervals:",
        f"  {point_range(told.interval)} for tasks like these, {point_range(told.interval_these_tasks)} "
        "for exactly these tasks run again",
        f"tasks: {tally(told.tasks)}",
    ]
    return lines


def tally(tasks: Iterable[TaskComparison]) -> str:
    """How many tasks have each verdict."""
    found = [one.verdict for one in tasks]
    return ", ".join(f"{found.count(verdict)} {verdict}" for verdict in Verdict if found.count(verdict)) or "none"


def _comparison_row(one: TaskComparison) -> list[str]:
    return [
        clean_line(one.id),
        "-" if one.baseline is None else str(one.baseline),
        "-" if one.current is None else str(one.current),
        points(one.delta),
        point_range(one.interval),
        chance(one.p_value),
        chance(one.q_value),
        str(one.verdict) + (f": {one.why}" if one.why else ""),
    ]


def chance(value: float | None) -> str:
    """A p-value with as many digits as mean something."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def many_text(told: ManyComparison) -> str:
    """A column for each run, a row for each task, and the overall figures first."""
    names = [clean_line(label, 24) for label in told.labels]
    by_task = [{one.id: one for one in run.tasks} for run in told.runs]
    verdicts = [{one.id: one.verdict for one in other.tasks} if other else {} for other in told.comparisons]
    marks = {Verdict.improved: " +", Verdict.regressed: " -"}
    rows = [
        ["pass rate", *(percent(run.pass_rate) for run in told.runs)],
        ["  tasks like these", *(range_of(run.interval) for run in told.runs)],
        ["  scored", *(f"{run.n_passed}/{run.n_scored}" for run in told.runs)],
        ["delta", *("reference" if one is None else points(one.delta) for one in told.comparisons)],
        ["  tasks like these", *("" if one is None else point_range(one.interval) for one in told.comparisons)],
        ["verdict", *("" if one is None else str(one.verdict) for one in told.comparisons)],
        ["" for _ in range(len(names) + 1)],
    ]
    for name in told.task_ids:
        cells = [clean_line(name)]
        for tasks, verdict in zip(by_task, verdicts, strict=True):
            task = tasks.get(name)
            if task is None:
                cells.append("-")
            else:
                mark = marks.get(verdict.get(name, Verdict.not_comparable), "  ")
                cells.append(f"{task.n_passed}/{task.n_scored} {percent(task.pass_rate)}{mark}")
        rows.append(cells)
    level = f"{100 * told.confidence:g} %"
    ending = [
        "",
        f"+ improved, - regressed against {names[told.reference]} by more than chance (false-discovery rate "
        f"{100 * (1 - told.confidence):g} % over all tasks and runs). Intervals of deltas hold together at {level}.",
    ]
    simulated = ["SIMULATED: these answers are made up, no model was asked"] if told.runs[0].simulated else []
    lines = [clean_line(told.env_name), *simulated, *grid(("", *names), rows), *ending]
    return for_stdout("\n".join(lines))


def decision_text(told: GateDecision) -> str:
    """The outcome, then every rule with what it found."""
    words = {"passed": "ok", "failed": "FAILED", "inconclusive": "UNCLEAR"}
    lines = [f"gate {told.outcome}: {clean_line(told.summary)}"]
    if told.simulated:
        lines.append("SIMULATED: these answers are made up, no model was asked")
    if told.statistics.scoring:
        lines.append(clean_line(told.statistics.scoring))
    rows = [
        [words[one.outcome], clean_line(one.rule), clean_line(one.message, 300)]
        for one in sorted(told.findings, key=lambda one: one.outcome == "passed")
    ]
    lines += [f"  {pad(row[0], 7)}  {row[1]}: {row[2]}" for row in rows]
    if told.comparison is not None:
        lines += ["", *overall_lines(told.comparison)]
    return for_stdout("\n".join(lines))


def grid(headers: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[int] = (0,)) -> list[str]:
    """Columns two blanks apart; those in `words` are left-aligned, the others hold figures and are right-aligned."""
    table = [list(headers), *(list(row) for row in rows)]
    wide = [max(width(line[column]) for line in table) for column in range(len(headers))]
    wide[0] = min(wide[0], _ID_CELLS)
    lines: list[str] = []
    for line in table:
        cells = [
            pad(cell, room) if column in words else " " * (room - width(cell)) + cell
            for column, (cell, room) in enumerate(zip(line, wide, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
