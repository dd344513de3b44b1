import asyncio
import time

import pytest

from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task
from rollgrid.errors import RunError
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.resume import prepare_resume
from rollgrid.runner.rollouts import arun_rollouts, run_rollouts
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.store.commands import post_command, wait_for_answer
from rollgrid.store.lease import acquire
from rollgrid.store.reader import LogReader
from support.runs import EqualScorer


class Agent:
    """A foreign agent with fingerprints; `answer` decides what it says."""

    def __init__(self, answer, version="1"):
        self.answer = answer
        self.version = version

    async def arun(self, input: str):
        return await self.answer(input)

    def prompt_fields(self):
        return {"version": self.version}

    def policy(self):
        return {"id": "fake"}

    def copy_for_attempt(self):
        return self


async def ok(prompt):
    await asyncio.sleep(0)
    return "ok"


def environment(answer=ok, n=3, version="1", name="env"):
    tasks = tuple(Task(f"q{i}", "ok", id=f"task{i}") for i in range(n))
    return Environment(name=name, tasks=tasks, scorer=EqualScorer(), agent=Agent(answer, version))


def options(log, run_id="run1", **changes):
    return SessionOptions(**{"log": log, "author": "ada", "concurrency": 4, "run_id": run_id, **changes})


@pytest.fixture
def log(tmp_path):
    return tmp_path / "logs" / "log.db"


async def rows_of(log, run_id="run1"):
    reader = await LogReader.open(log)
    try:
        return await reader.run(run_id), await reader.attempts(run_id)
    finally:
        await reader.aclose()


async def resume(log, env, run_id="run1", k=None, **changes):
    reader = await LogReader.open(log)
    try:
        row = await reader.run(run_id)
        prepared = await prepare_resume(prepare_run(env, k=row.k), reader, log, row, author="ada", k=k)
    finally:
        await reader.aclose()
    return await Session(prepared, options(log, run_id, **changes)).run()


async def test_a_run_is_in_the_log_as_it_is_in_the_result(log):
    outcome = await Session(prepare_run(environment(), k=4), options(log)).run()
    assert (outcome.state, outcome.exit_code) == ("finished", 0)
    run, attempts = await rows_of(log)
    assert (run.state, run.alive, run.n_ended, run.n_scored, run.n_passed) == ("finished", False, 12, 12, 12)
    assert len(attempts) == outcome.result.n_attempts == 12
    assert run.env_fingerprint == outcome.result.env_fingerprint


async def test_a_run_that_was_stopped_is_finished_by_a_resume_without_repeating_what_was_scored(log):
    calls = []

    async def half(prompt):
        calls.append(prompt)
        if len(calls) > 5:
            await asyncio.sleep(3600)
        return "ok"

    session = asyncio.create_task(Session(prepare_run(environment(half), k=4), options(log)).run())
    while len(calls) < 9:  # noqa: ASYNC110 - the agent under test has no event to wait for
        await asyncio.sleep(0.01)
    session.cancel()
    with pytest.raises(asyncio.CancelledError):
        await session
    run, _ = await rows_of(log)
    assert (run.state, run.n_scored, run.alive) == ("interrupted", 5, False)

    calls.clear()
    outcome = await resume(log, environment())
    assert outcome.state == "finished"
    assert outcome.result.n_scored == 12
    run, attempts = await rows_of(log)
    assert (run.state, run.n_scored, run.n_ended, run.session) == ("finished", 12, 12, 2)
    current = [(row.task, row.attempt) for row in attempts if row.superseded is None]
    assert len(current) == len(set(current)) == 12
    assert run.n_superseded == 4


async def test_a_resume_keeps_transcripts_of_earlier_sessions(log):
    await Session(prepare_run(environment(), k=1), options(log)).run()
    outcome = await resume(log, environment(), k=2)
    first = outcome.result.task_results[0].attempts[0]
    assert first.run.content == "ok"
    assert outcome.result.k == 2
    assert outcome.result.n_scored == 6


async def test_a_changed_environment_is_not_resumed_and_the_changed_part_is_named(log):
    await Session(prepare_run(environment(), k=1), options(log)).run()
    with pytest.raises(RunError, match=r"has changed since it was started \(prompt\)"):
        await resume(log, environment(version="2"))
    with pytest.raises(RunError, match=r"has changed since it was started \(tasks\)"):
        await resume(log, environment(n=2))


async def test_two_runners_cannot_hold_one_run(log):
    await Session(prepare_run(environment(), k=1), options(log)).run()
    lease = await acquire(log, "run1")
    with pytest.raises(RunError, match="is being run by pid"):
        await resume(log, environment(), k=2)
    await lease.release()


async def test_commands_from_elsewhere_are_carried_out_and_answered(log):
    gate = asyncio.Event()

    async def wait(prompt):
        await gate.wait()
        return "ok"

    ready = asyncio.Event()
    session = asyncio.create_task(
        Session(prepare_run(environment(wait), k=4), options(log, on_ready=lambda _: ready.set())).run()
    )
    await ready.wait()
    number = await post_command(log, "run1", "cancel", {}, "bob")
    answer = await wait_for_answer(log, number, 5)
    assert answer is not None
    assert (answer.accepted, answer.answer) == (True, "stopping: what is in flight may finish")
    gate.set()
    outcome = await session
    assert (outcome.state, outcome.exit_code, outcome.result.n_scored) == ("interrupted", 130, 4)


async def test_without_a_log_a_run_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    result = await arun_rollouts(environment(), k=2)
    assert result.n_scored == 6
    assert list(tmp_path.iterdir()) == []


def test_the_sync_door_writes_to_the_projects_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROLLGRID_LOG", raising=False)
    result = run_rollouts(environment(), k=2)
    assert result.n_scored == 6
    assert (tmp_path / ".rollgrid" / "log.db").is_file()


async def test_the_sync_door_is_closed_inside_a_running_loop():
    with pytest.raises(RuntimeError, match="await arun_rollouts instead"):
        run_rollouts(environment(), k=1)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"k": 0}, ValueError),
        ({"concurrency": 0}, ValueError),
        ({"k": "8"}, TypeError),
        ({"concurrency": None}, TypeError),
        ({"concurrency": 1.5}, TypeError),
        ({"concurrency": True}, TypeError),
        ({"concurrency": "many"}, ValueError),
        ({"model": "gpt-5"}, TypeError),
    ],
)
async def test_arguments_that_make_no_sense_are_refused_before_anything_runs(arguments, error, monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    with pytest.raises(error):
        await arun_rollouts(environment(), **arguments)


async def test_tasks_must_be_the_environments_own(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    env = environment()
    result = await arun_rollouts(env, k=1, tasks=env.tasks[1:])
    assert [row.task.id for row in result.task_results] == ["task1", "task2"]
    with pytest.raises(ValueError, match="rebuilt"):
        await arun_rollouts(env, k=1, tasks=[Task("q1", "ok", id="task1")])


async def test_nothing_scored_is_inconclusive(log):
    async def bad(prompt):
        raise ZeroDivisionError

    outcome = await Session(prepare_run(environment(bad, n=1), k=2), options(log)).run()
    assert (outcome.state, outcome.exit_code) == ("finished", 3)


async def test_a_clock_that_is_set_back_does_not_keep_commands_from_a_runner(log, monkeypatch):
    begun = asyncio.Event()

    async def answer(prompt):
        begun.set()
        await asyncio.sleep(1.0)
        return "ok"

    session = asyncio.create_task(Session(prepare_run(environment(answer), k=1), options(log)).run())
    await begun.wait()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)
    answered = await wait_for_answer(log, await post_command(log, "run1", "concurrency", {"limit": 2}, "ada"), 10)
    assert answered.accepted, answered.answer
    assert (await session).state == "finished"


async def test_what_was_left_behind_does_not_speak_to_a_log_that_is_closed(log):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    release, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(prompt):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return "ok"

    tasks = (Task("q", "ok", id="t"),)
    env = Environment(name="env", tasks=tasks, scorer=EqualScorer(), agent=Agent(stubborn), timeout_seconds=0.2)
    outcome = await Session(prepare_run(env, k=1), options(log)).run()
    assert outcome.state == "finished"
    release.set()
    await ended.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert told == []
