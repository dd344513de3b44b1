"""The reviews of a run out of the log: with what they are about, as plain data and as a table."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rollgrid.analysis.agreement import Agreement, agreement, opinions
from rollgrid.store.rows import AttemptRow, ReviewRow, RunRow, TaskRow, standing_reviews
from rollgrid_tui.cli.common import find_run
from rollgrid_tui.cli.scorings import seen_by
from rollgrid_tui.cli.table_file import plain_cell

if TYPE_CHECKING:
    from rollgrid.store.reader import LogReader

COLUMNS = (
    "run_id",
    "task",
    "attempt",
    "take",
    "superseded",
    "scorer_passed",
    "scorer_value",
    "scorer_reason",
    "author",
    "at",
    "verdict",
    "passed",
    "label",
    "note",
    "blind",
    "stands",
)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A run with its attempts, as a scoring sees them, and every review of it."""

    row: RunRow
    tasks: Sequence[TaskRow]
    attempts: Sequence[AttemptRow]
    reviews: Sequence[ReviewRow]
    scoring: int

    def agreement(self) -> Agreement:
        return agreement(opinions(self.attempts, self.reviews))

    def facts(self, *, history: bool = False) -> list[dict[str, Any]]:
        """A dict a review, in the order of tasks and attempts; `history`: also those that do not count any more."""
        rows = {(row.task, row.attempt, row.take): row for row in self.attempts}
        standing = {row.seq for row in standing_reviews(self.reviews)}
        chosen = [row for row in self.reviews if history or row.seq in standing]
        chosen.sort(key=lambda row: (row.task, row.attempt, row.take, row.seq))
        return [
            self._one(row, rows.get((row.task, row.attempt, row.take)), stands=row.seq in standing) for row in chosen
        ]

    def _one(self, review: ReviewRow, row: AttemptRow | None, *, stands: bool) -> dict[str, Any]:
        return {
            "run_id": self.row.run_id,
            "task": self.tasks[review.task].id,
            "attempt": review.attempt,
            "take": review.take,
            "superseded": row is not None and row.superseded is not None,
            "scorer_passed": None if row is None else row.passed,
            "scorer_value": None if row is None else row.value,
            "scorer_reason": None if row is None else row.reason,
            "author": review.author,
            "at": datetime.fromtimestamp(review.at, UTC).isoformat(timespec="seconds"),
            "verdict": review.verdict,
            "passed": review.passed,
            "label": review.label,
            "note": review.note,
            "blind": review.blind,
            "stands": stands,
        }


async def reviewed_run(reader: "LogReader", run: str) -> Reviewed:
    """`run` as a person names it; RUN@SCORING holds the reviews against a later scoring."""
    name, _, scoring = run.partition("@")
    row = await find_run(reader, name)
    tasks = await reader.tasks(row.run_id)
    seen = await seen_by(reader, row, await reader.attempts(row.run_id), scoring or None)
    number = 1 if seen.chosen is None else seen.chosen.number or 1
    return Reviewed(row, tasks, seen.attempts, await reader.reviews(row.run_id), number)


def reviews_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    """UTF-8 with a header line; a missing value is empty, true and false are 1 and 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = [row[name] for name in COLUMNS]
        writer.writerow([int(value) if isinstance(value, bool) else plain_cell(value) for value in values])
    return out.getvalue().encode("utf-8", "backslashreplace")
