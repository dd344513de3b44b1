"""Sessions over their whole life: budgets across resumes, sessions that were killed, tasks that are left out."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from rollgrid.agent.agent import Agent
from rollgrid.environments.environment import Environment
from rollgrid.environments.from_log import aresult_from_log
from rollgrid.environments.task import Task
from rollgrid.errors import ModelError, RunError
from rollgrid.models.base import ModelReply, Usage
from rollgrid.models.pricing import GivenPrice
from rollgrid.runner.budget import Limits
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.resume import prepare_resume
from rollgrid.runner.rollouts import arun_rollouts
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded, AttemptStarted, RunStateChanged, SessionStarted
from rollgrid.store.reader import LogReader
from rollgrid.store.writer import LogWriter
from support.models import ScriptedModel
from support.runs import EqualScorer

REPLY = ModelReply(text="ok", usage=Usage(80, 20))


def environment(n=3, model=None):
    tasks = tuple(Task(f"q{i}", "ok", id=f"task{i}") for i in range(n))
    return Environment(name="env", tasks=tasks, scorer=EqualScorer(), agent=Agent(model=model or ScriptedModel(REPLY)))


@pytest.fixture
def log(tmp_path):
    return tmp_path / "logs" / "log.db"


def options(log, **changes):
    return SessionOptions(**{"log": log, "author": "ada", "concurrency": 2, "run_id": "run1", **changes})


async def start(log, env, k=2, **changes):
    return await Session(prepare_run(env, k=k), options(log, **changes)).run()


async def resume(log, env, *, k=None, more=None, only=None, **changes):
    async with aclosing(await LogReader.open(log)) as reader:
        row = await reader.run("run1")
        fresh = prepare_run(env, k=row.k)
        prepared = await prepare_resume(fresh, reader, log, row, author="ada", k=k, more=more, only=only)
    return await Session(prepared, options(log, **changes)).run()


async def read(log):
    async with aclosing(await LogReader.open(log)) as reader:
        return await reader.run("run1"), await reader.attempts("run1")


async def test_a_budget_stops_a_run_and_a_larger_one_lets_it_go_on(log):
    first = await start(log, environment(), k=4, limits=Limits(max_tokens=500))
    assert (first.state, first.stopped_early, first.exit_code) == ("stopped", "budget", 4)
    assert first.result.n_scored == 5
    assert first.reason == "budget, tokens: 500 of 500 are used"

    again = await resume(log, environment(), limits=Limits(max_tokens=500))
    assert (again.stopped_early, again.result.n_scored) == ("budget", 5)

    more = await resume(log, environment(), limits=Limits(max_tokens=1000))
    assert (more.stopped_early, more.result.n_scored) == ("budget", 10)

    last = await resume(log, environment())
    assert (last.state, last.exit_code, last.result.n_scored) == ("finished", 0, 12)
    row, _ = await read(log)
    assert row.input_tokens + row.output_tokens == 1200


async def test_cost_is_kept_with_each_attempt_and_summed_over_sessions(log):
    price = GivenPrice(1000.0, 1000.0)
    await start(log, environment(), k=1, price=price)
    await resume(log, environment(), k=2, price=price)
    row, attempts = await read(log)
    assert [one.cost for one in attempts] == [pytest.approx(0.1)] * 6
    assert row.cost == pytest.approx(0.6)


async def test_a_limit_on_a_cost_that_nobody_knows_is_refused_before_anything_is_paid(log):
    model = ScriptedModel(REPLY)
    with pytest.raises(RunError, match="no price is known for scripted at scripted"):
        await start(log, environment(model=model), limits=Limits(max_cost=1.0))
    assert model.requests == []
    row, _ = await read(log)
    assert row is None


async def test_a_limit_on_a_cost_asks_for_the_price_of_the_judge_too(log):
    class Judged(EqualScorer):
        model = ScriptedModel("yes", id="judge")

    class OfTheAgent:
        async def ready(self):
            pass

        def cost(self, model, reply):
            return None if model.id == "judge" else 0.1

    env = replace(environment(), scorer=Judged())
    with pytest.raises(RunError, match="of the judge, no price is known for judge at scripted"):
        await start(log, env, price=OfTheAgent(), limits=Limits(max_cost=1.0))
    assert (await start(log, env, price=OfTheAgent())).state == "finished"


async def test_the_library_door_takes_limits_too(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    result = await arun_rollouts(environment(), k=4, concurrency="auto", max_tokens=700)
    assert (result.stopped_early, result.n_scored) == ("budget", 7)
    with pytest.raises(ValueError, match="concurrency must be a number or 'auto'"):
        await arun_rollouts(environment(), concurrency="fast")


async def test_a_resume_can_be_restricted_to_some_tasks(log):
    await start(log, environment(), k=3, limits=Limits(max_tokens=300))
    some = await resume(log, environment(), only=["task1"], limits=Limits(max_tokens=9000))
    assert (some.state, some.stopped_early, some.exit_code) == ("stopped", "restricted", 0)
    _, attempts = await read(log)
    assert sorted((one.task, one.attempt) for one in attempts) == [(0, 1), (1, 1), (1, 2), (1, 3), (2, 1)]
    rest = await resume(log, environment(), only=["task0", "task2"], limits=Limits(max_tokens=9000))
    assert (rest.state, rest.stopped_early, rest.result.n_scored) == ("finished", None, 9)
    with pytest.raises(RunError, match="run run1 has no task nobody"):
        await resume(log, environment(), only=["nobody"])


async def test_a_task_can_be_given_more_attempts_than_the_others_and_keeps_them(log):
    await start(log, environment(), k=1)
    grown = await resume(log, environment(), k=3, only=["task1"])
    assert (grown.state, grown.stopped_early) == ("finished", None)
    assert [len(one.attempts) for one in grown.result.task_results] == [1, 3, 1]
    row, _ = await read(log)
    assert (row.k, row.n_planned, row.n_ended, row.k_text) == (1, 5, 5, "1+")
    loaded = await aresult_from_log(log, "run1")
    assert [[one.index for one in task.attempts] for task in loaded.task_results] == [[1], [1, 2, 3], [1]]
    await resume(log, environment(), k=2)
    row, _ = await read(log)
    assert (row.k, row.n_planned, row.n_ended) == (2, 7, 7)
    with pytest.raises(RunError, match="run run1 has k=3 already, and k can only grow"):
        await resume(log, environment(), k=2, only=["task1"])


async def test_more_attempts_of_a_finished_run_are_made_and_nothing_else_is(log):
    failing = ModelReply(text="ok", usage=Usage(80, 20))
    model = ScriptedModel(ModelError("gone", kind="server", status=404), failing)
    await start(log, environment(n=2, model=model), k=1, concurrency=1)
    more = await resume(log, environment(n=2), more=2, only=["task1"])
    assert (more.state, more.stopped_early) == ("finished", None)
    row, attempts = await read(log)
    assert sorted((one.task, one.attempt, one.take) for one in attempts) == [(0, 1, 1), (1, 1, 1), (1, 2, 1), (1, 3, 1)]
    assert (row.k, row.n_planned, row.n_superseded) == (1, 4, 0)
    everywhere = await resume(log, environment(n=2), more=1)
    row, _ = await read(log)
    assert (row.k, row.n_planned, row.n_ended) == (2, 6, 6)
    assert [len(one.attempts) for one in everywhere.result.task_results] == [2, 4]
    with pytest.raises(RunError, match="must be 1 to 1000"):
        await resume(log, environment(n=2), more=0)


async def test_more_attempts_of_a_run_that_was_stopped_leave_its_missing_ones_missing(log):
    await start(log, environment(), k=2, limits=Limits(max_tokens=400))
    more = await resume(log, environment(), more=1, only=["task2"], limits=Limits(max_tokens=9000))
    assert (more.state, more.stopped_early, more.result.n_attempts) == ("stopped", "restricted", 5)
    rest = await resume(log, environment(), limits=Limits(max_tokens=9000))
    assert (rest.state, rest.result.n_attempts) == ("finished", 7)


async def test_k_can_only_grow(log):
    await start(log, environment(), k=2)
    with pytest.raises(RunError, match="run run1 has k=2 already, and k can only grow"):
        await resume(log, environment(), k=1)


async def kill_in_the_middle(log, *, paused=False):
    """A log as a runner leaves it that was killed 60 seconds after its start, an attempt in flight."""
    await start(log, environment(), k=1)
    async with LogWriter.open_cm(log) as writer:
        at = 1_000_000.0
        writer.append(
            SessionStarted(run_id="run1", at=at, session=2, pid=1, host="h", boot_id="b", author="ada", concurrency=2)
        )
        writer.append(RunStateChanged(run_id="run1", at=at, state="running"))
        if paused:
            writer.append(RunStateChanged(run_id="run1", at=at + 10, state="paused"))
            writer.append(RunStateChanged(run_id="run1", at=at + 30, state="running"))
        writer.append(AttemptStarted(run_id="run1", at=at + 60, task=0, attempt=2, take=1))


@pytest.mark.parametrize(("paused", "active"), [(False, 60.0), (True, 40.0)])
async def test_the_time_of_a_session_that_was_killed_is_kept(log, paused, active):
    await kill_in_the_middle(log, paused=paused)
    before, _ = await read(log)
    outcome = await resume(log, environment(), k=2)
    after, attempts = await read(log)
    assert after.active_seconds - before.active_seconds == pytest.approx(active, abs=5)
    assert outcome.result.n_scored == 6
    lost = [one for one in attempts if one.error_type == "RunnerLost"]
    assert [(one.task, one.attempt, one.take, one.superseded) for one in lost] == [(0, 2, 1, "resume")]
    again, _ = await read(log)
    assert again.active_seconds == after.active_seconds


async def test_what_an_attempt_had_paid_when_its_runner_was_killed_is_kept(log):
    await kill_in_the_middle(log)
    async with LogWriter.open_cm(log) as writer:
        writer.put_live("run1", 0, 2, 1, encode({"metrics": {"input_tokens": 7, "output_tokens": 3, "cost": 0.25}}))
    before, _ = await read(log)
    outcome = await resume(log, environment(), k=2, limits=Limits(max_tokens=before.input_tokens + 1000))
    after, _ = await read(log)
    assert after.cost == 0.25
    assert after.input_tokens + after.output_tokens == 600 + 10
    assert outcome.state == "finished"


async def test_a_model_that_was_changed_is_named(log):
    await start(log, environment(), k=1)
    with pytest.raises(RunError, match=r"model of run run1 has changed .*it was scripted, it is other"):
        await resume(log, environment(model=ScriptedModel(REPLY, id="other")))


async def test_the_scores_of_a_resumed_run_are_those_of_one_that_was_never_stopped(log, tmp_path):
    whole = await start(tmp_path / "other" / "log.db", environment(), k=4)
    await start(log, environment(), k=4, limits=Limits(max_tokens=300))
    parts = await resume(log, environment(), limits=Limits(max_tokens=10_000))
    assert parts.result.summary() | {"stopped_early": None} == whole.result.summary() | {"stopped_early": None}
    one, other = await read(log), await read(tmp_path / "other" / "log.db")
    for name in ("n_started", "n_ended", "n_scored", "n_passed", "n_errors", "input_tokens", "output_tokens"):
        assert getattr(one[0], name) == getattr(other[0], name), name


async def test_a_listener_that_is_gone_does_not_end_the_run(log):
    def gone(_):
        raise BrokenPipeError

    outcome = await start(log, environment(), on_progress=gone, on_message=gone, on_ready=gone)
    assert outcome.state == "finished"


async def test_attempts_end_in_the_log_before_others_take_their_place(log, monkeypatch):
    """Whatever moment a runner is killed in, no more than its concurrency of attempts is run again."""
    unsaved_most = 0
    original = LogWriter.append

    def append(self, event, body=None):
        nonlocal unsaved_most
        original(self, event, body)
        in_buffer = [one.event for one in self._buffer]
        unsaved_most = max(unsaved_most, sum(isinstance(one, AttemptEnded) for one in in_buffer))

    monkeypatch.setattr(LogWriter, "append", append)
    outcome = await start(log, environment(n=20), k=10, concurrency=3)
    assert outcome.result.n_scored == 200
    assert 1 <= unsaved_most <= 3


async def test_two_sessions_at_once_do_not_run_one_run(log):
    gate = asyncio.Event()

    class Waits(ScriptedModel):
        async def respond(self, request, on_text=None):
            await gate.wait()
            return REPLY

    ready = asyncio.Event()
    env = environment(model=Waits(REPLY))
    session = asyncio.create_task(start(log, env, on_ready=lambda _: ready.set()))
    await ready.wait()
    with pytest.raises(RunError, match="is being run by pid"):
        await resume(log, env)
    gate.set()
    assert (await session).state == "finished"
