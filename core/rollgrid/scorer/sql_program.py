"""The program that runs one untrusted query: a process of its own, on a private database in memory.

Started by `sql_process` as a plain file with the standard library only. Input: one JSON object on stdin with `setup`,
`sql` and `limits`. Output: one JSON object on stdout with either `rows` (blobs as {"hex": ...}), `problem` (why the
query counts as wrong) or `setup_error` (the fixture is at fault, not the query).

What stops a query: an authorizer that allows reading and nothing else; SQLite's own limits on lengths and complexity; a
progress handler that watches CPU time; limits on rows and bytes of the result; and, for what happens inside one SQLite
function where no handler is called, the process's limits on CPU time, memory and file size.
"""

import json
import math
import re
import resource
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import Any

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_DENIED_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"}
_NAMES: dict[int, str] = {
    getattr(sqlite3, name): name.removeprefix("SQLITE_").replace("_", " ")
    for name in dir(sqlite3)
    if re.match(r"SQLITE_(INSERT|UPDATE|DELETE|PRAGMA|ATTACH|DETACH|TRANSACTION|SAVEPOINT|ANALYZE|REINDEX)$", name)
    or re.match(r"SQLITE_(CREATE|DROP|ALTER)_", name)
}
_LEADING = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_HANDLER_EVERY = 2000
"""SQLite instructions between two looks at the clock: some 50 microseconds of plain work."""


class Refused(Exception):
    """The query counts as wrong, for the reason given."""


def run_query(setup: str, sql: str, limits: dict[str, Any]) -> dict[str, Any]:
    """What this program prints, for one fixture and one query. Never raises for anything a query can do."""
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    try:
        try:
            connection.executescript(setup)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return {"setup_error": f"{type(error).__name__}: {error}"}
        try:
            return {"rows": _rows(connection, sql, limits)}
        except Refused as refusal:
            return {"problem": str(refusal)}
        except MemoryError:
            return {"problem": f"the query used more than {limits['memory_bytes'] >> 20} MB of memory"}
    finally:
        connection.close()


def _rows(connection: sqlite3.Connection, sql: str, limits: dict[str, Any]) -> list[list[Any]]:
    _check_form(sql)
    denied: list[str] = []
    _guard(connection, limits, denied)
    seconds = float(limits["seconds"])
    end = time.process_time() + seconds
    connection.set_progress_handler(lambda: time.process_time() >= end, _HANDLER_EVERY)
    try:
        return _fetch(connection.execute(sql), int(limits["max_rows"]), int(limits["max_bytes"]))
    except sqlite3.Error as error:
        if time.process_time() >= end and "interrupted" in str(error):
            raise Refused(f"the query was stopped after {seconds:g} s of CPU time") from error
        if denied:
            raise Refused(f"a query may only read: it tried {denied[0]}") from error
        raise Refused(f"SQLite rejected the query: {error}") from error
    except (sqlite3.Warning, ValueError, OverflowError) as error:
        # Several statements in one string, a NUL, text that UTF-8 cannot hold.
        raise Refused(f"SQLite rejected the query: {error}") from error


def _check_form(sql: str) -> None:
    found = _LEADING.match(sql)
    rest = sql[found.end() if found else 0 :]
    if not re.match(r"(?:select|with)\b", rest, re.IGNORECASE):
        raise Refused("the query must start with SELECT or WITH")


def _guard(connection: sqlite3.Connection, limits: dict[str, Any], denied: list[str]) -> None:
    """From here on the connection can only read, and only within the limits."""
    connection.execute("PRAGMA query_only = ON")
    # What a query sorts or materialises stays in memory, where the process's limit catches it, and off the disk.
    connection.execute("PRAGMA temp_store = MEMORY")
    for what, limit in (
        (sqlite3.SQLITE_LIMIT_LENGTH, int(limits["max_bytes"])),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, int(limits["max_bytes"])),
        (sqlite3.SQLITE_LIMIT_COLUMN, 200),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 200),
        (sqlite3.SQLITE_LIMIT_VDBE_OP, 500_000),
        (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 64),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.setlimit(what, limit)

    def authorize(action: int, first: str | None, second: str | None, _db: str | None, _trigger: str | None) -> int:
        allowed = action in _READS
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _DENIED_FUNCTIONS:
            allowed = False
        if allowed:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            denied.append(f"the function {second}")
        else:
            denied.append(f"{_NAMES.get(action, 'something else')}{f' ({first})' if first else ''}")
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)


def _fetch(cursor: sqlite3.Cursor, max_rows: int, max_bytes: int) -> list[list[Any]]:
    rows: list[list[Any]] = []
    size = 0
    for row in cursor:
        if len(rows) >= max_rows:
            raise Refused(f"the query returned more than {max_rows} rows")
        size += sum(len(cell) if isinstance(cell, (str, bytes)) else 8 for cell in row) + 8
        if size > max_bytes:
            raise Refused(f"the query returned more than {max_bytes} bytes")
        rows.append([{"hex": cell.hex()} if isinstance(cell, bytes) else cell for cell in row])
    return rows


def limit_process(limits: dict[str, Any]) -> None:
    """The system's limits on this process. Where one is not to be had (memory on macOS), the others still hold."""
    cpu = math.ceil(float(limits["seconds"])) + 2
    for what, limit in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, int(limits["memory_bytes"])),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (limit, limit))
        except (ValueError, OSError):
            continue


def main() -> None:
    request: dict[str, Any] = json.load(sys.stdin)
    limits: dict[str, Any] = request["limits"]
    limit_process(limits)
    answer = run_query(request["setup"], request["sql"], limits)
    write: Callable[[str], Any] = sys.stdout.write
    write(json.dumps(answer))


if __name__ == "__main__":
    main()
