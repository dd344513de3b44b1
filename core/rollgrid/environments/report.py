"""The grid, the report and a whole attempt as text for people. Programs read `summary()` or a saved file."""

import json
from collections.abc import Iterator
from typing import Any

from rollgrid.agent.run import Message, RunOutput, ToolExecution
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.report_text import (
    Glyphs,
    Line,
    Style,
    for_stdout,
    pad,
    scoring_text,
    stdout_glyphs,
    width,
)
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.text import clean_block, clean_line

__all__ = ["attempt_lines", "grid_text", "report_lines"]

_ID_CELLS = 48
_LINE = 200


def grid_text(result: EnvironmentRunResult) -> str:
    """One line a task: an outcome glyph for each attempt, passed/scored, rate, and what stands out."""
    glyphs = stdout_glyphs()
    ids = [clean_line(str(one.task.id)) for one in result.task_results]
    id_cells = min(_ID_CELLS, max(map(width, ids), default=2))
    columns = max([result.k, *(one.n_attempts for one in result.task_results)])
    facts = [f"k={result.k}", _counted(result.n_attempts, "attempt"), f"{result.duration_seconds:.0f}s"]
    cost = _cost(result)
    if cost is not None:
        facts.append(f"${cost:.4f}")
    lines = [f"{clean_line(result.env_name)}  {', '.join(facts)}"]
    scoring = scoring_text(result.about)
    if scoring is not None:
        lines.append(f"  {clean_line(scoring)}")
    for known, one in zip(ids, result.task_results, strict=True):
        cells = "".join(_glyph(attempt, glyphs) for attempt in one.read_attempts())
        tags = ["learning zone"] if one.in_learning_zone else []
        if one.n_unscored:
            tags.append(f"{one.n_unscored} unscored")
        figures = f"{one.n_passed:>3}/{one.n_scored:<3}  {_rate(one.pass_rate):<4}"
        lines.append(f"  {pad(known, id_cells)}  {cells:<{columns}}  {figures}  {', '.join(tags)}".rstrip())
    total = f"{_counted(len(ids), 'task')}, {result.n_passed}/{result.n_scored} passed"
    unscored = f", {result.n_unscored} unscored" if result.n_unscored else ""
    lines.append(f"  {total}, pass rate {_rate(result.pass_rate)}{unscored}")
    if result.stopped_early:
        lines.append(f"  stopped early: {clean_line(result.stopped_early)}")
    first = next((error for texts in result.errors().values() for error in texts), None)
    if first is not None:
        lines.append(f"  first error: {clean_line(first, _LINE)}")
    return for_stdout("\n".join(lines))


def report_lines(result: EnvironmentRunResult, *, only: str = "failed", attempts: int | None = None) -> Iterator[Line]:
    """A block for each attempt, under its task. Raises `ValueError` for arguments that make no sense."""
    if only not in ("failed", "all"):
        raise ValueError(f"only must be 'failed' or 'all', got {only!r}")
    if attempts is not None and attempts < 0:
        raise ValueError(f"attempts must be 0 or more, got {attempts}")
    return _report(result, only, attempts)


def _report(result: EnvironmentRunResult, only: str, limit: int | None) -> Iterator[Line]:
    shown_any = False
    for one in result.task_results:
        chosen = [
            (number, attempt)
            for number, attempt in enumerate(one.read_attempts(), start=1)
            if only == "all" or not attempt.passed
        ]
        if not chosen:
            continue
        if shown_any:
            yield Line("")
        shown_any = True
        yield Line(f"task {clean_line(str(one.task.id))}: {clean_line(one.task.input, 90)}", "heading")
        shown = chosen if limit is None else chosen[:limit]
        for number, attempt in shown:
            yield from _attempt_block(number, attempt)
        if len(shown) < len(chosen):
            yield Line(f"  {len(chosen) - len(shown)} more of this task; raise attempts= to see them", "dim")
    if not shown_any:
        passed = "no attempt to report" if not result.n_attempts else f"all {result.n_attempts} attempts passed"
        yield Line(f'{passed}; print_report(only="all") shows every attempt')


def _attempt_block(number: int, attempt: AttemptResult) -> Iterator[Line]:
    run = attempt.read_run()
    yield Line(f"  attempt {number}: {_verdict(attempt)}", _style(attempt))
    if attempt.error:
        yield Line(f"    error: {clean_line(attempt.error, _LINE)}")
    if attempt.score is not None and attempt.score.reason:
        yield Line(f"    reason: {clean_line(attempt.score.reason, _LINE)}")
    if run is None:
        yield Line("    no run was recorded", "dim")
        return
    for tool in run.tools:
        yield Line(f"    tool: {clean_line(_call(tool), _LINE)}")
    answer = _answer(run)
    if answer:
        yield Line(f"    answer: {clean_line(answer, 110)}")
    elif run.problem:
        yield Line(f"    answer: none ({clean_line(run.problem, _LINE)})")
    yield Line(f"    {_tokens(run)}", "dim")


def attempt_lines(result: EnvironmentRunResult, task_id: str, attempt: int) -> Iterator[Line]:
    """One attempt with nothing left out. Raises `KeyError` and `IndexError` for what is not there."""
    one = result.task_result(task_id)
    if not 1 <= attempt <= len(one.attempts):
        raise IndexError(f"task {task_id!r} has the attempts 1..{len(one.attempts)}, not {attempt}")
    return _whole_attempt(one, attempt)


def _whole_attempt(one: TaskResult, number: int) -> Iterator[Line]:
    attempt = one.attempts[number - 1]
    # Read first: what the log keeps beside the transcript comes with it.
    run = attempt.read_run()
    known = clean_line(str(one.task.id))
    yield Line(f"task {known}, attempt {number} of {len(one.attempts)}: {_verdict(attempt)}", _style(attempt))
    yield from _section("input", one.task.input)
    if one.task.expected is not None:
        yield from _section("expected", _shown(one.task.expected))
    if attempt.error:
        yield from _section("error", attempt.error)
    if attempt.score is not None and attempt.score.reason:
        yield from _section("reason", attempt.score.reason)
    if attempt.score is not None and attempt.score.detail:
        yield from _section("detail", _shown(attempt.score.detail))
    if run is None:
        yield Line("no run was recorded", "dim")
        return
    for message in run.messages:
        yield from _message(message)
    if run.partial_text:
        yield from _section("answer so far, when it was cut off", run.partial_text)
    if run.problem:
        yield from _section("problem", f"{run.problem}: {run.problem_detail or ''}".rstrip(": "))
    answer = _answer(run)
    if answer and not any(message.role == "assistant" and message.content == answer for message in run.messages):
        yield from _section("answer", answer)
    for tool in run.tools:
        yield from _section(f"executed {clean_line(_call(tool))}", tool.result or "")
    yield Line(_tokens(run), "dim")


def _message(message: Message) -> Iterator[Line]:
    title = message.role if message.name is None else f"{message.role} {clean_line(message.name)}"
    if message.reasoning:
        yield from _section(f"{title}, reasoning", message.reasoning)
    if message.content is not None or not message.tool_calls:
        yield from _section(title + (" (error)" if message.tool_call_error else ""), message.content or "")
    for call in message.tool_calls:
        yield from _section(f"{title} asks for {clean_line(call.name)}", call.arguments)


def _section(title: str, text: str) -> Iterator[Line]:
    yield Line(f"-- {title}", "heading")
    if text:
        for line in clean_block(text).split("\n"):
            yield Line(line)


def _glyph(attempt: AttemptResult, glyphs: Glyphs) -> str:
    if attempt.score is not None:
        return glyphs.passed if attempt.score.passed else glyphs.failed
    stops = {
        StopReason.timeout: glyphs.timeout,
        StopReason.cancelled: glyphs.cancelled,
        StopReason.paused: glyphs.paused,
    }
    return stops.get(attempt.stop_reason, glyphs.error)


def _style(attempt: AttemptResult) -> Style:
    if attempt.score is None:
        return "unscored"
    return "pass" if attempt.score.passed else "fail"


def _verdict(attempt: AttemptResult) -> str:
    if attempt.score is None:
        words = [f"unscored ({attempt.stop_reason.value})"]
    else:
        words = ["PASS" if attempt.score.passed else "FAIL", f"value {attempt.score.value:.2f}"]
    words.append(f"{attempt.duration_seconds:.1f}s")
    if attempt.tool_call_limit_hit:
        words.append("tool call limit hit")
    return ", ".join(words)


def _call(tool: ToolExecution) -> str:
    state = "paused" if tool.is_paused else "error" if tool.tool_call_error else "ok"
    arguments = ", ".join(f"{name}={_shown(value)}" for name, value in (tool.tool_args or {}).items())
    return f"{tool.tool_name}({arguments}) -> {state}"


def _answer(run: RunOutput) -> str:
    if run.content is None:
        return run.raw_text or run.partial_text or ""
    if isinstance(run.content, str):
        return run.content
    try:
        return run.get_content_as_string()
    except (TypeError, ValueError):
        return run.raw_text or f"<{type(run.content).__name__}>"


def _tokens(run: RunOutput) -> str:
    metrics = run.metrics
    cost = "" if metrics.cost is None else f", ${metrics.cost:.4f}"
    model = "" if run.model is None else f", {clean_line(run.model, 60)}"
    return f"tokens: {metrics.input_tokens} in, {metrics.output_tokens} out{cost}{model}"


def _cost(result: EnvironmentRunResult) -> float | None:
    """The sum of the costs that are known. No transcript is read for it."""
    known = result.about.get("cost")
    if isinstance(known, (int, float)):
        return float(known)
    costs = [
        usage.cost
        for one in result.task_results
        for attempt in one.read_attempts()
        if (usage := attempt.usage) is not None and usage.cost is not None
    ]
    return sum(costs) if costs else None


def _shown(value: Any) -> str:
    """A value for reading: JSON where it is JSON, else the text of its type."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a value with a broken __repr__ is shown by its type
        return f"<{type(value).__name__}>"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
