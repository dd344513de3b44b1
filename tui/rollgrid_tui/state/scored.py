"""A run as one of its later scorings sees it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rollgrid.store.rows import AttemptRow
from rollgrid.store.scorings import OWN, RescoredRow, ScoringName, as_scored, flips

__all__ = ["Scored", "after", "scoring_word"]


class Scored:
    """Puts the verdicts of a scoring in the place of the run's own."""

    def __init__(self, name: ScoringName, verdicts: Iterable[RescoredRow]) -> None:
        self.name = name
        self._verdicts = {(row.task, row.attempt, row.take): row for row in verdicts}
        self._flipped: dict[int, set[tuple[int, int]]] = {}

    @property
    def flipped(self) -> frozenset[int]:
        """Tasks with an attempt whose verdict is another one than the run's own."""
        return frozenset(task for task, takes in self._flipped.items() if takes)

    def seen(self, rows: Sequence[AttemptRow]) -> list[AttemptRow]:
        """The attempts with the scoring's verdicts."""
        scored = as_scored(rows, self._verdicts.values()) if len(rows) > 1 else self._few(rows)
        for row in rows:
            self._flipped.get(row.task, set[tuple[int, int]]()).discard((row.attempt, row.take))
        for flip in flips(rows, scored):
            row = flip.after
            self._flipped.setdefault(row.task, set()).add((row.attempt, row.take))
        return scored

    def _few(self, rows: Sequence[AttemptRow]) -> list[AttemptRow]:
        wanted = [self._verdicts.get((row.task, row.attempt, row.take)) for row in rows]
        return as_scored(rows, [verdict for verdict in wanted if verdict is not None])

    def body(self, task: int, attempt: int, take: int, body: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """A transcript with the scoring's score in it."""
        if body is None:
            return None
        verdict = self._verdicts.get((task, attempt, take))
        score = None
        if verdict is not None and verdict.passed is not None:
            score = {
                "value": verdict.value,
                "passed": verdict.passed,
                "reason": verdict.reason,
                "detail": verdict.detail,
            }
        return {**body, "score": score}


def after(names: Sequence[ScoringName], shown: int) -> int:
    """The number of the scoring to show next: the newest first, down to the run's own scores, and around."""
    numbers = sorted((name.number for name in names), reverse=True)
    if shown == OWN:
        return numbers[0] if numbers else OWN
    return next((number for number in numbers if number < shown), OWN)


def scoring_word(names: Sequence[ScoringName], shown: int) -> str:
    """Which scoring is shown, for the header; empty for a run that has only its own scores."""
    if not names:
        return ""
    total = len(names) + 1
    if shown == OWN:
        return f"own scores, {total} scorings"
    which = "latest" if shown == max(name.number for name in names) else f"number {shown}"
    return f"scored by {which} of {total}"
