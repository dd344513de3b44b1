"""All runs of one environment, with what each of their tasks came to."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import aiosqlite

from rollgrid.errors import RunError
from rollgrid.store.codec import from_text
from rollgrid.store.connection import short_read
from rollgrid.store.opening import prepare_log

__all__ = ["PastRow", "TaskCounts", "env_name_of", "read_past"]


class TaskCounts(NamedTuple):
    """Of one task in one run: attempts that have ended and count, those with a score, those that passed."""

    task: str
    ended: int
    scored: int
    passed: int


class PastRow(NamedTuple):
    """A run. `scoring` is the number of the scoring that the counts are of, 1 for the run's own scores."""

    run_id: str
    env_name: str
    env_fingerprint: str | None
    policy_fingerprint: str | None
    fingerprint_parts: dict[str, str]
    model: str
    model_kind: str
    k: int
    state: str
    stopped_early: str | None
    created_at: float
    scoring: int
    counts: tuple[TaskCounts, ...]


_RUNS = """
SELECT run_id, env_name, env_fingerprint, policy_fingerprint, fingerprint_parts, model, model_kind, k, state,
  stopped_early, created_at
FROM run WHERE env_name = ? ORDER BY created_seq DESC LIMIT ?
"""

_COUNTS = """
SELECT task.id, count(*), count(attempt.passed), coalesce(sum(attempt.passed), 0)
FROM attempt JOIN task ON task.run_id = attempt.run_id AND task.task = attempt.task
WHERE attempt.run_id = ? AND attempt.superseded IS NULL AND attempt.ended_seq IS NOT NULL
GROUP BY attempt.task ORDER BY attempt.task
"""

_LATEST = """
SELECT scoring, number, env_fingerprint, fingerprint_parts FROM scoring
WHERE run_id = ? AND number IS NOT NULL ORDER BY number DESC LIMIT 1
"""

_RESCORED = """
SELECT task.id, count(*), count(rescored.passed), coalesce(sum(rescored.passed), 0)
FROM attempt JOIN task ON task.run_id = attempt.run_id AND task.task = attempt.task
LEFT JOIN rescored ON rescored.run_id = attempt.run_id AND rescored.scoring = ? AND rescored.task = attempt.task
  AND rescored.attempt = attempt.attempt AND rescored.take = attempt.take
WHERE attempt.run_id = ? AND attempt.superseded IS NULL AND attempt.ended_seq IS NOT NULL
GROUP BY attempt.task ORDER BY attempt.task
"""


async def read_past(path: Path | str, env_name: str, *, limit: int = 50, rescored: bool = False) -> list[PastRow]:
    """The newest runs of the environment with this name, oldest first, one snapshot of the log.

    `rescored`: each with the scores of its latest scoring, where it has one.
    """
    path = await asyncio.to_thread(prepare_log, path, create=False)
    async with short_read(path) as connection:
        await connection.execute("BEGIN")
        rows = list(await connection.execute_fetchall(_RUNS, (env_name, limit)))
        return [await _past(connection, tuple(row), rescored) for row in reversed(rows)]


async def env_name_of(path: Path | str, text: str) -> str:
    """The name that a person means: an environment's name, or where its file is (`path.py`, `path.py:name`).

    No file is imported for it: runs say where their environment came from. Raises `RunError` with the names there are.
    """
    path = await asyncio.to_thread(prepare_log, path, create=False)
    async with short_read(path) as connection:
        rows = list(
            await connection.execute_fetchall(
                "SELECT env_name, source FROM run GROUP BY env_name, source ORDER BY max(created_seq) DESC"
            )
        )
    names = list(dict.fromkeys(str(row[0]) for row in rows))
    if text in names:
        return text
    for name, source in rows:
        if _is_meant(text, from_text(source)):
            return str(name)
    if not names:
        raise RunError(f"the log {path} has no run yet", hint="`rollgrid run ENV` makes one")
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise RunError(f"no run of an environment {text!r} is in {path}", hint=f"there are runs of {shown}")


def _is_meant(text: str, source: dict[str, Any]) -> bool:
    ref, cwd = source.get("ref"), source.get("cwd")
    if not isinstance(ref, str) or not isinstance(cwd, str):
        return False
    file, _, name = ref.rpartition(":")
    wanted, _, wanted_name = text.partition(":") if text.endswith(".py") or ".py:" in text else (text, "", "")
    if wanted_name and wanted_name != name:
        return False
    if not file.endswith(".py"):
        return text in (ref, file)
    return _place(Path(wanted)) == _place(Path(cwd) / file)


def _place(path: Path) -> Path:
    """Folders stand for the `env.py` in them."""
    path = path.absolute()
    return (path / "env.py" if path.suffix != ".py" else path).resolve()


async def _past(connection: aiosqlite.Connection, row: Sequence[Any], rescored: bool) -> PastRow:
    run_id, name, print_, policy, parts, *rest = row
    number, statement, arguments = 1, _COUNTS, (run_id,)
    if rescored:
        for scoring, latest, of_scoring, its_parts in await connection.execute_fetchall(_LATEST, (run_id,)):
            number, print_, parts = int(latest), of_scoring, its_parts
            statement, arguments = _RESCORED, (scoring, run_id)
    counts = tuple(TaskCounts._make(one) for one in await connection.execute_fetchall(statement, arguments))
    return PastRow._make((run_id, name, print_, policy, from_text(parts), *rest, number, counts))
