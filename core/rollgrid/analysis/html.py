"""A run, its comparison and a gate's decision as one HTML file that opens from the disk."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from rollgrid.analysis.comparison import Comparison, TaskComparison, Verdict
from rollgrid.analysis.estimators import RunStatistics, TaskStatistics
from rollgrid.analysis.gate import GateDecision, Outcome
from rollgrid.analysis.plots import Mark, Row, curves, forest
from rollgrid.analysis.quantiles import LEVELS, Quantiles
from rollgrid.analysis.text import (
    chance,
    counted,
    money,
    percent,
    point_range,
    points,
    range_of,
    seconds,
    tally,
)
from rollgrid.text import clean_line

__all__ = ["html_page"]

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1f2328; --soft: #57606a; --line: #d8dee4; --plate: #f6f8fa;
  --good: #006e54; --bad: #b03a09; --other: #0860c2; --quiet: #6e7781; --warn: #7a5900; }
@media (prefers-color-scheme: dark) { :root { --page: #11151a; --ink: #e6edf3; --soft: #9aa5b1; --line: #30363d;
  --plate: #1a2028; --good: #45b8a0; --bad: #f0875a; --other: #6cb6ff; --quiet: #8b949e; --warn: #d9b44a; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; } .soft, .axis, caption { color: var(--soft); } .wide { overflow-x: auto; }
.banner { border: 1px solid; border-left-width: 6px; border-radius: 4px; padding: .6rem 1rem; margin: 1rem 0; }
.passed, .improved { color: var(--good); } .failed, .regressed { color: var(--bad); }
.inconclusive, .simulated { color: var(--warn); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } .left { text-align: left; } td.left { overflow-wrap: anywhere; }
.word { text-align: left; white-space: nowrap; }
.facts { display: flex; flex-wrap: wrap; gap: .6rem; } .fact { background: var(--plate); padding: .5rem .9rem;
  border-radius: 4px; } .fact b { display: block; font-size: 1.25rem; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg text.axis { fill: var(--soft); font-size: 11px; } svg text.figure { font-variant-numeric: tabular-nums; }
svg .rule { stroke: var(--line); } svg .zero { stroke: var(--soft); } svg .mark line { stroke-width: 2; }
svg .mark circle { stroke-width: 2; } svg polyline { stroke-width: 2; }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser itself is told to fetch nothing and to run nothing."""


def html_page(
    told: RunStatistics,
    comparison: Comparison | None = None,
    decision: GateDecision | None = None,
    errors: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The whole page: verdict and rules (with a decision), plots, and every figure as a table.

    `errors` are error texts by task id, of which the first of each task is shown. Whatever models, tools and users
    wrote is escaped; there is no script, and the page forbids the browser to load anything.
    """
    title = f"{told.env_name}: {percent(told.pass_rate)} passed"
    body = [
        *_head(told, decision),
        *(_rules(decision) if decision is not None else []),
        *_overall(told, comparison),
        *_task_plot(told, comparison),
        *(_delta_plot(comparison) if comparison is not None and comparison.delta is not None else []),
        *_at_j(told),
        *_effort(told),
        *_task_table(told),
        *(_comparison_table(comparison) if comparison is not None else []),
        *_errors(errors or {}),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _head(told: RunStatistics, decision: GateDecision | None) -> list[str]:
    facts = [f"k={told.k}", counted(len(told.tasks), "task"), counted(told.n_attempts, "attempt")]
    if told.model:
        facts.insert(0, told.model)
    parts = [f"<h1>{_safe(told.env_name)}</h1>", f'<p class="soft">{_safe(", ".join(facts))}</p>']
    if told.simulated:
        parts.append('<p class="banner simulated">SIMULATED: these answers are made up, no model was asked.</p>')
    if told.scoring:
        parts.append(f'<p class="soft">{_safe(told.scoring)}</p>')
    if told.stopped_early:
        parts.append(f'<p class="banner inconclusive">Stopped early: {_safe(told.stopped_early)}</p>')
    if decision is not None:
        words = f"<b>Gate {decision.outcome.value}.</b> {_safe(decision.summary)}"
        parts.append(f'<p class="banner {decision.outcome.value}">{words}</p>')
    return parts


def _rules(decision: GateDecision) -> list[str]:
    order = sorted(decision.findings, key=lambda one: one.outcome is Outcome.passed)
    rows = [
        f'<tr><td class="word {one.outcome.value}">{one.outcome.value}</td><td class="word">{_safe(one.rule)}</td>'
        f'<td class="left">{_safe(one.message)}</td></tr>'
        for one in order
    ]
    return ["<h2>Rules</h2>", _table(("outcome", "rule", "found"), rows, left=(0, 1, 2))]


def _overall(told: RunStatistics, comparison: Comparison | None) -> list[str]:
    level = f"{100 * told.confidence:g} % interval"
    facts = [
        ("pass rate", percent(told.pass_rate), f"{told.n_passed} of {told.n_scored} scored attempts"),
        (f"{level}, tasks like these", range_of(told.interval), "clustered by task"),
        (f"{level}, exactly these tasks", range_of(told.interval_these_tasks), "only the attempts are chance"),
    ]
    if told.n_unscored and told.bounds is not None:
        span = f"{percent(told.bounds.low)} to {percent(told.bounds.high)}"
        facts.append((counted(told.n_unscored, "unscored attempt"), span, "the rate if all had failed, all had passed"))
    if told.total_cost is not None:
        facts.append(("cost", money(told.total_cost), "of the whole run"))
    parts = ["<h2>Overall</h2>", _facts(facts)]
    if comparison is None:
        return parts
    if comparison.delta is None:
        return [*parts, "<h2>Against the baseline</h2>", "<p>No task was scored on both sides.</p>"]
    moved = f"{percent(comparison.baseline_rate)} to {percent(comparison.current_rate)}"
    policy = "policy changed" if comparison.policy_changed else "same policy"
    against = [
        ("verdict", comparison.verdict.value, f"over {counted(comparison.n_shared, 'shared task')}, {policy}"),
        ("mean change in points", points(comparison.delta), moved),
        (f"{level}, tasks like these", point_range(comparison.interval), "paired, clustered by task"),
        (f"{level}, exactly these tasks", point_range(comparison.interval_these_tasks), "only the attempts are chance"),
    ]
    return [
        *parts,
        "<h2>Against the baseline</h2>",
        _facts(against),
        f"<p>Tasks: {_safe(tally(comparison.tasks))}.</p>",
    ]


def _task_plot(told: RunStatistics, comparison: Comparison | None) -> list[str]:
    before = {one.id: one for one in comparison.tasks} if comparison is not None else {}
    rows: list[Row] = []
    for task in told.tasks:
        marks: list[Mark] = []
        old = before.get(task.id)
        if old is not None and old.baseline is not None and old.baseline.rate is not None:
            marks.append(Mark(old.baseline.rate, None, "--quiet", hollow=True))
        if task.pass_rate is not None:
            marks.append(Mark(task.pass_rate, task.interval, _colour(old)))
        unscored = f", {task.n_unscored} unscored" if task.n_unscored else ""
        rows.append(Row(task.id, marks, f"{task.n_passed}/{task.n_scored}{unscored}"))
    if not rows:
        return []
    level = f"{100 * told.confidence:g} %"
    legend = f"Pass rate of each task with its {level} interval (Wilson)."
    if before:
        legend += " The hollow circle is the baseline."
    return [
        "<h2>Tasks</h2>",
        f'<p class="soft">{_safe(legend)}</p>',
        f'<div class="wide">{forest("Pass rate by task", rows, 0.0, 1.0, "%")}</div>',
    ]


def _delta_plot(comparison: Comparison) -> list[str]:
    shared = sorted((one for one in comparison.tasks if one.delta is not None), key=lambda one: one.delta or 0.0)
    rows = [
        Row(
            one.id,
            [Mark(one.delta or 0.0, one.interval, _colour(one))],
            f"{one.baseline} to {one.current}",
        )
        for one in shared
    ]
    if comparison.delta is not None:
        colour = {Verdict.improved: "--good", Verdict.regressed: "--bad"}.get(comparison.verdict, "--quiet")
        rows.insert(
            0, Row("mean of all", [Mark(comparison.delta, comparison.interval, colour)], str(comparison.verdict))
        )
    legend = "Change of each task in percentage points with its interval (Newcombe), the worst first."
    return [
        "<h2>What moved</h2>",
        f'<p class="soft">{_safe(legend)}</p>',
        f'<div class="wide">{forest("Change by task", rows, -1.0, 1.0, "points")}</div>',
    ]


def _at_j(told: RunStatistics) -> list[str]:
    if not told.at_j:
        return []
    legend = "At least one of j attempts passes (pass@j), all of them pass (pass^j): means over tasks."
    return ["<h2>More than one attempt</h2>", f'<p class="soft">{legend}</p>', curves(told.at_j)]


def _effort(told: RunStatistics) -> list[str]:
    effort = told.effort
    rows: list[str] = []
    if effort.latency is not None:
        note = f"{effort.latency.n_censored} timed out" if effort.latency.n_censored else ""
        rows.append(_quantile_row("time", effort.latency, [_at_least(effort.latency, i) for i in range(3)], note))
    if effort.tokens is not None:
        shown = [f"{value:.0f}" for value in effort.tokens.values]
        rows.append(_quantile_row("tokens", effort.tokens, shown, f"{effort.tokens.total:.0f} in all"))
    if effort.cost is not None:
        note = f"{effort.n_unpriced} without a known price" if effort.n_unpriced else ""
        rows.append(_quantile_row("cost", effort.cost, [money(value) for value in effort.cost.values], note))
    if not rows:
        return []
    names = tuple("median" if level == 0.5 else f"{100 * level:g} %" for level in LEVELS)
    return ["<h2>Time, tokens, cost of an attempt</h2>", _table(("", *names, "attempts", ""), rows, left=(0, 5))]


def _at_least(told: Quantiles, place: int) -> str:
    return ("at least " if told.bounds[place] else "") + seconds(told.values[place])


def _quantile_row(name: str, told: Quantiles, shown: Sequence[str], note: str) -> str:
    cells = "".join(f"<td>{value}</td>" for value in shown)
    return f'<tr><td class="left">{name}</td>{cells}<td>{told.n}</td><td class="left">{note}</td></tr>'


def _task_table(told: RunStatistics) -> list[str]:
    headers = ("task", "passed", "rate", "interval", "if unscored fail / pass", "mean value", "median time", "tokens")
    return ["<h2>Figures</h2>", _table(headers, (_task_row(one) for one in told.tasks), left=(0,))]


def _task_row(one: TaskStatistics) -> str:
    bounds = "-" if one.bounds is None else f"{percent(one.bounds.low)} / {percent(one.bounds.high)}"
    latency, tokens = one.effort.latency, one.effort.tokens
    cells = [
        f"{one.n_passed}/{one.n_scored}",
        percent(one.pass_rate),
        range_of(one.interval),
        bounds,
        "-" if one.mean_value is None else f"{one.mean_value:.3f}",
        "-" if latency is None else _at_least(latency, 0),
        "-" if tokens is None else f"{tokens.total:.0f}",
    ]
    return f'<tr><td class="left">{_safe(one.id)}</td>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _comparison_table(comparison: Comparison) -> list[str]:
    headers = ("task", "baseline", "current", "change", "interval", "p", "q", "verdict")
    rows = [
        f'<tr><td class="left">{_safe(one.id)}</td><td>{one.baseline or "-"}</td><td>{one.current or "-"}</td>'
        f"<td>{points(one.delta)}</td><td>{point_range(one.interval)}</td><td>{_safe(chance(one.p_value))}</td>"
        f'<td>{_safe(chance(one.q_value))}</td><td class="word {_css(one.verdict)}">{_safe(_verdict(one))}</td></tr>'
        for one in comparison.tasks
    ]
    return ["<h2>Figures against the baseline</h2>", _table(headers, rows, left=(0, 7))]


def _errors(errors: Mapping[str, Sequence[str]]) -> list[str]:
    rows = [
        f'<tr><td class="left">{_safe(task)}</td><td>{len(texts)}</td><td class="left">{_safe(texts[0])}</td></tr>'
        for task, texts in errors.items()
        if texts
    ]
    if not rows:
        return []
    return ["<h2>Errors</h2>", _table(("task", "attempts", "first one"), rows, left=(0, 2))]


def _verdict(one: TaskComparison) -> str:
    return str(one.verdict) + (f": {one.why}" if one.why else "")


def _css(verdict: Verdict) -> str:
    return verdict.value if verdict in {Verdict.improved, Verdict.regressed} else "soft"


def _colour(one: TaskComparison | None) -> str:
    if one is None:
        return "--other"
    return {Verdict.improved: "--good", Verdict.regressed: "--bad"}.get(one.verdict, "--other")


def _facts(facts: Iterable[tuple[str, str, str]]) -> str:
    cells = "".join(
        f'<div class="fact"><span class="soft">{_safe(name)}</span><b>{_safe(value)}</b>'
        f'<span class="soft">{_safe(note)}</span></div>'
        for name, value, note in facts
    )
    return f'<div class="facts">{cells}</div>'


def _table(headers: Sequence[str], rows: Iterable[str], left: Sequence[int]) -> str:
    head = "".join(
        f'<th class="left">{_safe(name)}</th>' if place in left else f"<th>{_safe(name)}</th>"
        for place, name in enumerate(headers)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _safe(text: str) -> str:
    """Text of others as text: cleaned of controls and bidirectional characters, cut where it is endless, escaped."""
    return escape(clean_line(text, 1000))
