"""The fold of scorings: which rows of `scoring` and `rescored` an event makes. Pure, a part of `projection.fold`.

A scoring is what a scorer, usually a changed one, says of transcripts that the log holds. It counts once it has ended;
then it has a number, 2 for the first one of a run, whose own scores are number 1. Of one attempt the first verdict
holds, except that an attempt without a score may get one as long as the scoring has not ended. No row of `run` or
`attempt` is touched: what the run itself scored stays what it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rollgrid.store.codec import to_text
from rollgrid.store.entry import Entry

SCORING_KINDS = frozenset({"scoring_started", "attempt_rescored", "scoring_ended"})

_SCORING = (
    "run_id",
    "scoring",
    "scorer",
    "digest",
    "env_fingerprint",
    "fingerprint_parts",
    "expected",
    "source",
    "author",
    "host",
    "started_at",
    "started_seq",
)
_RESCORED = (
    "run_id",
    "scoring",
    "task",
    "attempt",
    "take",
    "passed",
    "value",
    "reason",
    "detail",
    "error",
    "error_type",
    "duration_seconds",
    "input_tokens",
    "output_tokens",
    "cost",
    "seq",
)

PUT_SCORING = f"INSERT OR IGNORE INTO scoring ({', '.join(_SCORING)}) VALUES ({', '.join('?' * len(_SCORING))})"

PUT_RESCORED = f"""
INSERT INTO rescored ({", ".join(_RESCORED)})
SELECT {", ".join("?" * len(_RESCORED))}
WHERE EXISTS (SELECT 1 FROM scoring WHERE run_id = ? AND scoring = ? AND ended_seq IS NULL)
ON CONFLICT DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _RESCORED[5:])}
WHERE rescored.passed IS NULL
"""

END_SCORING = """
UPDATE scoring SET ended_at = ?, ended_seq = ?,
  number = (SELECT coalesce(max(number), 1) + 1 FROM scoring WHERE run_id = ?)
WHERE run_id = ? AND scoring = ? AND ended_seq IS NULL
"""


@dataclass(slots=True)
class ScoringChanges:
    """Rows of `PUT_SCORING`, `PUT_RESCORED` and `END_SCORING`, to be written in this order."""

    started: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    verdicts: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    ended: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    _over: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def writes(self) -> list[tuple[str, list[tuple[Any, ...]]]]:
        return [(PUT_SCORING, self.started), (PUT_RESCORED, self.verdicts), (END_SCORING, self.ended)]

    def fold(self, entry: Entry) -> None:
        """Take in one event of `SCORING_KINDS`, of a run that the log has."""
        data, run_id = entry.data, entry.run_id
        scoring: str = data["scoring"]
        if entry.kind == "scoring_started":
            self.started.append(_scoring_row(entry))
        elif (run_id, scoring) in self._over:
            return  # what comes after the end within one batch would be written before it
        elif entry.kind == "attempt_rescored":
            self.verdicts.append((*_rescored_row(entry), run_id, scoring))
        else:
            self._over.add((run_id, scoring))
            self.ended.append((entry.at, entry.seq, run_id, run_id, scoring))


def _scoring_row(entry: Entry) -> tuple[Any, ...]:
    data: Mapping[str, Any] = entry.data
    return (
        entry.run_id,
        data["scoring"],
        data["scorer"],
        data["digest"],
        data["env_fingerprint"],
        to_text(data["fingerprint_parts"]),
        to_text(data["expected"]),
        to_text(data["source"]),
        data["author"],
        data["host"],
        entry.at,
        entry.seq,
    )


def _rescored_row(entry: Entry) -> tuple[Any, ...]:
    data = entry.data
    passed, detail = data["passed"], data["detail"]
    return (
        entry.run_id,
        data["scoring"],
        data["task"],
        data["attempt"],
        data["take"],
        None if passed is None else int(passed),
        data["value"],
        data["reason"],
        None if detail is None else to_text(detail),
        data["error"],
        data["error_type"],
        data["duration_seconds"],
        data["scorer_input_tokens"],
        data["scorer_output_tokens"],
        data["scorer_cost"],
        entry.seq,
    )
