"""A run in this process: progress on stderr, the result on stdout, and nothing else on either."""

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rollgrid.errors import RollgridError
from rollgrid_tui.cli.baseline import SIMULATED_NOTE, diff_results, is_simulated, load_file
from rollgrid_tui.cli.common import emit, emit_json, one_line, rate
from rollgrid_tui.cli.streams import prints_on_stderr, unless_gone
from rollgrid_tui.cli.until import settled_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollgrid.analysis.audit import Copies
    from rollgrid.runner.request import RunRequest
    from rollgrid.runner.session import RunProgress, SessionOutcome

PROGRESS_SECONDS = 1.0

NOT_FIXED = (
    "p, q and verdicts take the number of attempts for fixed, and here the outcomes decided it: go by what is settled."
)


def run_headless(request: "RunRequest", *, as_json: bool, baseline: Path | None = None) -> int:
    """Carry the request out here; returns the exit code. With `as_json` the last line of stdout is one object."""
    from rollgrid.analysis.audit import copies_in_result
    from rollgrid.runner.execute import execute

    progress = ProgressLine()
    with prints_on_stderr():
        outcome = asyncio.run(
            execute(
                request,
                handle_signals=True,
                on_ready=progress.ready,
                on_progress=progress,
                on_message=progress.say,
            )
        )
    progress.close()
    copies: list[Copies] = []
    try:
        copies = copies_in_result(outcome.result)
    except RollgridError as error:
        # The result is there, and says so; only its transcripts cannot be read now.
        progress.say(f"not looked for copies: {error}")
    with unless_gone(1):
        _print_result(outcome, as_json=as_json, baseline=baseline, copies=copies)
        sys.stdout.flush()
    with unless_gone(2):
        for one in copies:
            click.echo(f"rollgrid: warning: {one_line(one.line())}", err=True)
    if outcome.exit_code != 0:
        with unless_gone(2):
            click.echo(f"rollgrid: {why_not_done(outcome)}", err=True)
    return outcome.exit_code


def _print_result(
    outcome: "SessionOutcome", *, as_json: bool, baseline: Path | None, copies: "Sequence[Copies]"
) -> None:
    emit(SIMULATED_NOTE + str(outcome.result) if is_simulated(outcome.result) else str(outcome.result))
    settled = outcome.result.about.get("settled")
    if settled:
        emit("\n" + "\n".join(settled_lines(settled, len(outcome.result.task_results))))
    facts = outcome_facts(outcome) | {"identical_outputs": [one._asdict() for one in copies]}
    if baseline is not None:
        compared = diff_results(outcome.result, load_file(baseline))
        told = compared.statistics()
        emit(f"\n{told}")
        if settled:
            emit(NOT_FIXED)
        facts["diff"] = compared.to_dict() | {"statistics": told.to_dict()}
    if as_json:
        emit_json(facts)


def outcome_facts(outcome: "SessionOutcome") -> dict[str, Any]:
    """The one object of `--json`. `summary` has exactly the keys of `EnvironmentRunResult.summary()`."""
    return {
        "run_id": outcome.run_id,
        "log": None if outcome.log is None else str(outcome.log),
        "state": outcome.state,
        "stopped_early": outcome.stopped_early,
        "exit_code": outcome.exit_code,
        "model": outcome.result.about.get("model"),
        "model_kind": outcome.result.about.get("model_kind"),
        "summary": outcome.result.summary(),
        **({"settled": settled} if (settled := outcome.result.about.get("settled")) else {}),
    }


def why_not_done(outcome: "SessionOutcome") -> str:
    """One line for a run that did not end well: what happened, and what to do."""
    result = outcome.result
    again = f"rollgrid resume {outcome.run_id} goes on."
    if outcome.state == "interrupted":
        return f"run {outcome.run_id} was interrupted with {result.n_attempts} attempts kept. {again}"
    cause = outcome.reason or next((a.error for t in result.task_results for a in t.read_attempts() if a.error), None)
    because = f": {one_line(cause)}" if cause else ""
    if result.n_scored == 0 and outcome.stopped_early != "budget":
        return f"no attempt was scored{because}. Put that right, then {again}"
    if outcome.stopped_early == "budget":
        more = f"rollgrid resume {outcome.run_id} with a larger limit goes on."
        return f"run {outcome.run_id} was stopped by its {one_line(outcome.reason or 'budget')}. {more}"
    return f"run {outcome.run_id} stopped early, {outcome.stopped_early}{because}. {again}"


class ProgressLine:
    """One line a second: redrawn in place on a terminal, a line of its own elsewhere."""

    def __init__(self) -> None:
        self._in_place = sys.stderr.isatty()
        self._drawn_at = float("-inf")
        self._last: RunProgress | None = None
        self._width = 0

    def ready(self, run_id: str) -> None:
        self.say(f"run {run_id} started; rollgrid watch {run_id} shows it from another terminal")

    def say(self, text: str) -> None:
        self._break_line()
        self._echo(f"rollgrid: {one_line(text)}")

    def __call__(self, progress: "RunProgress") -> None:
        self._last = progress
        now = time.monotonic()
        if now - self._drawn_at >= PROGRESS_SECONDS:
            self._drawn_at = now
            self._draw(progress)

    def close(self) -> None:
        """The last state is always shown."""
        if self._last is not None:
            self._draw(self._last)
        self._break_line()

    def _draw(self, progress: "RunProgress") -> None:
        text = progress_text(progress)
        if not self._in_place:
            self._echo(text)
            return
        self._echo("\r" + text.ljust(self._width), nl=False)
        self._width = len(text)

    def _break_line(self) -> None:
        if self._width:
            self._echo("")
        self._width = 0

    def _echo(self, text: str, *, nl: bool = True) -> None:
        # While the run goes on, stdout is stderr.
        with unless_gone(1, 2, whatever=True):
            click.echo(text, err=True, nl=nl)


def progress_text(progress: "RunProgress") -> str:
    minutes, seconds = divmod(int(progress.active_seconds), 60)
    fault = f"  log: {one_line(progress.log_fault)}" if progress.log_fault else ""
    holding = f"  held back: {one_line(progress.holding)}" if progress.holding else ""
    auto = f" of {progress.concurrency} (auto)" if progress.adaptive else ""
    settled = "" if progress.n_settled is None else f"{progress.n_settled} of {progress.n_tasks} tasks settled, "
    return (
        f"{progress.run_id} {progress.state}  {settled}{progress.n_ended}/{progress.n_planned} ended, "
        f"{progress.n_in_flight}{auto} in flight, passed {rate(progress.n_passed, progress.n_scored)}, "
        f"{minutes}:{seconds:02d}{holding}{fault}"
    )
