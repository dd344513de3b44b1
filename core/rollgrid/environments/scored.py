"""A run as a later scoring of it sees it."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.from_log import aresult_from_log
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.environments.task import Task
from rollgrid.scorer.base import Score
from rollgrid.store.reader import LogReader
from rollgrid.store.scorings import NOT_SCORED, RescoredRow, ScoringRow, choose

__all__ = ["ascored_from_log", "with_scoring"]

Key = tuple[int, int, int]


async def ascored_from_log(path: Path, run_id: str, scoring: str) -> EnvironmentRunResult:
    """The run with the scores of `scoring`: a number, `latest`, or `original` for its own.

    Its environment fingerprint is the one of the environment with that scorer, so that it compares with runs of it.
    Raises `RunError` when there is no such run or scoring.
    """
    result = await aresult_from_log(path, run_id)
    async with aclosing(await LogReader.open(path)) as reader:
        chosen = choose(await reader.scorings(run_id), scoring, run_id)
        if chosen is None:
            return result
        return with_scoring(result, chosen, await reader.rescored(run_id, chosen.scoring))


def with_scoring(
    result: EnvironmentRunResult, scoring: ScoringRow, verdicts: list[RescoredRow]
) -> EnvironmentRunResult:
    """`result`, of the run's own scores, with the verdicts of a scoring. Transcripts stay where they are."""
    known = {(row.task, row.attempt, row.take): row for row in verdicts}
    return replace(
        result,
        env_fingerprint=scoring.env_fingerprint,
        fingerprint_parts=scoring.fingerprint_parts,
        about={**result.about, "scoring": _about(scoring)},
        task_results=tuple(
            TaskResult(
                _task(one.task, scoring),
                tuple(_rescored(attempt, known.get((index, attempt.index, attempt.take))) for attempt in one.attempts),
            )
            for index, one in enumerate(result.task_results)
        ),
    )


def _about(scoring: ScoringRow) -> dict[str, Any]:
    return {
        "number": scoring.number,
        "scorer": scoring.scorer,
        "digest": scoring.digest,
        "author": scoring.author,
        "at": scoring.ended_at,
    }


def _task(task: Task, scoring: ScoringRow) -> Task:
    if task.id not in scoring.expected:
        return task
    return Task(task.input, scoring.expected[task.id], task.id, task.metadata)


class _Rescored(AttemptResult):
    """An attempt with another score. Its transcript is that of the attempt it was made of."""

    __slots__ = ("_of",)

    def __init__(self, of: AttemptResult, score: Score | None, error: str | None, error_type: str | None) -> None:
        super().__init__(
            None,
            score,
            StopReason.completed,
            of.duration_seconds,
            error,
            of.tool_call_limit_hit,
            error_type,
            index=of.index,
            take=of.take,
            usage=of.usage,
        )
        self._of = of

    @property
    def run(self) -> RunOutput | None:
        return self._looked_at(self._of.run)

    def read_run(self) -> RunOutput | None:
        return self._looked_at(self._of.read_run())

    def drop_run(self) -> None:
        self._of.drop_run()

    @property
    def is_loaded(self) -> bool:
        return self._of.is_loaded

    def _looked_at(self, run: RunOutput | None) -> RunOutput | None:
        # Known for certain only once the transcript was read.
        self.tool_call_limit_hit = self._of.tool_call_limit_hit
        return run


def _rescored(attempt: AttemptResult, verdict: RescoredRow | None) -> AttemptResult:
    if verdict is None:
        return attempt if attempt.score is None else _Rescored(attempt, None, NOT_SCORED, "NotScored")
    score = None
    if verdict.passed is not None and verdict.value is not None:
        score = Score(verdict.value, verdict.passed, verdict.reason, verdict.detail)
    return _Rescored(attempt, score, verdict.error, verdict.error_type)
