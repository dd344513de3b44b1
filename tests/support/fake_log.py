"""Rows of a log that never was, and a reader over them, for tests of whatever shows a log."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from rollgrid.errors import RunError
from rollgrid.store.overview import Overview
from rollgrid.store.rows import AttemptRow, CommandRow, ReviewRow, RunRow, TaskRow
from rollgrid.store.scorings import RescoredRow, ScoringName

NOW = 1_700_000_000.0
"""When everything in these rows happens."""


def run_row(run_id: str = "r4k9tz", **changes: Any) -> RunRow:
    row = RunRow(
        run_id=run_id,
        env_name="quickstart",
        env_fingerprint="v1:aa",
        policy_fingerprint="bb",
        fingerprint_parts={},
        k=USUAL_K,
        n_tasks=3,
        n_planned=0,
        plan_seq=0,
        model="gpt-5.4-mini",
        model_kind="real",
        timeout_seconds=120.0,
        source={"ref": "env.py"},
        author="ada",
        host="box",
        state="running",
        stopped_early=None,
        reason=None,
        created_at=NOW - 100,
        started_at=NOW - 90,
        ended_at=None,
        active_seconds=0.0,
        session=1,
        concurrency=4,
        storm=None,
        n_started=0,
        n_ended=0,
        n_scored=0,
        n_passed=0,
        n_errors=0,
        n_superseded=0,
        n_retries=0,
        input_tokens=0,
        output_tokens=0,
        cost=None,
        alive=True,
        pid=4242,
        seq=1,
    )
    row = row._replace(**changes)
    return row if "n_planned" in changes else row._replace(n_planned=row.n_tasks * row.k)


USUAL_K = 4
"""Of the runs and tasks here, when nothing else is said."""


def task_row(index: int, id: str | None = None, k: int = USUAL_K, **metadata: Any) -> TaskRow:
    return TaskRow(index, f"task-{index + 1}" if id is None else id, metadata, k)


def attempt_row(task: int, attempt: int, outcome: str = "pass", **changes: Any) -> AttemptRow:
    """`outcome` is one of pass, fail, partial, error, timeout, cancelled, running, retrying, superseded."""
    row = AttemptRow(
        task=task,
        attempt=attempt,
        take=1,
        phase="ended",
        detail=None,
        stop_reason="completed",
        passed=True,
        value=1.0,
        reason=None,
        error=None,
        error_type=None,
        error_signature=None,
        status=None,
        started_at=NOW - 20,
        ended_at=NOW - 10,
        duration_seconds=2.0,
        retry_at=None,
        input_tokens=100,
        output_tokens=20,
        cost=0.001,
        retries=0,
        n_tools=0,
        superseded=None,
        seq=task * 1000 + attempt,
    )
    unscored = {"passed": None, "value": None}
    running = {**unscored, "stop_reason": None, "ended_at": None, "duration_seconds": None, "cost": None}
    outcomes: dict[str, dict[str, Any]] = {
        "pass": {},
        "fail": {"passed": False, "value": 0.0, "reason": "expected 391, got 389"},
        "partial": {"passed": False, "value": 0.4, "reason": "2 of 5 rows"},
        "error": {**unscored, "stop_reason": "error", "error": "HTTP 500: oops", "error_type": "InternalServerError"},
        "timeout": {**unscored, "stop_reason": "timeout", "error": "no answer within 120 s"},
        "cancelled": {**unscored, "stop_reason": "cancelled"},
        "running": {**running, "phase": "model"},
        "retrying": {**running, "phase": "retrying", "detail": "HTTP 429, again in 2 s"},
        "superseded": {**unscored, "stop_reason": "error", "error": "HTTP 401", "superseded": "storm"},
    }
    return row._replace(**{**outcomes[outcome], **changes})


def review_row(task: int, attempt: int, take: int = 1, verdict: str | None = None, **changes: Any) -> ReviewRow:
    seq = changes.get("seq", task * 1000 + attempt)
    row = ReviewRow(seq, task, attempt, take, NOW, "bea", verdict, None, None, None, False, None, seq)
    return row._replace(**changes)


def transcript(answer: str = "17 x 23 = 389", **changes: Any) -> dict[str, Any]:
    """A stored body: what `RunOutput.to_dict()` gives, and the score."""
    return {
        "content": answer,
        "raw_text": answer,
        "model": "gpt-5.4-mini",
        "messages": [
            {"role": "system", "content": "You are a careful calculator."},
            {"role": "user", "content": "What is 17 x 23?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "name": "multiply", "arguments": '{"a": 17, "b": 23}'}],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "multiply", "content": "391"},
            {"role": "assistant", "content": answer},
        ],
        "tools": [
            {
                "tool_name": "multiply",
                "tool_args": {"a": 17, "b": 23},
                "tool_call_id": "c1",
                "result": "391",
                "tool_call_error": False,
                "duration": 0.01,
            }
        ],
        "metrics": {"input_tokens": 100, "output_tokens": 20, "time_to_first_token": 0.3, "model_calls": 2},
        "score": {"value": 0.0, "passed": False, "reason": "expected 391, got 389", "detail": None},
        **changes,
    }


class FakeLog:
    """A log in memory. `FakeLog.open` is what a feed opens; changing the lists and calling `touch` is a write."""

    def __init__(
        self,
        runs: Iterable[RunRow] = (),
        tasks: Iterable[TaskRow] = (),
        attempts: Iterable[AttemptRow] = (),
        bodies: dict[tuple[int, int], dict[str, Any]] | None = None,
    ) -> None:
        self.run_rows = list(runs)
        self.task_rows = list(tasks)
        self.attempt_rows = list(attempts)
        self.bodies = {} if bodies is None else bodies
        self.snapshots: dict[tuple[int, int], dict[str, Any]] = {}
        self.command_rows: list[CommandRow] = []
        self.review_rows: list[ReviewRow] = []
        self.scorings: dict[ScoringName, list[RescoredRow]] = {}
        self.posted: list[tuple[str, str, dict[str, Any], str]] = []
        self.version = 1
        self.asked: list[str] = []
        self.broken: Exception | None = None
        self.open_readers = 0

    def touch(self) -> None:
        self.version += 1

    def write(self, *rows: AttemptRow, run: RunRow | None = None) -> None:
        """Append rows with fresh sequence numbers."""
        for row in rows:
            top = max((each.seq for each in self.attempt_rows), default=0)
            self.attempt_rows = [
                each
                for each in self.attempt_rows
                if (each.task, each.attempt, each.take) != (row.task, row.attempt, row.take)
            ]
            self.attempt_rows.append(row._replace(seq=top + 1))
        if run is not None:
            self.run_rows = [run if each.run_id == run.run_id else each for each in self.run_rows]
        self.touch()

    async def open(self, path: Path) -> "FakeReader":
        if self.broken is not None:
            raise self.broken
        self.open_readers += 1
        return FakeReader(self)

    async def post(self, path: Path, run_id: str, command: str, args: dict[str, Any], author: str) -> int:
        self.posted.append((run_id, command, args, author))
        return len(self.posted)

    async def review(self, path: Path, place: tuple[str, int, int, int], author: str, **said: Any) -> ReviewRow:
        """As `post_review`, for takes that have a score."""
        if self.broken is not None:
            raise self.broken
        _, task, attempt, take = place
        scored = next(
            row.passed for row in self.attempt_rows if (row.task, row.attempt, row.take) == (task, attempt, take)
        )
        before = self._own(place, author)
        row = review_row(task, attempt, take, author=author, seq=self._next_review())
        if before is not None:
            row = row._replace(verdict=before.verdict, passed=before.passed, label=before.label, note=before.note)
        if said.get("passed") is not None:
            said["verdict"] = "agree" if said["passed"] == scored else "disagree"
        elif said.get("verdict") is not None:
            said["passed"] = scored if said["verdict"] == "agree" else not scored
        row = row._replace(**{name: value for name, value in said.items() if value is not None})
        self.review_rows.append(row)
        self.touch()
        return row

    async def undo(self, path: Path, place: tuple[str, int, int, int], author: str) -> ReviewRow:
        """As `undo_review`."""
        own = self._own(place, author)
        if own is None:
            raise RunError(f"{author} has no review to take back")
        gone = own._replace(undone=own.seq + 1, touched=self._next_review())
        self.review_rows = [gone if row is own else row for row in self.review_rows]
        self.touch()
        return gone

    def _next_review(self) -> int:
        return max((row.touched for row in self.review_rows), default=0) + 1

    def _own(self, place: tuple[str, int, int, int], author: str) -> ReviewRow | None:
        mine = [
            row for row in self.review_rows if (row.task, row.attempt, row.take, row.author) == (*place[1:], author)
        ]
        return next((row for row in reversed(mine) if row.undone is None), None)


class FakeReader:
    """The methods of `LogReader`, over a `FakeLog`."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log
        self.seen = 0

    def _ask(self, what: str) -> None:
        self.log.asked.append(what)
        if self.log.broken is not None:
            raise self.log.broken

    async def changed(self) -> bool:
        self._ask("changed")
        changed, self.seen = self.seen != self.log.version, self.log.version
        return changed

    async def runs(self, limit: int = 200) -> list[RunRow]:
        self._ask("runs")
        return self.log.run_rows[:limit]

    async def learning(self, run_ids: Collection[str]) -> dict[str, int]:
        self._ask("learning")
        return dict.fromkeys(run_ids, 1)

    async def run(self, run_id: str) -> RunRow | None:
        self._ask("run")
        return next((row for row in self.log.run_rows if row.run_id == run_id), None)

    async def tasks(self, run_id: str) -> list[TaskRow]:
        self._ask("tasks")
        run = next(run for run in self.log.run_rows if run.run_id == run_id)
        return [row._replace(k=run.k) if row.k == USUAL_K else row for row in self.log.task_rows]

    async def task_text(self, run_id: str, task: int) -> tuple[str, Any]:
        self._ask("task_text")
        return f"the prompt of task {task + 1}", 391

    async def attempts(self, run_id: str, after_seq: int = 0, task: int | None = None) -> list[AttemptRow]:
        self._ask("attempts")
        rows = (row for row in self.log.attempt_rows if row.seq > after_seq and task in {None, row.task})
        return sorted(rows, key=lambda row: row.seq)

    async def overview(self, run_id: str, *, lately: bool = False) -> Overview:
        raise NotImplementedError("runs in memory are small; a real log tells of large ones")

    async def transcript(self, run_id: str, task: int, attempt: int, take: int) -> dict[str, Any] | None:
        self._ask("transcript")
        return self.log.bodies.get((task, attempt))

    async def live(self, run_id: str, task: int, attempt: int, take: int) -> dict[str, Any] | None:
        self._ask("live")
        return self.log.snapshots.get((task, attempt))

    async def commands(self, run_id: str) -> list[CommandRow]:
        self._ask("commands")
        return list(self.log.command_rows)

    async def reviews(self, run_id: str, after_seq: int = 0) -> list[ReviewRow]:
        self._ask("reviews")
        return sorted((row for row in self.log.review_rows if row.touched > after_seq), key=lambda row: row.touched)

    async def scoring_names(self, run_id: str) -> list[ScoringName]:
        self._ask("scoring_names")
        return list(self.log.scorings)

    async def rescored(self, run_id: str, scoring: str) -> list[RescoredRow]:
        self._ask("rescored")
        return self.log.scorings[next(name for name in self.log.scorings if name.scoring == scoring)]

    async def aclose(self) -> None:
        self.log.open_readers -= 1
