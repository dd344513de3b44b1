"""Carries out what `sampling` decides: events, the attempts that tasks want, and which comes first."""

import asyncio
import time
from typing import Any

from rollgrid.environments.attempt import AttemptResult
from rollgrid.runner.engine import Engine
from rollgrid.runner.prepare import Prepared
from rollgrid.runner.sampling import Decision, Sampling
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink
from rollgrid.store.events import TaskSettled


async def make_sampler(prepared: Prepared, engine: Engine, sink: EventSink) -> "Sampler | None":
    """The sampler of a run that samples until something is decided, None for others."""
    plan = prepared.sampling
    if plan is None:
        return None
    sampling = Sampling(plan, [task.id or "" for task in prepared.tasks], prepared.claims)
    for (task, attempt), result in prepared.kept.items():
        sampling.known(task, attempt, None if result.score is None else result.score.passed)
    await asyncio.to_thread(sampling.warm)
    return Sampler(sampling, plan.first_wave, engine, sink)


class Sampler:
    """Steers one engine. Everything runs on its event loop."""

    def __init__(self, sampling: Sampling, first_wave: int, engine: Engine, sink: EventSink) -> None:
        self._sampling = sampling
        self._first_wave = first_wave
        self._engine = engine
        self._sink = sink
        self._told: dict[str, dict[str, Any]] = {}

    def about(self) -> dict[str, Any]:
        """What was settled in this session, by task id, for the result."""
        return {"settled": self._told}

    @property
    def n_settled(self) -> int:
        return self._sampling.n_settled

    def begin(self) -> None:
        """Decide on what earlier sessions left."""
        targets = self._engine.ledger.targets
        wanted: dict[int, int] = {}
        for task in range(len(self._sampling)):
            self._tell(self._sampling.look(task))
            wanted[task] = self._sampling.wants(task, targets[task])
        self._engine.steering.want(wanted, reason="until decided")
        urgencies = {task: self._sampling.urgency(task) for task in wanted if not self._sampling.is_settled(task)}
        self._engine.ledger.schedule.prefer(urgencies, self._first_wave)

    def ended(self, slot: Slot, result: AttemptResult) -> None:
        """Look at an attempt that has just ended."""
        passed = None if result.score is None else result.score.passed
        decision = self._sampling.ended(slot.task, slot.attempt, passed)
        self._tell(decision)
        target = self._engine.ledger.targets[slot.task]
        settled = self._sampling.is_settled(slot.task)
        if settled and decision is None:
            return  # what a person asks for beyond a claim is theirs
        wanted = self._sampling.wants(slot.task, target)
        if wanted != target:
            reason = decision.claim.value if decision is not None else "not decided yet"
            self._engine.steering.want({slot.task: wanted}, reason=reason)
        if not settled:
            self._engine.ledger.schedule.prefer({slot.task: self._sampling.urgency(slot.task)}, self._first_wave)

    def _tell(self, decision: Decision | None) -> None:
        if decision is not None:
            name = self._engine.plan.tasks[decision.task].id or ""
            self._told[name] = {
                "claim": decision.claim.value,
                "says": decision.says,
                "evidence": decision.evidence,
                "n_passed": decision.n_passed,
                "n_scored": decision.n_scored,
            }
            self._sink.append(
                TaskSettled(
                    run_id=self._engine.plan.run_id,
                    at=time.time(),
                    position=decision.task,
                    claim=decision.claim.value,
                    says=decision.says,
                    evidence=decision.evidence,
                    n_passed=decision.n_passed,
                    n_scored=decision.n_scored,
                )
            )
