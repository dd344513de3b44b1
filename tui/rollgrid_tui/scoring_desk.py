"""Which scoring of the followed run is shown, and its verdicts as they are read."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rollgrid.store.rows import AttemptRow
from rollgrid.store.scorings import OWN, RescoredRow, ScoringName
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.state.scored import Scored

__all__ = ["ScoringDesk", "ScoringReader"]


class ScoringReader(Protocol):
    """What is asked of the log."""

    async def scoring_names(self, run_id: str) -> list[ScoringName]: ...
    async def rescored(self, run_id: str, scoring: str) -> list[RescoredRow]: ...


class ScoringDesk:
    """The feed's share in scorings. `shown` is a number, `OWN` for the run's own scores; `names` are those known."""

    def __init__(self) -> None:
        self.names: Sequence[ScoringName] = ()
        self.shown = OWN
        self._scored: Scored | None = None

    def show(self, number: int, *, same_run: bool) -> None:
        """From now on show this scoring, of a run that may be another one."""
        self.shown, self._scored = number, None
        if not same_run:
            self.names = ()

    async def look(self, reader: ScoringReader, run_id: str) -> bool:
        """Which scorings there are; True when that has changed."""
        names = await reader.scoring_names(run_id)
        changed, self.names = names != self.names, names
        return changed

    async def seen(
        self, reader: ScoringReader, run_id: str, rows: Sequence[AttemptRow], view: RunView
    ) -> Sequence[AttemptRow]:
        """The attempts with the verdicts that are shown; `view` learns which of them flipped."""
        number = self.shown
        if number == OWN:
            return rows
        if self._scored is None:
            name = next((name for name in await reader.scoring_names(run_id) if name.number == number), None)
            verdicts = [] if name is None else await reader.rescored(run_id, name.scoring)
            if self.shown != number or name is None:
                return rows
            self._scored = Scored(name, verdicts)
        scored = self._scored.seen(rows)
        view.flipped = self._scored.flipped
        return scored

    def body(self, task: int, attempt: int, take: int, body: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """A transcript with the score that is shown."""
        if self._scored is not None:
            return self._scored.body(task, attempt, take, body)
        return None if body is None else dict(body)
