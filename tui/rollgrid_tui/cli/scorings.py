"""Which scoring of a run a command shows, and what others there are."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rollgrid_tui.cli.common import rate, span

if TYPE_CHECKING:
    from rollgrid.store.reader import LogReader
    from rollgrid.store.rows import AttemptRow, RunRow
    from rollgrid.store.scorings import RescoredRow, ScoringRow


@dataclass(frozen=True, slots=True)
class Seen:
    """A run with its attempts, as a scoring sees them; `chosen` None: with its own scores.

    The counts of `row` are those of the scoring.
    """

    row: "RunRow"
    attempts: "Sequence[AttemptRow]"
    scorings: "Sequence[ScoringRow]" = ()
    chosen: "ScoringRow | None" = None
    verdicts: "Sequence[RescoredRow]" = field(default=())

    def facts(self) -> dict[str, Any]:
        """For programs: the number of the scoring that is shown (1: the run's own), and all there are beside it."""
        return {
            "scoring": 1 if self.chosen is None else self.chosen.number,
            "scorings": [_facts(one) for one in self.scorings],
        }

    def head(self) -> list[str]:
        """The line above everything else."""
        if self.chosen is None:
            return []
        one = self.chosen
        latest = " (the latest)" if one is self.scorings[-1] else ""
        return [f"scoring {one.number} of {len(self.scorings) + 1}{latest}, by {one.scorer}, {_whose(one)}"]

    def tail(self) -> list[str]:
        """What else there is to look at."""
        others = [one for one in self.scorings if one is not self.chosen]
        if not others:
            return []
        lines = ["", "other scorings (--scoring NUMBER, or RUN@NUMBER in other commands):"]
        if self.chosen is not None:
            lines.append("  1  the run's own scores")
        return lines + [
            f"  {one.number}  {one.scorer}, passed {rate(one.n_passed, one.n_scored)}, {one.n_unscored} unscored, "
            f"{_whose(one)}"
            for one in others
        ]

    def score_of(self, attempt: "AttemptRow", own: Any) -> Any:
        """The score beside a transcript."""
        if self.chosen is None:
            return own
        key = (attempt.task, attempt.attempt, attempt.take)
        found = next((one for one in self.verdicts if (one.task, one.attempt, one.take) == key), None)
        if found is None or found.passed is None:
            return None
        return {"value": found.value, "passed": found.passed, "reason": found.reason, "detail": found.detail}


async def seen_by(reader: "LogReader", row: "RunRow", attempts: "Sequence[AttemptRow]", scoring: str | None) -> Seen:
    """The run as `scoring` sees it, a number, `latest` or `original`; None: with its own scores."""
    from rollgrid.store.scorings import as_scored, choose

    every = await reader.scorings(row.run_id)
    ended = sorted((one for one in every if one.number is not None), key=lambda one: one.number or 0)
    chosen = None if scoring is None else choose(ended, scoring, row.run_id)
    if chosen is None:
        return Seen(row, attempts, ended)
    verdicts = await reader.rescored(row.run_id, chosen.scoring)
    scored = as_scored(attempts, verdicts)
    counted = [one for one in scored if one.superseded is None and one.passed is not None]
    row = row._replace(n_scored=len(counted), n_passed=sum(bool(one.passed) for one in counted))
    return Seen(row, scored, ended, chosen, verdicts)


def _whose(one: "ScoringRow") -> str:
    ago = "" if one.ended_at is None else f", {span(time.time() - one.ended_at)} ago"
    return f"{one.author}{ago}"


def _facts(one: "ScoringRow") -> dict[str, Any]:
    kept = (
        "number",
        "scorer",
        "digest",
        "author",
        "started_at",
        "ended_at",
        "n_scored",
        "n_passed",
        "n_unscored",
        "cost",
    )
    return {name: getattr(one, name) for name in kept}
