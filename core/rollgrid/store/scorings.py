"""The scorings of a run as readers get them, and a run's attempts as a scoring sees them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rollgrid.errors import RunError
from rollgrid.store.codec import from_text
from rollgrid.store.rows import AttemptRow

ORIGINAL = "original"
LATEST = "latest"
OWN = 1
"""The number of the run's own scores."""

NOT_SCORED = "not in this scoring, which is older than the attempt"


class ScoringRow(NamedTuple):
    """One scoring. `number` and `ended_at` are None while it has not ended; such a one counts for nothing.

    `digest` is that of its scorer, None where that has none; `env_fingerprint` and `fingerprint_parts` are those of the
    run's environment with this scorer in the place of its own. `expected` holds the expected values by task id that
    are not the run's. The counts are of takes that count now; tokens and cost (US dollars) are what a judge took.
    """

    run_id: str
    scoring: str
    number: int | None
    scorer: str
    digest: str | None
    env_fingerprint: str | None
    fingerprint_parts: dict[str, str]
    expected: dict[str, Any]
    source: dict[str, Any]
    author: str
    started_at: float
    ended_at: float | None
    n_scored: int
    n_passed: int
    n_unscored: int
    input_tokens: int
    output_tokens: int
    cost: float | None


class RescoredRow(NamedTuple):
    """What a scoring says of one take. Unscored, with an `error`, where `passed` is None."""

    task: int
    attempt: int
    take: int
    passed: bool | None
    value: float | None
    reason: str | None
    detail: dict[str, Any] | None
    error: str | None
    error_type: str | None
    duration_seconds: float
    seq: int


class ScoringName(NamedTuple):
    """A scoring that has ended, without its counts: cheap to ask for."""

    number: int
    scoring: str
    scorer: str
    author: str
    ended_at: float


SELECT_NAMES = f"""
SELECT {", ".join(ScoringName._fields)} FROM scoring WHERE run_id = ? AND number IS NOT NULL ORDER BY number
"""

SELECT_SCORINGS = """
SELECT s.run_id, s.scoring, s.number, s.scorer, s.digest, s.env_fingerprint, s.fingerprint_parts, s.expected, s.source,
  s.author, s.started_at, s.ended_at,
  count(CASE WHEN a.superseded IS NULL THEN r.passed END),
  coalesce(sum(CASE WHEN a.superseded IS NULL THEN r.passed END), 0),
  coalesce(sum(r.seq IS NOT NULL AND a.superseded IS NULL AND r.passed IS NULL), 0),
  coalesce(sum(r.input_tokens), 0), coalesce(sum(r.output_tokens), 0), sum(r.cost)
FROM scoring AS s LEFT JOIN rescored AS r ON r.run_id = s.run_id AND r.scoring = s.scoring
LEFT JOIN attempt AS a
  ON a.run_id = r.run_id AND a.task = r.task AND a.attempt = r.attempt AND a.take = r.take
WHERE s.run_id = ? GROUP BY s.run_id, s.scoring ORDER BY s.started_seq
"""

SELECT_RESCORED = f"SELECT {', '.join(RescoredRow._fields)} FROM rescored WHERE run_id = ? AND scoring = ?"


def scoring_row(row: Sequence[Any]) -> ScoringRow:
    return ScoringRow._make([*row[:6], *map(from_text, row[6:9]), *row[9:]])


def rescored_row(row: Sequence[Any]) -> RescoredRow:
    found = RescoredRow._make(row)
    return found._replace(
        passed=None if found.passed is None else bool(found.passed),
        detail=None if row[6] is None else from_text(row[6]),
    )


def choose(scorings: Iterable[ScoringRow], text: str, run_id: str) -> ScoringRow | None:
    """The scoring that a person means: its number, `latest`, or `original` (also 1, and `latest` where there is no
    other) for the run's own scores, which is None here. Raises `RunError` for anything else.
    """
    ended = {row.number: row for row in scorings if row.number is not None}
    wanted = text.strip().lower()
    if wanted == LATEST:
        return ended[max(ended)] if ended else None
    if wanted in (ORIGINAL, str(OWN)):
        return None
    found = ended.get(int(wanted)) if wanted.isascii() and wanted.isdecimal() else None
    if found is None:
        there = ", ".join([f"{OWN} (its own)", *(str(number) for number in sorted(ended))])
        raise RunError(f"run {run_id} has no scoring {text!r}", f"it has {there}; `rollgrid rescore` makes one")
    return found


def as_scored(attempts: Iterable[AttemptRow], verdicts: Iterable[RescoredRow]) -> list[AttemptRow]:
    """The attempts with a scoring's verdicts in the place of their own.

    A take whose agent did not come to its end stays what it was. One that was scored by the run and is not in the
    scoring (it ended later) is unscored here, and says so.
    """
    known = {(row.task, row.attempt, row.take): row for row in verdicts}
    return [_as_scored(row, known.get((row.task, row.attempt, row.take))) for row in attempts]


def _as_scored(row: AttemptRow, verdict: RescoredRow | None) -> AttemptRow:
    if verdict is None:
        if row.passed is None:
            return row
        return row._replace(passed=None, value=None, reason=None, error=NOT_SCORED, error_type="NotScored")
    return row._replace(
        stop_reason="completed",
        passed=verdict.passed,
        value=verdict.value,
        reason=verdict.reason,
        error=verdict.error,
        error_type=verdict.error_type,
        error_signature=None,
        status=None,
    )


class Flip(NamedTuple):
    """An attempt whose verdict is another one. `kind` is like `pass->fail`; `unscored` stands for no score."""

    before: AttemptRow
    after: AttemptRow

    @property
    def kind(self) -> str:
        return f"{verdict_of(self.before)}->{verdict_of(self.after)}"


def verdict_of(row: AttemptRow) -> str:
    """`pass`, `fail` or `unscored`."""
    return "unscored" if row.passed is None else "pass" if row.passed else "fail"


def flips(before: Iterable[AttemptRow], after: Iterable[AttemptRow]) -> list[Flip]:
    """Takes that count, in the order of `before`, whose verdicts differ."""
    then = {(row.task, row.attempt, row.take): row for row in after}
    pairs = [(row, then.get((row.task, row.attempt, row.take))) for row in before if row.superseded is None]
    return [Flip(old, new) for old, new in pairs if new is not None and verdict_of(old) != verdict_of(new)]
