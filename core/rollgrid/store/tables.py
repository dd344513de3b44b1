"""The SQL that loads and stores what `projection.fold` works on. One text for the writer and for `rebuild`."""

from collections.abc import Iterable
from typing import Any

import orjson

from rollgrid.store.projection import Changes
from rollgrid.store.states import (
    ATTEMPT_COLUMNS,
    REVIEW_COLUMNS,
    RUN_COLUMNS,
    Key,
    attempt_values,
    review_values,
    run_values,
)


def _insert(table: str, columns: Iterable[str], verb: str = "INSERT") -> str:
    names = tuple(columns)
    return f"{verb} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


LAST_SEQ = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)"

LOAD_RUNS = f"SELECT {', '.join(RUN_COLUMNS)} FROM run WHERE run_id IN (SELECT value FROM json_each(?))"

LOAD_ATTEMPTS = f"""
SELECT {", ".join("a." + name for name in ATTEMPT_COLUMNS)}
FROM json_each(?) AS wanted CROSS JOIN attempt AS a
ON a.run_id = json_extract(wanted.value, '$[0]') AND a.task = json_extract(wanted.value, '$[1]')
AND a.attempt = json_extract(wanted.value, '$[2]') AND a.take = json_extract(wanted.value, '$[3]')
"""

LOAD_REVIEWS = f"SELECT {', '.join(REVIEW_COLUMNS)} FROM review WHERE seq IN (SELECT value FROM json_each(?))"

INSERT_EVENT = _insert("event", ("seq", "run_id", "at", "kind", "task", "attempt", "take", "data"))
INSERT_BODY = _insert("body", ("seq", "data"))
INSERT_TASK_BODY = _insert("task_body", ("seq", "task", "data"))

PUT_RUN = _insert("run", RUN_COLUMNS, "REPLACE")
PUT_ATTEMPT = _insert("attempt", ATTEMPT_COLUMNS, "REPLACE")
PUT_REVIEW = _insert("review", REVIEW_COLUMNS, "REPLACE")
PUT_TASK = _insert("task", ("run_id", "task", "id", "metadata", "k"), "REPLACE")
PUT_TARGET = "UPDATE task SET k = max(k * ?, ?) WHERE run_id = ? AND task = ?"
PUT_CLAIM = "UPDATE task SET settled = ? WHERE run_id = ? AND task = ?"
ANSWER_COMMAND = "UPDATE command SET accepted = ?, answer = ? WHERE command_id = ? AND run_id = ?"

DROP_LIVE = "DELETE FROM live WHERE run_id = ? AND task = ? AND attempt = ? AND take = ?"

# A snapshot that arrives after its attempt has ended would never be taken away again.
PUT_LIVE = """
REPLACE INTO live (run_id, task, attempt, take, data)
SELECT run_id, task, attempt, take, ? FROM attempt
WHERE run_id = ? AND task = ? AND attempt = ? AND take = ? AND ended_seq IS NULL AND superseded IS NULL
"""


def keys_argument(keys: Iterable[Any]) -> str:
    """The parameter of `LOAD_RUNS` (run ids), `LOAD_ATTEMPTS` (keys) and `LOAD_REVIEWS` (sequence numbers)."""
    return orjson.dumps(list(keys)).decode()


def writes(changes: Changes) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Statements with their rows, for `executemany`, in the order to run them in."""
    over: list[Key] = changes.over
    every: list[tuple[str, list[tuple[Any, ...]]]] = [
        (PUT_RUN, [run_values(run) for run in changes.runs]),
        (PUT_TASK, [*changes.tasks]),
        (PUT_TARGET, [*changes.targets]),
        (PUT_CLAIM, [*changes.claims]),
        (PUT_ATTEMPT, [attempt_values(attempt) for attempt in changes.attempts]),
        (PUT_REVIEW, [review_values(review) for review in changes.reviews]),
        (ANSWER_COMMAND, [*changes.answers]),
        (DROP_LIVE, [*over]),
        *changes.scorings.writes(),
    ]
    return [(statement, rows) for statement, rows in every if rows]
