"""A result out of the log, with attempts and transcripts that are read when they are asked for."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult, StopReason, Usage
from rollgrid.environments.recent import Recent
from rollgrid.environments.result import EnvironmentRunResult
from rollgrid.environments.task import Task
from rollgrid.environments.task_result import Attempts, TaskResult
from rollgrid.errors import LogError, RunError
from rollgrid.scorer.base import Score
from rollgrid.store.logged import Counts, EndedRow, LoggedRun
from rollgrid.store.reader import LogReader
from rollgrid.store.rows import RunRow

__all__ = ["LogTranscripts", "aresult_from_log", "result_from_log"]


def result_from_log(path: Path, run_id: str) -> EnvironmentRunResult:
    """The run as it stands in the log: every attempt's newest take that was not superseded and has ended.

    The counts are there at once, a task's attempts are read when they are first asked for, and a transcript when `run`
    of its attempt is; the score's `detail` comes with it. Of the transcripts the last few hundred stay in memory.
    Raises `RunError` when there is no such run and `LogError` when the log cannot be read, also later, when it has gone
    by then. Inside a running event loop this works too, but blocks it; await `aresult_from_log` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(aresult_from_log(path, run_id))
    return _in_thread(aresult_from_log(path, run_id))


async def aresult_from_log(path: Path, run_id: str) -> EnvironmentRunResult:
    """As `result_from_log`."""
    async with aclosing(await LogReader.open(path)) as reader:
        row = await reader.run(run_id)
        if row is None:
            raise RunError(f"no run {run_id} in {path}", "`rollgrid runs` lists them")
        settled = {task.id: task.settled._asdict() for task in await reader.tasks(run_id) if task.settled is not None}
        logged = LoggedRun(reader.path, run_id, row.seq)
        task_results = await asyncio.to_thread(_task_results, logged, row.n_superseded == 0)
    return EnvironmentRunResult(
        env_name=row.env_name,
        k=row.k,
        env_fingerprint=row.env_fingerprint,
        policy_fingerprint=row.policy_fingerprint,
        task_results=task_results,
        duration_seconds=row.active_seconds,
        stopped_early=_stopped_early(row),
        fingerprint_parts=row.fingerprint_parts,
        about=_about(row) | ({"settled": settled} if settled else {}),
    )


class LogTranscripts(Recent):
    """The transcripts of a run of the log. An attempt's `place` is the position of its task."""

    def __init__(self, logged: LoggedRun) -> None:
        super().__init__()
        self._logged = logged

    def read(self, attempt: AttemptResult) -> RunOutput | None:
        """The transcript, and with it what lies beside it: the score's detail and whether the tool limit was hit."""
        logged = self._logged
        data = logged.transcript(attempt.place, attempt.index, attempt.take)
        if data is None:
            what = f"attempt {attempt.index} of the task at position {attempt.place} of run {logged.run_id}"
            raise LogError(f"the log {logged.path} does not hold {what} any more", "is it still the same log?")
        kept = data.pop("score", None)
        if attempt.score is not None and attempt.score.detail is None and isinstance(kept, dict):
            detail = cast("dict[str, Any]", kept).get("detail")
            attempt.score.detail = cast("dict[str, Any]", detail) if isinstance(detail, dict) else None
        run = RunOutput.from_dict(data)
        attempt.tool_call_limit_hit = attempt.tool_call_limit_hit or run.tool_call_limit_hit
        return run


class _LoggedTask:
    """The attempts of one task in the log. The counts are those of the moment in which the result was made."""

    def __init__(self, logged: LoggedRun, transcripts: LogTranscripts, index: int, counts: Counts) -> None:
        self._logged = logged
        self._transcripts = transcripts
        self._index = index
        self.counts = Attempts(*counts)

    def values(self) -> list[float]:
        return self._logged.values(self._index)

    def read(self) -> tuple[AttemptResult, ...]:
        rows = self._logged.ended(self._index)
        return tuple(_attempt(row, self._transcripts, self._index) for row in rows)


def _task_results(logged: LoggedRun, single_takes: bool) -> tuple[TaskResult, ...]:
    counts, transcripts = logged.counts(single_takes=single_takes), LogTranscripts(logged)
    return tuple(
        TaskResult.stored(
            Task(one.input, one.expected, one.id, one.metadata),
            _LoggedTask(logged, transcripts, index, counts.get(index, Counts())),
        )
        for index, one in enumerate(logged.tasks())
    )


def _attempt(row: EndedRow, transcripts: LogTranscripts, place: int) -> AttemptResult:
    score = None
    if row.passed is not None and row.value is not None:
        score = Score(row.value, bool(row.passed), row.reason)
    return AttemptResult(
        run=None,
        score=score,
        stop_reason=StopReason(row.stop_reason),
        duration_seconds=row.duration_seconds or 0.0,
        error=row.error,
        error_type=row.error_type,
        index=row.attempt,
        take=row.take,
        status=row.status,
        usage=Usage(row.input_tokens, row.output_tokens, row.cost),
        source=transcripts,
        place=place,
    )


def _in_thread(work: Coroutine[Any, Any, EnvironmentRunResult]) -> EnvironmentRunResult:
    """Run a coroutine to its end from inside another event loop, which waits."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


def _stopped_early(row: RunRow) -> str | None:
    if row.stopped_early is not None:
        return row.stopped_early
    return row.effective_state if row.effective_state in ("dead", "interrupted", "stopped") else None


def _about(row: RunRow) -> dict[str, Any]:
    about = {
        "run_id": row.run_id,
        "model": row.model,
        "model_kind": row.model_kind,
        "author": row.author,
        "created_at": row.created_at,
        "cost": row.cost,
    }
    return {key: value for key, value in about.items() if value is not None}
