"""Whole runs whose log cannot be written for a while, or not any more."""

import asyncio
import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task
from rollgrid.errors import LogError, RunError
from rollgrid.runner import upkeep as upkeep_module
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.rescue import rescue_path, take_in
from rollgrid.runner.resume import prepare_resume
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.store import connection as connection_module
from rollgrid.store import writer as writer_module
from rollgrid.store.commands import post_command, wait_for_answer
from rollgrid.store.events import Notice
from rollgrid.store.lease import acquire
from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from support.fire import can_mount, eventually, fill, small_disk
from support.log_events import derived_rows, query
from support.runs import EqualScorer

RUN_ID = "run1"


class Gate:
    """An agent whose answers come when they are let through."""

    def __init__(self) -> None:
        self.started = 0
        self._turns = asyncio.Semaphore(0)
        self.fails: Exception | None = None

    def let(self, n: int = 10_000) -> None:
        for _ in range(n):
            self._turns.release()

    async def arun(self, input: str) -> str:
        self.started += 1
        await self._turns.acquire()
        if self.fails is not None:
            raise self.fails
        return "ok"

    def prompt_fields(self) -> dict[str, Any]:
        return {}

    def policy(self) -> dict[str, Any]:
        return {"id": "gate"}

    def copy_for_attempt(self) -> "Gate":
        return self


def environment(agent: Gate, n: int = 4) -> Environment:
    tasks = tuple(Task(f"q{i}", "ok", id=f"task{i}") for i in range(n))
    return Environment(name="env", tasks=tasks, scorer=EqualScorer(), agent=agent)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(connection_module, "BUSY_SECONDS", 0.02)
    monkeypatch.setattr(upkeep_module, "PATIENCE_SECONDS", 0.1)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "log.db"


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path, None, None]:
    if not can_mount():
        pytest.skip("only root may mount a small disk")
    try:
        with small_disk(tmp_path / "disk", 2 * 1024 * 1024):
            yield tmp_path / "disk"
    except PermissionError:
        pytest.skip("mounting is not allowed here")


class Run:
    """A session that goes on beside the test."""

    def __init__(self, log: Path, agent: Gate, **options: Any) -> None:
        self.log = log
        self.agent = agent
        self.said: list[str] = []
        self.states: list[str] = []
        self.ready = asyncio.Event()
        self._k = options.pop("k", 5)
        self._prepared = options.pop("prepared", None) or prepare_run(environment(agent), k=self._k)
        values = {"author": "ada", "concurrency": 2, "run_id": RUN_ID, "collect": False, **options}
        self.session = Session(
            self._prepared,
            SessionOptions(
                log=log,
                on_ready=lambda _: self.ready.set(),
                on_message=self.said.append,
                on_progress=lambda progress: self.states.append(progress.state),
                **values,
            ),
        )
        self.task = asyncio.create_task(self.session.run())

    def heard(self, words: str) -> bool:
        return any(words in text for text in self.said)


@asynccontextmanager
async def running(log: Path, agent: Gate, **options: Any) -> AsyncGenerator[Run, None]:
    run = Run(log, agent, **options)
    try:
        async with asyncio.timeout(60):
            ready = asyncio.create_task(run.ready.wait())
            await asyncio.wait({ready, run.task}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            yield run
    finally:
        # Once to stop it, once more not to wait for its log.
        while not run.task.done():
            run.task.cancel()
            await asyncio.wait({run.task}, timeout=0.5)


@contextlib.contextmanager
def locked(log: Path) -> Generator[None, None, None]:
    """Another process's transaction keeps everybody from writing."""
    with contextlib.closing(sqlite3.connect(log, isolation_level=None, timeout=30)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def rows_of(log: Path) -> tuple[Any, list[Any]]:
    reader = await LogReader.open(log)
    try:
        return await reader.run(RUN_ID), await reader.attempts(RUN_ID)
    finally:
        await reader.aclose()


async def assert_complete(log: Path, n: int) -> None:
    run, attempts = await rows_of(log)
    assert (run.state, run.n_ended, run.n_scored, run.n_passed, run.n_superseded) == ("finished", n, n, n, 0)
    assert len({(row.task, row.attempt) for row in attempts}) == len(attempts) == n
    assert query(log, "PRAGMA integrity_check") == [("ok",)]
    before = derived_rows(log)
    await rebuild(log)
    assert derived_rows(log) == before


def states(log: Path) -> list[tuple[str, str]]:
    rows = query(
        log,
        "SELECT json_extract(data, '$.state'), coalesce(json_extract(data, '$.reason'), '') FROM event"
        " WHERE kind = 'run_state_changed' ORDER BY seq",
    )
    return [(state, reason) for state, reason in rows]


def notices(log: Path) -> list[str]:
    return [text for (text,) in query(log, "SELECT json_extract(data, '$.text') FROM event WHERE kind = 'notice'")]


# -- a fault that passes


async def test_a_run_pauses_while_its_disk_is_full_and_goes_on_by_itself(disk):
    log, agent = disk / "log.db", Gate()
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        filler = fill(disk)
        agent.let(2)
        await eventually(lambda: run.heard("full; nothing more is started until it can be"))
        await eventually(lambda: "paused" in run.states)
        assert agent.started <= 4, "what is paid for while nothing can be kept is bounded by the concurrency"
        agent.let()
        started = agent.started
        await asyncio.sleep(0.3)
        assert agent.started == started, "nothing starts while the disk is full"
        filler.unlink()
        outcome = await run.task
    assert outcome.state == "finished"
    assert run.heard("the log can be written again")
    await assert_complete(log, 20)
    told = states(log)
    assert [state for state, _ in told] == ["running", "paused", "running", "finished"]
    assert "full" in told[1][1]
    assert any("the log could not be written for" in text for text in notices(log))


async def test_the_time_of_such_a_pause_is_no_active_time(log):
    agent = Gate()
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        with locked(log):
            agent.let(2)
            await eventually(lambda: "paused" in run.states)
            await asyncio.sleep(1.0)
        agent.let()
        await run.task
    row, _ = await rows_of(log)
    assert row.active_seconds < row.ended_at - row.started_at - 0.9


async def test_a_person_cannot_start_what_the_log_cannot_take(log):
    agent = Gate()
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        with locked(log):
            agent.let(2)
            await eventually(lambda: "paused" in run.states)
            run.session._engine.steering.resume("ann")
            assert run.session._engine.steering.state == "running"
            await eventually(lambda: run.session._engine.steering.state == "paused")
        agent.let()
        await run.task
    await assert_complete(log, 20)


async def test_a_run_that_a_person_paused_stays_paused_after_the_fault(log):
    agent = Gate()
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        number = await post_command(log, RUN_ID, "pause", {}, "ann")
        assert await wait_for_answer(log, number, 30)
        with locked(log):
            agent.let()
            await eventually(lambda: run.heard("nothing more is started"))
        await eventually(lambda: run.heard("can be written again"))
        assert run.session._engine.steering.state == "paused"
        number = await post_command(log, RUN_ID, "resume", {}, "ann")
        await run.task
    await assert_complete(log, 20)


async def test_a_storm_that_comes_during_the_fault_keeps_the_run_paused(log):
    agent = Gate()
    async with running(log, agent, concurrency=4, storm_action="pause") as run:
        await eventually(lambda: agent.started == 4)
        with locked(log):
            await eventually(lambda: run.session._engine is not None)
            run.session._engine.steering.suspend("the log cannot be written")
            agent.fails = ValueError("the service is gone")
            agent.let(4)
            await eventually(lambda: run.heard("nothing more is started"))
        await eventually(lambda: run.heard("can be written again"))
        steering = run.session._engine.steering
        assert (steering.state, steering.storm is not None) == ("paused", True)
        agent.fails = None
        agent.let()
        steering.resume("ann")
        await run.task
    run_row, _ = await rows_of(log)
    assert (run_row.state, run_row.n_passed, run_row.n_superseded) == ("finished", 20, 4)


async def test_a_log_that_is_deleted_during_a_run_is_told_of_in_the_new_one(log):
    agent = Gate()
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        log.unlink()
        agent.let()
        await run.task
    assert run.heard("was removed while it was being written, and has been written anew")
    await assert_complete(log, 20)
    assert any("has been written anew" in text for text in notices(log))


async def test_a_clock_that_steps_back_during_a_run_makes_no_negative_time(log, monkeypatch):
    agent = Gate()
    real, step = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - step[0])
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        step[0] = 7200.0
        agent.let()
        await run.task
    run_row, attempts = await rows_of(log)
    assert run_row.active_seconds >= 0
    assert all(row.duration_seconds >= 0 for row in attempts)
    await assert_complete(log, 20)


# -- a fault at the end


async def test_at_the_end_a_run_waits_for_its_log_and_keeps_the_rest_in_a_file_meanwhile(log):
    agent = Gate()
    async with running(log, agent, k=1) as run:
        await eventually(lambda: agent.started == 2)
        agent.let(2)
        await eventually(lambda: agent.started == 4)
        with locked(log):
            agent.let(2)
            await eventually(lambda: run.heard("waiting for it with 2 results"))
            kept = rescue_path(log, RUN_ID)
            assert kept.stat().st_mode & 0o777 == 0o600
            assert run.heard(str(kept))
            assert not run.task.done()
        outcome = await run.task
    assert outcome.state == "finished"
    assert not kept.exists()
    assert run.heard("can be written again and has everything")
    await assert_complete(log, 4)


async def test_a_second_signal_gives_up_and_a_resume_takes_in_what_was_kept(log):
    agent = Gate()
    async with running(log, agent, k=1) as run:
        await eventually(lambda: agent.started == 2)
        agent.let(2)
        await eventually(lambda: agent.started == 4)
        with locked(log):
            agent.let(2)
            await eventually(lambda: run.heard("waiting for it"))
            run.session._interrupt()
            assert run.heard("press again to give up")
            assert not run.task.done()
            run.session._interrupt()
            with pytest.raises(LogError) as caught:
                await run.task
    assert f"the log of run {RUN_ID} lacks the end of this session with 2 results" in caught.value.message
    assert str(rescue_path(log, RUN_ID)) in (caught.value.hint or "")
    before, _ = await rows_of(log)
    assert before.n_ended == 2

    assert await take_in(log, RUN_ID) > 0
    assert not rescue_path(log, RUN_ID).exists()
    await assert_complete(log, 4)
    assert await take_in(log, RUN_ID) == 0


async def test_on_a_full_disk_the_rest_goes_to_the_temporary_folder(disk, tmp_path, monkeypatch):
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    log, agent = disk / "log.db", Gate()
    async with running(log, agent, k=1) as run:
        await eventually(lambda: agent.started == 2)
        filler = fill(disk)
        agent.let()
        await eventually(lambda: run.heard("full; waiting for it") or run.heard("full; nothing more"))
        run.session._interrupt()
        await eventually(lambda: run.heard("waiting for it with"))
        run.session._interrupt()
        with pytest.raises(LogError) as caught:
            await run.task
    (kept,) = spare.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert f"when it has been moved to {disk}" in (caught.value.hint or "")
    filler.unlink()
    shutil.move(kept, rescue_path(log, RUN_ID))
    await take_in(log, RUN_ID)
    _, attempts = await rows_of(log)
    assert sum(row.passed is True for row in attempts) == agent.started
    assert query(log, "PRAGMA integrity_check") == [("ok",)]


async def test_when_there_is_room_nowhere_it_says_what_is_lost(log, monkeypatch):
    monkeypatch.setattr(upkeep_module, "write_rescue", lambda *_: None)
    agent = Gate()
    async with running(log, agent, k=1) as run:
        await eventually(lambda: agent.started == 2)
        with locked(log):
            agent.let(2)
            await eventually(lambda: run.heard("nothing more is started"))
            run.session._interrupt()
            await eventually(lambda: run.heard("waiting for it with 2 results"))
            run.session._interrupt()
            with pytest.raises(LogError, match="lacks the end of this session with 2 results") as caught:
                await run.task
    assert "no room" in (caught.value.hint or "")


async def test_a_caller_who_has_the_results_is_not_kept_waiting(log):
    agent = Gate()
    async with running(log, agent, k=1, collect=True, log_patience=0.2) as run:
        await eventually(lambda: agent.started == 2)
        agent.let(2)
        await eventually(lambda: agent.started == 4)
        with locked(log):
            agent.let(2)
            outcome = await run.task
    assert outcome.result.n_passed == 4
    assert run.heard("lacks the end of this session with 2 results")
    assert rescue_path(log, RUN_ID).exists()


async def test_a_cancelled_run_does_not_wait_for_its_log(log):
    agent = Gate()
    async with running(log, agent) as run:
        await eventually(lambda: agent.started == 2)
        with locked(log):
            agent.let(2)
            await eventually(lambda: "paused" in run.states)
            run.task.cancel()
            await eventually(lambda: run.heard("waiting for it"))
            run.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run.task
    assert rescue_path(log, RUN_ID).exists()


async def test_a_damaged_file_of_kept_results_is_refused_and_left_alone(log):
    agent = Gate()
    agent.let()
    async with running(log, agent, k=1) as run:
        await run.task
    kept = rescue_path(log, RUN_ID)
    kept.write_text('{"event": "half a li')
    with pytest.raises(RunError, match="is damaged"):
        await take_in(log, RUN_ID)
    assert kept.exists()


async def test_what_was_kept_is_not_taken_in_under_a_live_runner(log):
    agent = Gate()
    agent.let()
    async with running(log, agent, k=1, collect=True) as run:
        await run.task
    lease = await acquire(log, RUN_ID)
    kept = rescue_path(log, RUN_ID)
    event = Notice(run_id=RUN_ID, at=1.0, level="info", text="kept").model_dump_json()
    kept.write_text(json.dumps({"event": event, "body": None}) + "\n")
    with pytest.raises(RunError, match="is being run by pid"):
        await take_in(log, RUN_ID)
    await lease.release()
    assert await take_in(log, RUN_ID) == 1
    assert "kept" in notices(log)


async def test_a_resume_that_was_prepared_before_another_one_is_refused(log):
    """Two people resume one run at the same moment: the second would pay for everything again."""
    agent = Gate()
    agent.let()
    async with running(log, agent, k=1) as run:
        await run.task

    async def prepared() -> Any:
        reader = await LogReader.open(log)
        try:
            row = await reader.run(RUN_ID)
            assert row is not None
            fresh = prepare_run(environment(agent), k=row.k)
            return await prepare_resume(fresh, reader, log, row, author="ada", k=2)
        finally:
            await reader.aclose()

    first, second = await prepared(), await prepared()
    async with running(log, agent, prepared=first) as run:
        await run.task
    started = agent.started
    async with running(log, agent, prepared=second) as run:
        with pytest.raises(RunError, match="has gone on since it was looked at"):
            await run.task
    assert agent.started == started == 8
