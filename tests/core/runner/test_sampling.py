"""Attempts are made until it is decided, and decided alike whatever the timing."""

import asyncio
import random
from collections import Counter

import pytest

from rollgrid.analysis.sequential import Claim
from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task
from rollgrid.runner.budget import Limits
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.resume import prepare_resume
from rollgrid.runner.rollouts import arun_rollouts
from rollgrid.runner.sampling import Sampling, SamplingPlan, sampling_against
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.scorer import MismatchError
from rollgrid.store.reader import LogReader
from support.runs import EqualScorer

RATES = {"always": 1.0, "half": 0.5, "never": 0.0, "often": 0.75}


def feed(sampling, task, outcomes, start=1):
    """Attempts in order; what was decided."""
    found = [sampling.ended(task, n, passed) for n, passed in enumerate(outcomes, start=start)]
    return [one for one in found if one is not None]


# -- decisions --------------------------------------------------------------------------------------------------------


def test_a_task_is_settled_once_and_wants_nothing_more():
    sampling = Sampling(SamplingPlan(), ["a", "b"])
    (decision,) = feed(sampling, 0, [True] * 20)
    assert (decision.claim, decision.n_passed, decision.n_scored) == (Claim.saturated, 15, 15)
    assert sampling.is_settled(0)
    assert not sampling.is_settled(1)
    assert sampling.wants(0, 20) == 15


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_attempts_end_changes_no_decision(seed):
    draw = random.Random(seed)
    outcomes = [draw.random() < 0.8 for _ in range(64)]
    in_order = feed(Sampling(SamplingPlan(), ["a"]), 0, outcomes)
    mixed = Sampling(SamplingPlan(), ["a"])
    numbers = list(range(1, 65))
    for first in range(0, 64, 8):
        window = numbers[first : first + 8]
        draw.shuffle(window)
        numbers[first : first + 8] = window
    found = [one for n in numbers if (one := mixed.ended(0, n, outcomes[n - 1])) is not None]
    assert found == in_order


@pytest.mark.parametrize("seed", range(12))
def test_what_is_given_up_and_where_does_not_hang_on_how_many_attempts_come_in_at_once(seed):
    draw = random.Random(seed)
    plan = SamplingPlan(max_k=40)
    outcomes = [draw.random() < 0.85 for _ in range(plan.max_k)]
    in_order = feed(Sampling(plan, ["a"]), 0, outcomes)
    last_first = Sampling(plan, ["a"])
    assert feed(last_first, 0, outcomes[1:], start=2) == []
    assert last_first.ended(0, 1, outcomes[0]) == in_order[-1]


def test_an_attempt_counts_only_when_all_before_it_have_ended():
    sampling = Sampling(SamplingPlan(), ["a"])
    assert feed(sampling, 0, [True] * 30, start=2) == []
    assert sampling.ended(0, 1, True) is not None


def test_unscored_attempts_are_no_evidence():
    sampling = Sampling(SamplingPlan(), ["a"])
    (decision,) = feed(sampling, 0, [True, None, True] * 12)
    assert (decision.claim, decision.n_passed, decision.n_scored) == (Claim.saturated, 15, 15)


def test_a_task_that_gives_no_score_is_left_alone():
    sampling = Sampling(SamplingPlan(), ["a"])
    (decision,) = feed(sampling, 0, [None] * 8)
    assert decision.claim is Claim.unmeasured
    assert sampling.wants(0, 15) == 8


def test_an_attempt_that_is_run_again_is_looked_at_again():
    sampling = Sampling(SamplingPlan(), ["a"])
    assert [one.claim for one in feed(sampling, 0, [None] * 8)] == [Claim.unmeasured]
    decisions = feed(sampling, 0, [True] * 8) + feed(sampling, 0, [True] * 7, start=9)
    assert [(one.claim, one.n_scored) for one in decisions] == [(Claim.saturated, 15)]


def test_a_task_between_two_zones_ends_at_the_largest_number_of_attempts():
    sampling = Sampling(SamplingPlan(max_k=20), ["a"])
    (decision,) = feed(sampling, 0, ([True] * 8 + [False]) * 3)
    assert decision.claim is Claim.too_close
    assert decision.n_scored <= 20
    assert sampling.is_settled(0)
    assert sampling.n_settled == 0
    assert "20 attempts" in decision.says


def test_a_task_that_would_not_be_settled_in_time_is_given_up_before():
    sampling = Sampling(SamplingPlan(max_k=12), ["a"])
    (decision,) = feed(sampling, 0, [True] * 4 + [False] + [True] * 7)
    assert decision.claim is Claim.too_close
    assert decision.n_scored < 12


def test_half_of_an_answer_is_given_when_there_will_be_no_more():
    plan = SamplingPlan(max_k=30, delta=0.3, baseline={"a": (28, 32)})
    (decision,) = feed(Sampling(plan, ["a"]), 0, [True] * 10 + [False] + [True] * 19)
    assert decision.claim in (Claim.not_worse, Claim.same)


def test_tasks_that_the_baseline_does_not_have_are_asked_for_their_zone():
    sampling = Sampling(SamplingPlan(baseline={"a": (8, 8), "c": (0, 0)}), ["a", "b", "c"])
    assert [one.claim for one in feed(sampling, 0, [False] * 3)] == [Claim.worse]
    assert [one.claim for one in feed(sampling, 1, [False] * 15)] == [Claim.hopeless]
    assert [one.claim for one in feed(sampling, 2, [True] * 15)] == [Claim.saturated]


def test_a_task_gets_no_more_at_once_than_it_may_need():
    sampling = Sampling(SamplingPlan(), ["a"])
    target = sampling.wants(0, 4)
    assert 4 <= target <= 8
    feed(sampling, 0, [True] * 10)
    assert sampling.wants(0, 10) == 15  # five more passes settle it, and fewer settle nothing
    assert Sampling(SamplingPlan(max_k=5), ["a"]).wants(0, 4) <= 5


def test_the_task_that_is_nearest_to_a_decision_is_the_most_urgent():
    sampling = Sampling(SamplingPlan(), ["near", "fresh", "between"])
    feed(sampling, 0, [True] * 13)
    feed(sampling, 2, ([True] * 8 + [False]) * 2)
    assert sampling.urgency(0) < sampling.urgency(1) < sampling.urgency(2)


def test_a_plan_comes_back_from_the_log_as_it_was():
    plan = SamplingPlan(max_k=9, delta=0.1, baseline={"a": (1, 2)}, baseline_fingerprint="x")
    assert SamplingPlan.from_dict(plan.to_dict()) == plan
    assert SamplingPlan.from_dict({}) == SamplingPlan()


@pytest.mark.parametrize("given", [{"max_k": 0}, {"delta": 1.5}, {"alpha": 0}])
def test_a_plan_that_makes_no_sense_is_refused(given):
    with pytest.raises(ValueError, match=r"max_k|delta|alpha"):
        SamplingPlan(**given)


# -- sessions ---------------------------------------------------------------------------------------------------------


class Drawn:
    """Answers by the attempt's seed: the same attempt of a run always ends alike."""

    def __init__(self, rates, gate=None):
        self.rates = rates
        self.gate = gate

    async def arun(self, input: str, context):
        rate, draw = self.rates[input], random.Random(context.seed).random()
        await asyncio.sleep(0 if self.gate is None else await self.gate())
        if rate is None:
            raise ValueError("broken")
        return "ok" if draw < rate else "wrong"

    def prompt_fields(self):
        return {"version": "1"}

    def policy(self):
        return {"id": "drawn"}

    def copy_for_attempt(self):
        return self


def environment(rates=None, gate=None):
    rates = rates or RATES
    tasks = tuple(Task(name, "ok", id=name) for name in rates)
    return Environment(name="env", tasks=tasks, scorer=EqualScorer(), agent=Drawn(rates, gate))


def options(log, run_id="run1", **changes):
    return SessionOptions(**{"log": log, "author": "ada", "concurrency": 4, "run_id": run_id, **changes})


def prepared(env, **given):
    plan = SamplingPlan(**given)
    return prepare_run(env, sampling=plan, source={"sampling": plan.to_dict()})


async def settled_of(log, run_id="run1"):
    reader = await LogReader.open(log)
    try:
        run = await reader.run(run_id)
        tasks = await reader.tasks(run_id)
        events = await reader.events(run_id, kinds=("task_settled",))
        return run, {task.id: task.settled for task in tasks}, [event.data["position"] for event in events]
    finally:
        await reader.aclose()


async def resume(log, env, run_id="run1", **changes):
    reader = await LogReader.open(log)
    try:
        row = await reader.run(run_id)
        plan = SamplingPlan.from_dict(row.source["sampling"] | changes)
        fresh = await prepare_resume(prepare_run(env, k=row.k), reader, log, row, author="ada", sampling=plan)
    finally:
        await reader.aclose()
    return await Session(fresh, options(log, run_id)).run()


@pytest.fixture
def log(tmp_path):
    return tmp_path / "logs" / "log.db"


async def test_a_run_ends_when_every_task_is_settled(log):
    outcome = await Session(prepared(environment()), options(log)).run()
    assert (outcome.state, outcome.stopped_early, outcome.exit_code) == ("finished", None, 0)
    run, settled, events = await settled_of(log)
    assert run.n_ended == run.n_planned == outcome.result.n_attempts
    claims = {name: one.claim for name, one in settled.items()}
    assert claims["always"] == "saturated"
    assert claims["never"] == "hopeless"
    assert claims["half"] == "learning"
    assert sorted(events) == [0, 1, 2, 3]
    assert outcome.result.about["settled"]["always"]["n_scored"] == 15
    counts = {one.task.id: one.n_attempts for one in outcome.result.task_results}
    # At most what was in the air when it was settled comes on top.
    assert counts["always"] <= 15 + 3
    assert run.n_ended < 0.5 * 4 * 50


async def test_the_first_wave_samples_every_task(log):
    outcome = await Session(prepared(environment(dict.fromkeys("abcdef", 1.0))), options(log, concurrency=1)).run()
    reader = await LogReader.open(log)
    try:
        started = [
            (event.data["attempt"], event.data["task"])
            for event in await reader.events("run1", kinds=("attempt_started",), limit=10_000)
        ]
    finally:
        await reader.aclose()
    assert started[:24] == [(attempt, task) for attempt in range(1, 5) for task in range(6)]
    assert len(started) == 6 * 15 == outcome.result.n_attempts


async def test_a_run_that_was_cut_short_decides_what_it_would_have_decided(log, tmp_path):
    """Whatever was in the air, and in whatever order it would have ended."""
    other = tmp_path / "other.db"
    await Session(prepared(environment()), options(other)).run()
    _, whole, _ = await settled_of(other)

    hold = asyncio.Event()
    calls = Counter[str]()

    async def slow():
        calls["n"] += 1
        if calls["n"] > 21:
            await hold.wait()
        return random.random() * 0.002

    session = asyncio.create_task(Session(prepared(environment(gate=slow)), options(log)).run())
    while calls["n"] < 24:  # noqa: ASYNC110 - the agent under test has no event to wait for
        await asyncio.sleep(0.01)
    session.cancel()
    with pytest.raises(asyncio.CancelledError):
        await session
    run, cut, _ = await settled_of(log)
    assert run.state == "interrupted"
    assert any(one is None for one in cut.values())

    outcome = await resume(log, environment())
    assert (outcome.state, outcome.stopped_early) == ("finished", None)
    run, settled, events = await settled_of(log)
    assert settled == whole
    assert sorted(events) == [0, 1, 2, 3]
    assert run.n_planned == outcome.result.n_attempts


async def test_a_settled_task_is_left_alone_by_a_resume(log):
    rates = {"always": 1.0, "broken": None}
    outcome = await Session(prepared(environment(rates)), options(log)).run()
    assert outcome.state == "finished"
    _, settled, _ = await settled_of(log)
    assert {name: one.claim for name, one in settled.items()} == {"always": "saturated", "broken": "unmeasured"}
    before = outcome.result.n_attempts
    outcome = await resume(log, environment(rates))
    assert (outcome.state, outcome.result.n_attempts) == ("finished", before)


async def test_a_resume_with_a_larger_number_of_attempts_takes_up_what_was_too_close(log):
    rates = {"always": 1.0, "near": 0.9}
    await Session(prepared(environment(rates), max_k=6), options(log)).run()
    _, settled, _ = await settled_of(log)
    assert {one.claim for one in settled.values()} == {"too close"}
    outcome = await resume(log, environment(rates), max_k=200)
    _, settled, _ = await settled_of(log)
    assert settled["always"].claim == "saturated"
    assert settled["near"].claim in ("saturated", "learning")
    assert outcome.state == "finished"


async def test_a_budget_ends_it_and_a_resume_goes_on(log):
    limits = Limits(None, None, 1e-9)
    outcome = await Session(prepared(environment()), options(log, limits=limits)).run()
    assert outcome.stopped_early == "budget"
    _, settled, _ = await settled_of(log)
    assert not any(settled.values())
    outcome = await resume(log, environment())
    _, settled, _ = await settled_of(log)
    assert outcome.state == "finished"
    assert all(settled.values())


async def test_a_storm_stops_it_before_anything_is_claimed(log):
    rates = dict.fromkeys("abcdef", None)
    outcome = await Session(prepared(environment(rates)), options(log)).run()
    assert (outcome.stopped_early, outcome.exit_code) == ("error-storm", 3)
    _, settled, _ = await settled_of(log)
    assert not any(settled.values())


async def test_a_script_may_ask_for_it_and_for_what_changed(monkeypatch, log):
    monkeypatch.setenv("ROLLGRID_LOG", str(log))
    before = await arun_rollouts(environment(), k=16)
    after = await arun_rollouts(environment(RATES | {"always": 0.0}), until="decided", baseline=before, max_k=40)
    claims = {name: one["claim"] for name, one in after.about["settled"].items()}
    assert claims["always"] == "worse"
    assert set(claims) == set(RATES)
    assert after.task_result("always").n_attempts <= 6
    # The seed's report and its frozen summary are as ever.
    assert set(after.summary()["tasks"][0]) == {"id", "pass_rate", "mean_value", "n_unscored", "learning_zone"}


async def test_a_baseline_of_another_environment_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    other = await arun_rollouts(environment({"x": 1.0}), k=1)
    with pytest.raises(MismatchError, match="another environment"):
        await arun_rollouts(environment(), until="decided", baseline=other)


async def test_until_knows_one_word():
    with pytest.raises(ValueError, match="decided"):
        await arun_rollouts(environment(), until="bored")


def test_counts_of_a_baseline_go_into_the_plan_and_so_into_the_log():
    assert sampling_against(None).baseline is None
