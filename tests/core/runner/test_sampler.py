"""A run that samples until it is decided, steered by people and by storms."""

import asyncio

import pytest

from rollgrid.runner.control import carry_out
from rollgrid.runner.engine import Engine
from rollgrid.runner.sampler import Sampler
from rollgrid.runner.sampling import Sampling, SamplingPlan
from rollgrid.store.events import AttemptSuperseded, StormCalled, TargetsChanged, TaskSettled
from rollgrid.store.rows import CommandRow
from support.runs import ListSink, make_plan


class Sampled:
    """An engine with a sampler, and what came of it."""

    def __init__(self, behaviour, *, n_tasks=2, concurrency=2, **plan):
        self.sink = ListSink()
        self.results = {}
        made = make_plan(behaviour, n_tasks=n_tasks, k=4, **plan)
        self.engine = Engine(made, self.sink, concurrency=concurrency, on_result=self.take)
        sampling = Sampling(SamplingPlan(), [task.id or "" for task in made.tasks])
        self.sampler = Sampler(sampling, 4, self.engine, self.sink)

    def take(self, slot, result):
        self.results[slot.task, slot.attempt] = result
        self.sampler.ended(slot, result)

    async def run(self):
        self.sampler.begin()
        await self.engine.run()

    def claims(self):
        return [(event.position, event.claim) for event in self.sink.of(TaskSettled)]

    def n_of(self, task):
        return sum(one == task for one, _ in self.results)


async def by_prompt(prompt, context):
    await asyncio.sleep(0)
    return "ok" if prompt == "q0" else "wrong"


async def test_no_attempt_is_made_that_could_settle_nothing():
    run = Sampled(by_prompt, concurrency=16)
    await run.run()
    assert sorted(run.claims()) == [(0, "saturated"), (1, "hopeless")]
    assert (run.n_of(0), run.n_of(1)) == (15, 15)
    assert run.engine.ledger.targets.total == 30


async def test_what_a_person_asks_for_beyond_a_claim_is_made_and_the_claim_stays():
    asked = []

    async def answer(prompt, context):
        if not asked and run.claims():
            asked.append(
                carry_out(run.engine, CommandRow(1, "run", 0.0, "ada", "more", {"n": 3, "tasks": [0]}, None, None))
            )
        return await by_prompt(prompt, context)

    run = Sampled(answer, concurrency=1)
    await run.run()
    assert asked[0][0]
    assert (run.n_of(0), run.n_of(1)) == (18, 15)
    assert sorted(run.claims()) == [(0, "saturated"), (1, "hopeless")]


async def test_after_a_storm_its_attempts_are_made_again_and_nothing_is_claimed_of_them():
    broken = True

    async def answer(prompt, context):
        await asyncio.sleep(0)
        if broken:
            raise ConnectionError("no route")
        return await by_prompt(prompt, context)

    run = Sampled(answer, n_tasks=1, concurrency=4, storm_action="pause")
    going = asyncio.create_task(run.run())
    async with asyncio.timeout(20):
        while run.engine.steering.state != "paused" or run.engine.flights:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)
    broken = False
    run.engine.steering.resume("ada")
    await going
    assert len(run.sink.of(StormCalled)) == 1
    assert run.sink.of(AttemptSuperseded)
    assert run.claims()[-1] == (0, "saturated")
    assert all(result.score is not None for result in run.results.values())


@pytest.mark.parametrize("concurrency", [1, 3, 64])
async def test_the_log_is_not_told_of_every_step(concurrency):
    run = Sampled(by_prompt, concurrency=concurrency)
    await run.run()
    assert len(run.sink.of(TargetsChanged)) <= len(run.results) / 2
