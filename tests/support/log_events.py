"""Events of a small run, and looks at what became of them in the log."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from rollgrid.store.events import (
    AttemptEnded,
    AttemptPhase,
    AttemptRetrying,
    AttemptStarted,
    AttemptSuperseded,
    Reviewed,
    ReviewUndone,
    RunCreated,
    SessionStarted,
    TaskInfo,
)

RUN = "bcd234"


def created(run_id: str = RUN, *, at: float = 100.0, n_tasks: int = 2, k: int = 2, **fields: Any) -> RunCreated:
    return RunCreated(
        **{
            "run_id": run_id,
            "at": at,
            "env_name": "arithmetic",
            "env_fingerprint": "env-1",
            "policy_fingerprint": "policy-1",
            "fingerprint_parts": {"tasks": "aa", "scorer": "bb"},
            "k": k,
            "tasks": tuple(
                TaskInfo(id=f"t{n}", input=f"question {n}", expected={"answer": n}, metadata={"split": "test"})
                for n in range(1, n_tasks + 1)
            ),
            "model": "gpt-test",
            "timeout_seconds": 30.0,
            "source": {"ref": "env.py", "cwd": "."},
            "author": "ann",
            "host": "box",
            **fields,
        }
    )


def session(run_id: str = RUN, *, at: float = 101.0, number: int = 1) -> SessionStarted:
    return SessionStarted(
        run_id=run_id, at=at, session=number, pid=4242, host="box", boot_id="boot", author="ann", concurrency=4
    )


def started(task: int = 0, attempt: int = 1, take: int = 1, *, run_id: str = RUN, at: float = 110.0) -> AttemptStarted:
    return AttemptStarted(run_id=run_id, at=at, task=task, attempt=attempt, take=take)


def phase(name: str, task: int = 0, attempt: int = 1, take: int = 1, *, detail: str | None = None) -> AttemptPhase:
    return AttemptPhase(run_id=RUN, at=111.0, task=task, attempt=attempt, take=take, phase=name, detail=detail)


def retrying(task: int = 0, attempt: int = 1, take: int = 1, **fields: Any) -> AttemptRetrying:
    return AttemptRetrying(
        **{
            "run_id": RUN,
            "at": 112.0,
            "task": task,
            "attempt": attempt,
            "take": take,
            "n": 1,
            "limit": 3,
            "wait_seconds": 2.5,
            "reason": "rate limited",
            "status": 429,
            **fields,
        }
    )


def ended(task: int = 0, attempt: int = 1, take: int = 1, *, passed: bool | None = True, **fields: Any) -> AttemptEnded:
    """A take that completed; unscored with `passed=None`. 10 tokens in, 5 out, half a dollar."""
    return AttemptEnded(
        **{
            "run_id": RUN,
            "at": 120.0,
            "task": task,
            "attempt": attempt,
            "take": take,
            "stop_reason": "completed",
            "passed": passed,
            "value": None if passed is None else float(passed),
            "reason": None if passed is None else "as expected",
            "duration_seconds": 1.5,
            "input_tokens": 10,
            "output_tokens": 5,
            "cost": 0.5,
            **fields,
        }
    )


def superseded(
    task: int = 0, attempt: int = 1, take: int = 1, *, why: str = "retry", run_id: str = RUN
) -> AttemptSuperseded:
    return AttemptSuperseded(run_id=run_id, at=130.0, task=task, attempt=attempt, take=take, why=why)


def reviewed(task: int = 0, attempt: int = 1, take: int = 1, **fields: Any) -> Reviewed:
    """Bea agrees with the verdict of a take that passed."""
    return Reviewed(
        **{
            "run_id": RUN,
            "at": 140.0,
            "task": task,
            "attempt": attempt,
            "take": take,
            "verdict": "agree",
            "passed": True,
            "author": "bea",
            **fields,
        }
    )


def review_undone(review: int, task: int = 0, attempt: int = 1, take: int = 1, **fields: Any) -> ReviewUndone:
    return ReviewUndone(
        **{
            "run_id": RUN,
            "at": 150.0,
            "task": task,
            "attempt": attempt,
            "take": take,
            "review": review,
            "author": "bea",
            **fields,
        }
    )


def query(path: Path, statement: str, *arguments: Any) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement, arguments).fetchall()


def derived_rows(path: Path) -> dict[str, list[Any]]:
    """Everything that is the fold of the events."""
    return {
        "run": query(path, "SELECT * FROM run ORDER BY run_id"),
        "task": query(path, "SELECT * FROM task ORDER BY run_id, task"),
        "attempt": query(path, "SELECT * FROM attempt ORDER BY run_id, task, attempt, take"),
        "scoring": query(path, "SELECT * FROM scoring ORDER BY run_id, scoring"),
        "rescored": query(path, "SELECT * FROM rescored ORDER BY run_id, scoring, task, attempt, take"),
        "review": query(path, "SELECT * FROM review ORDER BY seq"),
        "command": query(path, "SELECT command_id, accepted, answer FROM command ORDER BY command_id"),
    }


def set_back(path: Path, version: int) -> None:
    """Make a log of the present format one of an older format, which it then is migrated from."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE task DROP COLUMN settled")
        for table, column in (("run", "n_planned"), ("run", "plan_seq"), ("task", "k")):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        if version < 2:
            for table in ("review", "scoring", "rescored"):
                connection.execute(f"DROP TABLE {table}")
        connection.execute(f"PRAGMA user_version = {version}")
