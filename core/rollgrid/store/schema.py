"""The format of the log: its number, its tables, and the steps that bring an older log up to it."""

import sqlite3
from collections.abc import Callable, Iterator
from importlib import resources

APPLICATION_ID = 0x726F6C67
"""Marks a SQLite file as a log of ours ("rolg")."""

VERSION = 4
"""Kept in `PRAGMA user_version`. Raise it with every change of schema.sql, and add the step that leads there."""

Step = Callable[[sqlite3.Connection], None]


def _each_task_has_its_own_k(connection: sqlite3.Connection) -> None:
    for table, column in (("run", "n_planned"), ("run", "plan_seq"), ("task", "k")):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    connection.execute(
        "UPDATE run SET n_planned = n_tasks * k, plan_seq = coalesce((SELECT max(seq) FROM event WHERE"
        " event.run_id = run.run_id AND task IS NULL AND attempt IS NULL AND kind = 'run_extended'), 0)"
    )
    connection.execute("UPDATE task SET k = (SELECT k FROM run WHERE run.run_id = task.run_id)")


def _a_task_may_be_settled(connection: sqlite3.Connection) -> None:
    """No event of an older log settles a task."""
    connection.execute("ALTER TABLE task ADD COLUMN settled TEXT")


_REVIEW = """
CREATE TABLE review (
  seq     INTEGER PRIMARY KEY,
  run_id  TEXT NOT NULL,
  task    INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  take    INTEGER NOT NULL,
  at      REAL NOT NULL,
  author  TEXT NOT NULL,
  verdict TEXT,
  passed  INTEGER,
  label   TEXT,
  note    TEXT,
  blind   INTEGER NOT NULL,
  undone  INTEGER,
  touched INTEGER NOT NULL
)
"""


def _there_are_reviews(connection: sqlite3.Connection) -> None:
    """No event of an older log is a review, so the table begins empty."""
    connection.execute(_REVIEW)
    connection.execute("CREATE INDEX review_by_change ON review (run_id, touched)")


_SCORINGS = (
    """
CREATE TABLE scoring (
  run_id            TEXT NOT NULL,
  scoring           TEXT NOT NULL,
  number            INTEGER,
  scorer            TEXT NOT NULL,
  digest            TEXT,
  env_fingerprint   TEXT,
  fingerprint_parts TEXT NOT NULL,
  expected          TEXT NOT NULL,
  source            TEXT NOT NULL,
  author            TEXT NOT NULL,
  host              TEXT NOT NULL,
  started_at        REAL NOT NULL,
  ended_at          REAL,
  started_seq       INTEGER NOT NULL,
  ended_seq         INTEGER,
  PRIMARY KEY (run_id, scoring)
) WITHOUT ROWID
""",
    """
CREATE TABLE rescored (
  run_id           TEXT NOT NULL,
  scoring          TEXT NOT NULL,
  task             INTEGER NOT NULL,
  attempt          INTEGER NOT NULL,
  take             INTEGER NOT NULL,
  passed           INTEGER,
  value            REAL,
  reason           TEXT,
  detail           TEXT,
  error            TEXT,
  error_type       TEXT,
  duration_seconds REAL NOT NULL,
  input_tokens     INTEGER NOT NULL,
  output_tokens    INTEGER NOT NULL,
  cost             REAL,
  seq              INTEGER NOT NULL,
  PRIMARY KEY (run_id, scoring, task, attempt, take)
) WITHOUT ROWID
""",
)


def _there_are_scorings(connection: sqlite3.Connection) -> None:
    """As with reviews."""
    for statement in _SCORINGS:
        connection.execute(statement)


def _reviews_and_scorings(connection: sqlite3.Connection) -> None:
    _there_are_reviews(connection)
    _there_are_scorings(connection)


STEPS: dict[int, Step] = {1: _reviews_and_scorings, 2: _each_task_has_its_own_k, 3: _a_task_may_be_settled}
"""`STEPS[n]` brings a log of format n to n + 1, inside the transaction that it is called in.

A step that changes derived tables may drop them, create them anew with `statements` and fill them with
`rollgrid.store.rebuild.refold`.
"""


def statements() -> Iterator[str]:
    """The statements of schema.sql, one at a time: `executescript` would end the caller's transaction."""
    text = resources.files("rollgrid.store").joinpath("schema.sql").read_text(encoding="utf-8")
    pending = ""
    for line in text.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
