"""Runs one untrusted query in a child process, from an event loop, without ever blocking it."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import weakref
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from rollgrid.scorer import sql_program

_WALL_FACTOR = 10
_WALL_FLOOR = 60.0


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What one query may use. Part of the scorer's digest.

    `seconds` is CPU time, so that a busy machine does not turn a right answer into a wrong one. `max_bytes` bounds the
    query's text, one value, and the whole result. `memory_bytes` is for the whole process, Python included.
    """

    seconds: float = 2.0
    max_rows: int = 10_000
    max_bytes: int = 1_000_000
    memory_bytes: int = 512 << 20

    def __post_init__(self) -> None:
        if not self.seconds > 0 or self.max_rows < 0 or self.max_bytes < 1 or self.memory_bytes < 64 << 20:
            raise ValueError(f"limits of a query must be positive, memory at least 64 MB: {self}")


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Either `rows`, or `problem`: why the query counts as wrong, in one line."""

    rows: list[list[Any]] | None
    problem: str | None = None


class SqlFixtureError(Exception):
    """The fixture cannot be built; no query is at fault."""


# As many children at a time as there are cores: more would only make each slower and the memory add up.
_slots: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = weakref.WeakKeyDictionary()


async def run_query(setup: str, sql: str, limits: SqlLimits) -> QueryResult:
    """Build the fixture, run the query, return its rows. The child is gone when this returns or is cancelled.

    Raises `SqlFixtureError` when the setup script fails.
    """
    loop = asyncio.get_running_loop()
    slot = _slots.setdefault(loop, asyncio.Semaphore(max(1, os.cpu_count() or 1)))
    request = json.dumps({"setup": setup, "sql": sql, "limits": asdict(limits)}).encode("ascii")
    async with slot:
        process = await asyncio.create_subprocess_exec(
            *child_command(), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, start_new_session=True
        )
        try:
            async with asyncio.timeout(max(_WALL_FLOOR, _WALL_FACTOR * limits.seconds)):
                said, _ = await process.communicate(request)
        except TimeoutError:
            return QueryResult(None, "the query was stopped: its process did not end")
        finally:
            await _end(process)
    return _read(said, process.returncode, limits)


def child_command() -> list[str]:
    """Isolated, without site-packages: nothing but the standard library can be loaded there."""
    return [sys.executable, "-I", "-S", str(Path(sql_program.__file__))]


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):  # it ended in this moment
        process.kill()
    await asyncio.shield(process.wait())


def _read(said: bytes, code: int | None, limits: SqlLimits) -> QueryResult:
    if code == -signal.SIGXCPU or code == -signal.SIGKILL:
        return QueryResult(None, f"the query was stopped after {limits.seconds:g} s of CPU time")
    if code != 0:
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return QueryResult(None, f"the query crashed SQLite or ran out of memory ({how})")
    answer = cast("dict[str, Any]", json.loads(said))
    if "setup_error" in answer:
        raise SqlFixtureError(f"the setup script failed: {answer['setup_error']}")
    if "problem" in answer:
        return QueryResult(None, str(answer["problem"]))
    return QueryResult([[_cell(cell) for cell in row] for row in answer["rows"]])


def _cell(cell: Any) -> Any:
    return bytes.fromhex(cast("dict[str, str]", cell)["hex"]) if isinstance(cell, dict) else cell
