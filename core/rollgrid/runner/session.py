"""One runner at work on one run: the log, the lease, the engine, and what ends them all in order."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.errors import RollgridError
from rollgrid.runner.control import carry_out
from rollgrid.runner.engine import Engine
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.prepare import Prepared
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink, NoLog
from rollgrid.store import process
from rollgrid.store.events import CommandAnswered, Notice, RunStateChanged, SessionEnded, SessionStarted
from rollgrid.store.lease import HEARTBEAT_SECONDS, Lease, acquire
from rollgrid.store.writer import LogWriter

POLL_SECONDS = 0.25

FinalState = Literal["finished", "interrupted", "stopped"]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Where a run stands, for a progress line."""

    run_id: str
    state: str
    n_planned: int
    n_ended: int
    n_scored: int
    n_passed: int
    n_in_flight: int
    active_seconds: float
    log_fault: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """`log` None: nothing is written. `collect`: keep every attempt with its transcript for the result.

    `on_ready` is called once the run is in the log, `on_progress` after each attempt and about once a second,
    `on_message` with a line for the person at the terminal.
    """

    log: Path | None
    author: str
    concurrency: int
    run_id: str
    storm_action: Literal["stop", "pause"] = "stop"
    handle_signals: bool = False
    collect: bool = True
    drain_seconds: float = 30.0
    on_ready: Callable[[str], None] = field(default=lambda _run_id: None)
    on_progress: Callable[[RunProgress], None] = field(default=lambda _progress: None)
    on_message: Callable[[str], None] = field(default=lambda _text: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """How the session ended. `result` holds the attempts of earlier sessions too."""

    run_id: str
    log: Path | None
    state: FinalState
    stopped_early: str | None
    reason: str | None
    result: EnvironmentRunResult

    def with_result(self, result: EnvironmentRunResult) -> Self:
        return replace(self, result=result)

    @property
    def exit_code(self) -> int:
        """0 done, 3 nothing scored or stopped by a storm, 4 stopped by a budget, 130 interrupted."""
        if self.state == "interrupted":
            return 130
        if self.stopped_early == "budget":
            return 4
        if self.stopped_early is not None or (self.result.n_attempts > 0 and self.result.n_scored == 0):
            return 3
        return 0


class Session:
    """Runs a prepared run to its end. Use once."""

    def __init__(self, prepared: Prepared, options: SessionOptions) -> None:
        self._prepared = prepared
        self._options = options
        self._results: dict[tuple[int, int], AttemptResult] = dict(prepared.kept)
        self._engine: Engine | None = None
        self._writer: LogWriter | None = None
        self._interrupts = 0
        self._n_scored = sum(result.score is not None for result in prepared.kept.values())
        self._n_passed = sum(result.passed for result in prepared.kept.values())

    async def run(self) -> SessionOutcome:
        options = self._options
        async with AsyncExitStack() as stack:
            sink: EventSink = NoLog()
            lease: Lease | None = None
            if options.log is not None:
                self._writer = sink = await stack.enter_async_context(LogWriter.open_cm(options.log))
                lease = await acquire(options.log, options.run_id)
                stack.push_async_callback(lease.release)
            engine = self._engine = Engine(
                self._plan(), sink, concurrency=options.concurrency, on_result=self._take_result
            )
            await self._announce(sink, engine)
            options.on_ready(options.run_id)
            if options.handle_signals:
                stack.enter_context(_Signals(self._interrupt))
            stopped_early: str | None = "interrupted"
            try:
                await self._steer(engine, sink, lease)
                stopped_early = engine.stopped_early
            finally:
                # Also on cancellation: what was finished stays, and the run can be resumed.
                state = _final_state(stopped_early)
                await asyncio.shield(self._close(engine, sink, state, stopped_early))
        return SessionOutcome(
            run_id=options.run_id,
            log=options.log,
            state=state,
            stopped_early=stopped_early,
            reason=engine.storm.sample if engine.storm is not None else None,
            result=self._result(engine, stopped_early),
        )

    def _plan(self) -> RunPlan:
        prepared, options = self._prepared, self._options
        return RunPlan(
            run_id=options.run_id,
            tasks=prepared.tasks,
            k=prepared.k,
            scorer=prepared.env.scorer,
            make_agent=prepared.make_agent,
            timeout_seconds=prepared.env.timeout_seconds,
            slots=prepared.slots,
            takes=prepared.takes,
            seed=prepared.seed or options.run_id,
            order=prepared.order,
            max_concurrency=prepared.max_concurrency,
            storm_action=options.storm_action,
            drain_seconds=options.drain_seconds,
        )

    async def _announce(self, sink: EventSink, engine: Engine) -> None:
        """Put the run and this session into the log, durably, before anything is paid for."""
        prepared, options = self._prepared, self._options
        for event, body in prepared.opening_events(options.run_id, options.author):
            sink.append(event, body)
        now = time.time()
        sink.append(
            SessionStarted(
                run_id=options.run_id,
                at=now,
                session=prepared.session,
                pid=os.getpid(),
                host=process.host(),
                boot_id=process.boot_id(),
                author=options.author,
                concurrency=engine.concurrency,
            )
        )
        sink.append(RunStateChanged(run_id=options.run_id, at=now, state="running", author=options.author))
        for text in prepared.warnings:
            sink.append(Notice(run_id=options.run_id, at=now, level="warning", text=text))
            options.on_message(f"warning: {text}")
        if self._writer is not None:
            await self._writer.flush()
            if self._writer.fault is not None:
                raise RollgridError(f"cannot write the log: {self._writer.fault}", "choose another with --log PATH")

    async def _steer(self, engine: Engine, sink: EventSink, lease: Lease | None) -> None:
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep(engine, sink, lease))
            try:
                await engine.run()
            finally:
                keeper.cancel()

    async def _keep(self, engine: Engine, sink: EventSink, lease: Lease | None) -> None:
        """Keep the lease, answer commands, report progress."""
        last, beat = 0, time.monotonic()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self._options.on_progress(self._progress(engine))
            if self._writer is None or lease is None:
                continue
            for command in await self._writer.pending_commands(self._options.run_id, last):
                last = command.command_id
                accepted, answer = carry_out(engine, command)
                sink.append(
                    CommandAnswered(
                        run_id=self._options.run_id,
                        at=time.time(),
                        command_id=command.command_id,
                        command=command.command,
                        author=command.author,
                        accepted=accepted,
                        answer=answer,
                    )
                )
            if time.monotonic() - beat >= HEARTBEAT_SECONDS:
                beat = time.monotonic()
                if not await lease.heartbeat():
                    engine.stop("interrupted", reason="another runner has taken this run over")
                    engine.drop_flights()

    async def _close(self, engine: Engine, sink: EventSink, state: FinalState, stopped_early: str | None) -> None:
        run_id = self._options.run_id
        now = time.time()
        reason = engine.storm.sample if engine.storm is not None else None
        sink.append(RunStateChanged(run_id=run_id, at=now, state=state, stopped_early=stopped_early, reason=reason))
        sink.append(
            SessionEnded(run_id=run_id, at=now, session=self._prepared.session, active_seconds=engine.active_seconds)
        )
        if self._writer is not None:
            await self._writer.flush()

    def _interrupt(self) -> None:
        """First signal: let what is in flight finish. Second: drop it."""
        engine = self._engine
        if engine is None:
            return
        self._interrupts += 1
        if self._interrupts == 1:
            engine.stop("interrupted", author=self._options.author, reason="interrupted by a signal")
            self._options.on_message(f"stopping: {len(engine.flights)} in flight, press again to drop them")
        else:
            engine.drop_flights()

    def _take_result(self, slot: Slot, result: AttemptResult) -> None:
        key = (slot.task, slot.attempt)
        before = self._results.get(key)
        for old, sign in ((before, -1), (result, 1)):
            if old is not None and old.score is not None:
                self._n_scored += sign
                self._n_passed += sign * old.passed
        if not self._options.collect:
            result.drop_run()
        self._results[key] = result
        if self._engine is not None:
            self._options.on_progress(self._progress(self._engine))

    def _progress(self, engine: Engine) -> RunProgress:
        prepared = self._prepared
        return RunProgress(
            run_id=self._options.run_id,
            state=engine.state,
            n_planned=len(prepared.tasks) * prepared.k,
            n_ended=len(self._results),
            n_scored=self._n_scored,
            n_passed=self._n_passed,
            n_in_flight=len(engine.flights),
            active_seconds=prepared.active_seconds + engine.active_seconds,
            log_fault=self._writer.fault if self._writer is not None else None,
        )

    def _result(self, engine: Engine, stopped_early: str | None) -> EnvironmentRunResult:
        prepared = self._prepared
        return EnvironmentRunResult(
            env_name=prepared.env.name,
            k=prepared.k,
            env_fingerprint=prepared.env_fingerprint,
            policy_fingerprint=prepared.policy_fingerprint,
            task_results=tuple(
                TaskResult(
                    task=task,
                    attempts=tuple(
                        self._results[index, attempt]
                        for attempt in range(1, prepared.k + 1)
                        if (index, attempt) in self._results
                    ),
                )
                for index, task in enumerate(prepared.tasks)
            ),
            duration_seconds=prepared.active_seconds + engine.active_seconds,
            stopped_early=stopped_early,
            fingerprint_parts=prepared.fingerprint_parts,
            about=prepared.about(self._options.run_id),
        )


def _final_state(stopped_early: str | None) -> FinalState:
    if stopped_early is None:
        return "finished"
    return "interrupted" if stopped_early == "interrupted" else "stopped"


class _Signals:
    """SIGINT and SIGTERM call `on_interrupt` while this is open; SIGHUP is ignored, so a lost terminal ends nothing."""

    def __init__(self, on_interrupt: Callable[[], None]) -> None:
        self._on_interrupt = on_interrupt

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_interrupt)
        self._hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGHUP, self._hangup)
