"""Applies the scorer of an environment to the stored transcripts of a run, and keeps both scorings."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task
from rollgrid.errors import LogError, RunError
from rollgrid.models.base import Model
from rollgrid.models.pricing import KnownPrices, PriceList, may_be_priced
from rollgrid.runner.facts import json_ready
from rollgrid.runner.lanes import LaneListener, Lanes
from rollgrid.runner.load import load_environment
from rollgrid.runner.passage import Paid, Passage
from rollgrid.runner.prepare import Prepared, prepare_run
from rollgrid.runner.rescoring import StoredAnswerError, is_typed, output_of, score_stored, was_completed
from rollgrid.runner.rescoring_plan import Changed, changed_since, check, fingerprint_with, remarks
from rollgrid.runner.rescoring_request import RescoreOutcome, RescoreRequest, scorer_name
from rollgrid.runner.resources import closing_resources
from rollgrid.runner.resume import current_takes
from rollgrid.runner.signature import error_signature
from rollgrid.store import process
from rollgrid.store.events import AttemptRescored, ScoringEnded, ScoringStarted
from rollgrid.store.reader import LogReader
from rollgrid.store.rows import AttemptRow, RunRow, TaskRow
from rollgrid.store.scorings import RescoredRow, ScoringRow, as_scored
from rollgrid.store.writer import LogWriter
from rollgrid.threads import Job

__all__ = ["RescoreOutcome", "RescoreRequest", "rescore_run"]

_UNFINISHED = ("running", "paused", "stopping")
_ENOUGH = 4
Key = tuple[int, int, int]


async def rescore_run(
    request: RescoreRequest, on_progress: Callable[[int, int], None] = lambda _done, _total: None
) -> RescoreOutcome:
    """Score every attempt of the run that came to its end. `on_progress` is told how many of how many are done.

    What it finds is in the log as a scoring of its own, which counts when all of it is there; an interrupted one leaves
    no trace in any figure, and is done again by the next call, which takes over the verdicts that were paid for.
    Raises `RunError` when the run goes on, when the environment asks other things, and when the scorer fails alike for
    everything that it is given.
    """
    async with closing_resources(), aclosing(await LogReader.open(request.log)) as reader:
        row = await reader.run(request.run_id)
        if row is None:
            raise RunError(f"no run {request.run_id} in {request.log}", "`rollgrid runs` lists them")
        if row.effective_state in _UNFINISHED:
            raise RunError(f"run {row.run_id} is still {row.effective_state}", "score it anew when it has ended")
        prepared = _environment(request, row)
        tasks = await reader.tasks(row.run_id)
        stored = [Task(*await reader.task_text(row.run_id, one.index), one.id) for one in tasks]
        changed = changed_since(stored, row.fingerprint_parts, prepared.tasks, prepared.fingerprint_parts)
        check(changed, row.run_id, request.expected)
        by_id = {task.id: task.expected for task in prepared.tasks}
        rescoring = _Rescoring(
            request, row, reader, prepared, changed, [by_id[one.id] for one in tasks], on_progress=on_progress
        )
        return await rescoring.run(tasks)


def _environment(request: RescoreRequest, row: RunRow) -> Prepared:
    ref = request.ref or row.source.get("ref")
    if request.env is not None:
        return _prepared(request.env, row, {})
    if ref is None:
        raise RunError(
            f"run {row.run_id} was started by a script, so its environment is not known here",
            "name it: rollgrid rescore RUN --env path.py",
        )
    loaded = load_environment(ref, request.cwd if request.ref else row.source.get("cwd"))
    return _prepared(loaded.env, row, {"ref": loaded.ref, "cwd": loaded.cwd})


def _prepared(env: Environment, row: RunRow, source: Mapping[str, str]) -> Prepared:
    try:
        return prepare_run(env, k=row.k, source=source)
    except (ValueError, TypeError) as error:
        raise RunError(str(error)) from error


@dataclass(slots=True)
class _Tally:
    """How it goes. `signatures` are those of the failures; a scorer that only fails, and always alike, is broken."""

    done: int = 0
    scored: int = 0
    unscorable: int = 0
    signatures: set[str] = field(default_factory=set[str])
    sample: str = ""
    paid: Paid = field(default_factory=Paid)
    untyped: set[str] = field(default_factory=set[str])
    left_behind: set[str] = field(default_factory=set[str])

    def is_broken(self, enough: int) -> bool:
        failed = self.done - self.unscorable
        return not self.scored and failed >= enough and len(self.signatures) == 1


class _Rescoring:
    """One pass over the attempts of a run."""

    def __init__(
        self,
        request: RescoreRequest,
        row: RunRow,
        reader: LogReader,
        prepared: Prepared,
        changed: Changed,
        expected: list[Any],
        *,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self._request = request
        self._row = row
        self._reader = reader
        self._prepared = prepared
        self._changed = changed
        self._expected = expected
        self._on_progress = on_progress
        self._tally = _Tally()
        self._lanes = Lanes(LaneListener(), max_calls=None)
        self._prices: PriceList | None = None
        self._verdicts: dict[Key, RescoredRow] = {}
        self._writer: LogWriter | None = None
        self._scoring = uuid4().hex

    async def run(self, tasks: list[TaskRow]) -> RescoreOutcome:
        before = list(current_takes(await self._reader.attempts(self._row.run_id)).values())
        before.sort(key=lambda row: (row.task, row.attempt))
        judge: Any = getattr(self._env.scorer, "model", None)
        if isinstance(judge, Model) and may_be_priced(judge):
            self._prices = KnownPrices()
        resumed = await self._resume()
        async with AsyncExitStack() as stack:
            if not self._request.dry_run:
                self._writer = await stack.enter_async_context(LogWriter.open_cm(self._request.log))
                if not resumed:
                    self._writer.append(self._started())
            await self._score(before)
            self._refuse_broken(len(before))
            number = await self._end()
        return RescoreOutcome(
            run=self._row,
            tasks=tuple(tasks),
            number=number,
            scorer=scorer_name(self._env.scorer),
            digest=self._digest,
            same_scorer=self._digest is not None and self._digest == self._row.fingerprint_parts.get("scorer"),
            before=tuple(before),
            after=tuple(as_scored(before, self._verdicts.values())),
            n_unscorable=self._tally.unscorable,
            remarks=tuple(self._remarks()),
            input_tokens=self._tally.paid.input_tokens,
            output_tokens=self._tally.paid.output_tokens,
            cost=self._tally.paid.cost,
        )

    @property
    def _env(self) -> Environment:
        return self._prepared.env

    @property
    def _digest(self) -> str | None:
        return self._prepared.fingerprint_parts.get("scorer")

    # -- the log ------------------------------------------------------------------------------------------------------

    async def _resume(self) -> bool:
        """Take over what an interrupted scoring by the same scorer paid for. Whether there was one."""
        if self._request.dry_run or self._digest is None:
            return False
        wanted = fingerprint_with(self._row.fingerprint_parts, self._prepared.fingerprint_parts, self._changed)[1]
        for one in await self._reader.scorings(self._row.run_id):
            if one.ended_at is None and _was_paid(one) and one.fingerprint_parts == wanted:
                self._scoring = one.scoring
                for verdict in await self._reader.rescored(self._row.run_id, one.scoring):
                    if verdict.passed is not None:
                        self._verdicts[verdict.task, verdict.attempt, verdict.take] = verdict
                return True
        return False

    def _started(self) -> ScoringStarted:
        fingerprint, parts = fingerprint_with(
            self._row.fingerprint_parts, self._prepared.fingerprint_parts, self._changed
        )
        return ScoringStarted(
            run_id=self._row.run_id,
            at=time.time(),
            scoring=self._scoring,
            scorer=scorer_name(self._env.scorer),
            digest=self._digest,
            env_fingerprint=fingerprint,
            fingerprint_parts=parts,
            expected={
                task.id or "": task.expected for task in self._prepared.tasks if task.id in self._changed.expected
            },
            source=dict(self._prepared.source),
            author=self._request.author,
            host=process.host(),
        )

    async def _end(self) -> int | None:
        if self._writer is None:
            return None
        self._writer.append(ScoringEnded(run_id=self._row.run_id, at=time.time(), scoring=self._scoring))
        await self._writer.flush()
        if self._writer.unsaved:
            raise LogError(self._writer.fault or f"the log {self._request.log} cannot be written", "try again later")
        for one in await self._reader.scorings(self._row.run_id):
            if one.scoring == self._scoring:
                return one.number
        raise LogError(f"the log {self._request.log} has lost a scoring that was just written")

    # -- scoring ------------------------------------------------------------------------------------------------------

    async def _score(self, attempts: list[AttemptRow]) -> None:
        # The first attempt of every task comes first, so that a broken scorer is found out on different ones.
        queue = iter(sorted(attempts, key=lambda row: (row.attempt, row.task)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._request.concurrency):
                    group.create_task(self._work(queue, len(attempts)))
        finally:
            self._lanes.close()

    async def _work(self, queue: Iterator[AttemptRow], total: int) -> None:
        for row in queue:
            if self._tally.is_broken(max(self._request.concurrency, _ENOUGH)):
                return
            await self._score_one(row)
            self._tally.done += 1
            self._on_progress(self._tally.done, total)

    async def _score_one(self, row: AttemptRow) -> None:
        key = (row.task, row.attempt, row.take)
        if key in self._verdicts:
            self._tally.scored += 1
            return
        transcript = await self._reader.transcript(self._row.run_id, *key) if row.phase == "ended" else None
        if transcript is None or not was_completed(transcript):
            self._tally.unscorable += 1
            return
        passage = Passage(self._lanes, self._prices, on_wait=lambda _why: None, on_turn=lambda: None, is_scoring=True)
        result = await self._verdict(row, transcript, passage)
        self._count(result, passage.paid_for_scoring)
        self._keep(row, result, passage.paid_for_scoring)

    async def _verdict(self, row: AttemptRow, transcript: Mapping[str, Any], passage: Passage) -> AttemptResult:
        schema = self._prepared.agent.output_schema
        try:
            run = output_of(transcript, schema)
        except StoredAnswerError as error:
            return AttemptResult(None, None, StopReason.completed, 0.0, str(error), error_type="StoredAnswerError")
        if schema is None and is_typed(transcript):
            self._tally.untyped.add(str(transcript.get("content_type")))
        where = f"attempt {row.attempt} of task {row.task + 1}"

        def leaked(job: Job) -> None:
            self._tally.left_behind.add(f"{job.what} ignored the time limit for {where} and may still run in a thread")

        return await score_stored(
            self._env.scorer,
            run,
            self._expected[row.task],
            timeout_seconds=self._env.timeout_seconds,
            through=passage,
            on_leak=leaked,
            on_abandoned=lambda _work, _left: self._tally.left_behind.add(
                f"the scorer ignored its cancellation for {where}"
            ),
        )

    def _count(self, result: AttemptResult, paid: Paid) -> None:
        tally = self._tally
        tally.paid.input_tokens += paid.input_tokens
        tally.paid.output_tokens += paid.output_tokens
        if paid.cost is not None:
            tally.paid.cost = (tally.paid.cost or 0.0) + paid.cost
        if result.score is not None:
            tally.scored += 1
        else:
            tally.sample = tally.sample or result.error or ""
            tally.signatures.add(error_signature(result.error_type or "Error", result.status, result.error or ""))

    def _keep(self, row: AttemptRow, result: AttemptResult, paid: Paid) -> None:
        score = result.score
        event = AttemptRescored(
            run_id=self._row.run_id,
            at=time.time(),
            task=row.task,
            attempt=row.attempt,
            take=row.take,
            scoring=self._scoring,
            passed=score.passed if score else None,
            value=float(score.value) if score else None,
            reason=score.reason if score else None,
            detail=json_ready(score.detail) if score and score.detail else None,
            error=result.error,
            error_type=result.error_type,
            duration_seconds=result.duration_seconds,
            scorer_input_tokens=paid.input_tokens,
            scorer_output_tokens=paid.output_tokens,
            scorer_cost=paid.cost,
        )
        self._verdicts[row.task, row.attempt, row.take] = RescoredRow(
            task=row.task,
            attempt=row.attempt,
            take=row.take,
            passed=event.passed,
            value=event.value,
            reason=event.reason,
            detail=event.detail,
            error=event.error,
            error_type=event.error_type,
            duration_seconds=event.duration_seconds,
            seq=0,
        )
        if self._writer is not None:
            self._writer.append(event)

    def _refuse_broken(self, total: int) -> None:
        tally = self._tally
        failed = tally.done - tally.unscorable
        if tally.unscorable == total:
            raise RunError(
                f"run {self._row.run_id} has no attempt whose agent came to its end, so there is nothing to score",
                f"rollgrid show {self._row.run_id} --errors tells why",
            )
        if not tally.scored and failed:
            raise RunError(
                f"the scorer gave no score for any of the {failed} attempts that it was given: {tally.sample}",
                "put it right and try again; nothing was kept",
            )

    def _remarks(self) -> Iterable[str]:
        yield from remarks(self._changed)
        if self._tally.untyped:
            yield (
                f"the environment's agent names no output_schema, so answers of type "
                f"{', '.join(sorted(self._tally.untyped))} were given to the scorer as plain JSON values"
            )
        judge: Any = getattr(self._env.scorer, "model", None)
        if isinstance(judge, Model) and judge.kind == "simulated":
            yield "SIMULATED judge: these verdicts are made up, no model was asked"
        if self._digest is None:
            yield "the scorer has no digest, so this scoring can be compared with no other run"
        yield from sorted(self._tally.left_behind)


def _was_paid(one: ScoringRow) -> bool:
    return bool(one.input_tokens or one.output_tokens)
