"""One runner at work on one run: the log, the lease, the engine, and what ends them all in order."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any, TypeVar

from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.from_log import LogTranscripts
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.errors import LogError, RollgridError, RunError
from rollgrid.models.base import Model
from rollgrid.models.pricing import KnownPrices, PriceList, is_priced, may_be_priced
from rollgrid.runner.budget import Budget, Limits
from rollgrid.runner.engine import Engine
from rollgrid.runner.options import RESTRICTED, FinalState, RunProgress, SessionOptions, SessionOutcome
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.prepare import Prepared
from rollgrid.runner.sampler import Sampler, make_sampler
from rollgrid.runner.schedule import Slot
from rollgrid.runner.signals import Signals
from rollgrid.runner.sink import EventSink, NoLog
from rollgrid.runner.tally import Shelf, Tally
from rollgrid.runner.upkeep import Upkeep, not_in_the_log
from rollgrid.store import process
from rollgrid.store.commands import last_command
from rollgrid.store.events import Notice, RunStateChanged, SessionEnded, SessionStarted
from rollgrid.store.lease import Lease, acquire
from rollgrid.store.logged import LoggedRun
from rollgrid.store.writer import LogWriter

__all__ = ["RunProgress", "Session", "SessionOptions", "SessionOutcome"]

T = TypeVar("T")

POLL_SECONDS = 0.25


class Session:
    """Runs a prepared run to its end. Use once."""

    def __init__(self, prepared: Prepared, options: SessionOptions) -> None:
        self._prepared = prepared
        self._options = options
        self._results: dict[tuple[int, int], AttemptResult] = dict(prepared.kept) if options.collect else {}
        self._shelf: Shelf | None = None
        self._engine: Engine | None = None
        self._writer: LogWriter | None = None
        self._interrupts = 0
        self._upkeep: Upkeep | None = None
        self._sampler: Sampler | None = None
        self._tally = Tally()
        for key, result in prepared.kept.items():
            self._tally.take(*key, result)

    async def run(self) -> SessionOutcome:
        options, prepared, answered = self._options, self._prepared, 0
        async with AsyncExitStack() as stack:
            sink: EventSink = NoLog()
            lease: Lease | None = None
            if options.log is not None:
                self._writer = sink = await stack.enter_async_context(LogWriter.open_cm(options.log))
                answered = await last_command(self._writer.path, options.run_id)
                lease = await acquire(options.log, options.run_id)
                stack.push_async_callback(self._release, lease)
                await _refuse_stale(self._writer, options.run_id, prepared.as_of)
                if options.collect:
                    self._shelf = Shelf(sink, LogTranscripts(LoggedRun(options.log, options.run_id)))
            prices = await _prices(prepared, options)
            engine = self._engine = Engine(
                self._plan(prices),
                sink,
                concurrency=options.concurrency,
                adaptive=options.adaptive,
                budget=_budget(prepared, options.limits),
                make_carrier=options.make_carrier,
                on_result=self._take_result,
            )
            if self._writer is not None and lease is not None:
                self._upkeep = Upkeep(self._writer, lease, engine, options, self._say, answered)
            sampler = self._sampler = await make_sampler(prepared, engine, sink)
            await self._announce(sink, engine)
            if sampler is not None:
                sampler.begin()
            self._tell(options.on_ready, options.run_id)
            if options.handle_signals:
                stack.enter_context(Signals(self._interrupt))
            stopped_early: str | None = "interrupted"
            try:
                await self._steer(engine)
                stopped_early = engine.steering.stopped_early or (RESTRICTED if prepared.is_restricted else None)
            finally:
                # Also on cancellation: what was finished stays, and the run can be resumed.
                state = _final_state(stopped_early)
                await self._close_whatever_happens(self._close(engine, sink, state, stopped_early))
        if self._upkeep is not None and self._upkeep.gave_up:
            self._tell_what_is_missing(self._upkeep)
        return SessionOutcome(
            run_id=options.run_id,
            log=options.log,
            state=state,
            stopped_early=stopped_early,
            reason=engine.steering.why_stopped,
            result=self._result(engine, stopped_early),
        )

    def _plan(self, prices: PriceList | None) -> RunPlan:
        prepared, options = self._prepared, self._options
        model = prepared.model
        return RunPlan(
            run_id=options.run_id,
            tasks=prepared.tasks,
            k=prepared.k,
            scorer=prepared.env.scorer,
            make_agent=prepared.make_agent,
            timeout_seconds=prepared.env.timeout_seconds,
            slots=prepared.slots,
            targets=prepared.targets,
            takes=prepared.takes,
            seed=prepared.seed or options.run_id,
            order=prepared.order,
            max_concurrency=prepared.max_concurrency,
            storm_action=options.storm_action,
            drain_seconds=options.drain_seconds,
            endpoint=model.endpoint if model is not None else "",
            model_id=model.id if model is not None else "",
            prices=prices,
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
                adaptive=engine.is_adaptive,
                limits=options.limits.to_dict(),
            )
        )
        sink.append(RunStateChanged(run_id=options.run_id, at=now, state="running", author=options.author))
        for text in prepared.warnings:
            sink.append(Notice(run_id=options.run_id, at=now, level="warning", text=text))
            self._say(f"warning: {text}")
        if self._writer is not None:
            await self._writer.flush()
            if self._writer.fault is not None:
                raise RollgridError(f"cannot write the log: {self._writer.fault}", "choose another with --log PATH")

    async def _steer(self, engine: Engine) -> None:
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep(engine))
            if engine.plan.prices is not None:
                group.create_task(engine.plan.prices.ready())
            try:
                await engine.run()
            finally:
                keeper.cancel()

    async def _keep(self, engine: Engine) -> None:
        """Report progress, and what the caretaker does."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self._tell(self._options.on_progress, self._progress(engine))
            if self._upkeep is not None:
                await self._upkeep.turn()

    async def _release(self, lease: Lease) -> None:
        try:
            await lease.release()
        except LogError as error:
            # It goes stale by itself: this process is gone in a moment.
            self._say(f"warning: the run could not be given back: {error.message}")

    async def _close(self, engine: Engine, sink: EventSink, state: FinalState, stopped_early: str | None) -> None:
        run_id = self._options.run_id
        now = time.time()
        reason = engine.steering.why_stopped
        sink.append(RunStateChanged(run_id=run_id, at=now, state=state, stopped_early=stopped_early, reason=reason))
        sink.append(
            SessionEnded(
                run_id=run_id, at=now, session=self._prepared.session, active_seconds=engine.steering.active_seconds
            )
        )
        if self._upkeep is not None:
            await self._upkeep.last_words()

    async def _close_whatever_happens(self, closing: Coroutine[Any, Any, None]) -> None:
        """Not even a cancellation leaves the log without its last lines, but it does not wait for a log either."""
        task = asyncio.ensure_future(closing)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._upkeep is not None:
                self._upkeep.give_up()
            await task
            raise

    def _tell_what_is_missing(self, upkeep: Upkeep) -> None:
        """A caller who gets the results is only told; for everybody else the log was all there is."""
        error = not_in_the_log(upkeep, self._options.run_id)
        if not self._options.collect:
            raise error
        self._say(f"warning: {error.message}; {error.hint}")

    def _tell(self, listener: Callable[[T], None], what: T) -> None:
        """Tell whoever follows the run. If nobody can be told (a closed terminal), the run goes on all the same."""
        with suppress(OSError):
            listener(what)

    def _say(self, text: str) -> None:
        self._tell(self._options.on_message, text)

    def _interrupt(self) -> None:
        """First signal: let what is in flight finish. Second: drop it."""
        engine = self._engine
        if engine is None:
            return
        self._interrupts += 1
        if self._upkeep is not None and self._upkeep.interrupt(first=self._interrupts == 1):
            return
        if self._interrupts == 1:
            engine.steering.stop("interrupted", author=self._options.author, reason="interrupted by a signal")
            self._say(f"stopping: {len(engine.flights)} in flight, press again to drop them")
        else:
            engine.drop_flights()

    def _take_result(self, slot: Slot, result: AttemptResult) -> None:
        self._tally.take(slot.task, slot.attempt, result)
        if self._options.collect:
            self._results[slot.task, slot.attempt] = result
            if self._shelf is not None:
                self._shelf.put(result, slot.task)
        if self._sampler is not None:
            self._sampler.ended(slot, result)
        if self._engine is not None:
            self._tell(self._options.on_progress, self._progress(self._engine))

    def _progress(self, engine: Engine) -> RunProgress:
        prepared = self._prepared
        return RunProgress(
            run_id=self._options.run_id,
            state=engine.steering.state,
            n_planned=engine.ledger.targets.total,
            n_ended=self._tally.n_ended,
            n_scored=self._tally.n_scored,
            n_passed=self._tally.n_passed,
            n_in_flight=len(engine.flights),
            active_seconds=prepared.active_seconds + engine.steering.active_seconds,
            log_fault=self._upkeep.fault if self._upkeep is not None else None,
            concurrency=engine.concurrency,
            adaptive=engine.is_adaptive,
            holding=engine.holding,
            n_tasks=len(prepared.tasks),
            n_settled=None if self._sampler is None else self._sampler.n_settled,
        )

    def _result(self, engine: Engine, stopped_early: str | None) -> EnvironmentRunResult:
        prepared = self._prepared
        attempts: dict[int, list[AttemptResult]] = {}
        for (task, _), result in sorted(self._results.items(), key=lambda one: one[0]):
            attempts.setdefault(task, []).append(result)
        return EnvironmentRunResult(
            env_name=prepared.env.name,
            k=engine.ledger.targets.k,
            env_fingerprint=prepared.env_fingerprint,
            policy_fingerprint=prepared.policy_fingerprint,
            task_results=tuple(
                TaskResult(task=task, attempts=tuple(attempts.get(index, ())))
                for index, task in enumerate(prepared.tasks)
            ),
            duration_seconds=prepared.active_seconds + engine.steering.active_seconds,
            stopped_early=stopped_early,
            fingerprint_parts=prepared.fingerprint_parts,
            about=prepared.about(self._options.run_id) | ({} if self._sampler is None else self._sampler.about()),
        )


async def _refuse_stale(writer: LogWriter, run_id: str, as_of: int | None) -> None:
    """A resume was prepared before the run was this runner's; what another one did since would be done again."""
    if as_of is not None and await writer.last_seq(run_id) != as_of:
        raise RunError(f"run {run_id} has gone on since it was looked at", "try again")


async def _prices(prepared: Prepared, options: SessionOptions) -> PriceList | None:
    """The prices of the calls. Raises `RunError` when the cost is limited and would not be known."""
    model = prepared.model
    prices = options.price
    if prices is None and model is not None and may_be_priced(model):
        prices = KnownPrices()
    if options.limits.max_cost is not None and prices is not None:
        await prices.ready()
    judge = _paid_judge(prepared)
    if options.limits.max_cost is not None and prices is not None and judge and not is_priced(prices, judge):
        raise RunError(f"the cost cannot be limited: of the judge, {_unpriced(judge)}", "limit tokens or time")
    if options.limits.max_cost is not None and (prices is None or model is None or not is_priced(prices, model)):
        if model is None:
            raise RunError("the cost cannot be limited: the agent asks its model by itself", "limit tokens or time")
        hint = "limit tokens or time, or give a price with --price IN/OUT"
        raise RunError(f"the cost cannot be limited: {_unpriced(model)}", hint)
    return prices


def _paid_judge(prepared: Prepared) -> Model | None:
    """The model that the scorer asks, where its calls cost something: not one that runs here, or is made up."""
    judge: object = getattr(prepared.env.scorer, "model", None)
    return judge if isinstance(judge, Model) and judge.kind == "real" else None


def _budget(prepared: Prepared, limits: Limits) -> Budget:
    budget = Budget(limits, prepared.spent)
    for task, spent in prepared.known:
        budget.learn(task, spent)
    return budget


def _unpriced(model: Model) -> str:
    if model.kind != "real":
        return f"a {model.kind} model costs nothing"
    return f"no price is known for {model.id} at {model.endpoint}"


def _final_state(stopped_early: str | None) -> FinalState:
    if stopped_early is None:
        return "finished"
    return "interrupted" if stopped_early == "interrupted" else "stopped"
