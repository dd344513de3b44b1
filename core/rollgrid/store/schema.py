"""The format of the log: its number, its tables, and the steps that bring an older log up to it."""

import sqlite3
from collections.abc import Callable, Iterator
from importlib import resources

APPLICATION_ID = 0x726F6C67
"""Marks a SQLite file as a log of ours ("rolg")."""

VERSION = 1
"""Kept in `PRAGMA user_version`. Raise it with every change of schema.sql, and add the step that leads there."""

Step = Callable[[sqlite3.Connection], None]

STEPS: dict[int, Step] = {}
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
