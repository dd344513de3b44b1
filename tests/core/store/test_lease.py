import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rollgrid.errors import RunError
from rollgrid.store import process
from rollgrid.store.lease import STALE_SECONDS, LeaseRow, acquire, is_alive
from rollgrid.store.opening import prepare_log
from support.log_events import RUN, query

NOW = 1_000_000.0

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the machine does not tell")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    prepare_log(path)
    return path


def row(**changes) -> LeaseRow:
    """This process's lease, with a heartbeat just now."""
    return LeaseRow.of_this_process(RUN)._replace(heartbeat_at=NOW)._replace(**changes)


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_no_lease_is_held_by_nobody():
    assert not is_alive(None)


def test_a_running_process_with_a_heartbeat_is_alive():
    assert is_alive(row(), NOW)
    assert is_alive(row(), NOW + STALE_SECONDS - 1)


AGES = [STALE_SECONDS + 1, -STALE_SECONDS - 1]


@pytest.mark.parametrize("age", AGES)
def test_without_a_heartbeat_for_long_it_is_dead_when_nothing_else_tells(age):
    assert not is_alive(row(start_time=""), NOW + age)


@needs_proc
@pytest.mark.parametrize("age", AGES)
def test_a_process_that_is_known_to_be_the_runner_needs_no_heartbeat(age):
    """A full disk, a stopped process and a clock that was set have none; a second runner would pay twice."""
    assert is_alive(row(), NOW + age)


def test_a_process_that_is_gone_is_dead_at_once(child):
    held = row(pid=child.pid, start_time=process.start_time(child.pid))
    assert is_alive(held, NOW)
    child.kill()
    child.wait()
    assert not is_alive(held, NOW)


@needs_proc
def test_a_process_that_nobody_has_buried_is_dead_at_once(child):
    held = row(pid=child.pid, start_time=process.start_time(child.pid))
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(held, NOW)


@needs_proc
def test_another_process_under_the_same_pid_is_not_the_runner(child):
    assert not is_alive(row(pid=child.pid, start_time="12345"), NOW)


@needs_proc
def test_start_times_are_told_for_processes_with_odd_names():
    comm = Path(f"/proc/{os.getpid()}/comm")
    before, plain = process.start_time(os.getpid()), comm.read_text()
    comm.write_text("a) b (c")
    try:
        assert re.fullmatch(r"\d+", before)
        assert process.start_time(os.getpid()) == before
        assert process.is_running(os.getpid())
    finally:
        comm.write_text(plain)
    assert process.start_time(2**22 + 7) == ""


def test_a_machine_that_has_booted_since_is_dead_at_once():
    assert not is_alive(row(boot_id="an-earlier-boot"), NOW)


@pytest.mark.parametrize("elsewhere", [{"host": "elsewhere"}, {"pid_space": "pid:[1]"}])
def test_where_pids_cannot_be_compared_the_heartbeat_decides(elsewhere):
    held = row(**elsewhere, pid=2**22 + 7)
    assert is_alive(held, NOW + STALE_SECONDS - 1)
    assert not is_alive(held, NOW + STALE_SECONDS + 1)


def test_a_machine_that_tells_no_start_times_goes_by_the_pid(monkeypatch):
    monkeypatch.setattr(process, "_PROC", Path("/nowhere"))
    assert is_alive(row(), NOW)
    assert process.is_running(os.getpid())
    assert not process.is_running(2**22 + 7)


async def test_a_held_run_is_refused_with_the_holder_named(path):
    lease = await acquire(path, RUN)
    with pytest.raises(RunError) as caught:
        await acquire(path, RUN)
    assert caught.value.message == f"run {RUN} is being run by pid {os.getpid()} on {process.host()}"
    await acquire(path, "another")
    await lease.release()
    await (await acquire(path, RUN)).release()


async def test_of_many_who_want_a_run_one_gets_it(path):
    outcomes = await asyncio.gather(*(acquire(path, RUN) for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(outcome, RunError) for outcome in outcomes) == 9


async def test_a_dead_runners_lease_is_taken_over_and_it_learns_of_it(path, monkeypatch):
    monkeypatch.setattr(process, "_PROC", Path("/nowhere"))
    old = await acquire(path, RUN)
    assert await old.heartbeat()
    later = time.time() + STALE_SECONDS + 5
    monkeypatch.setattr(time, "time", lambda: later)
    new = await acquire(path, RUN)
    assert not await old.heartbeat()
    await old.release()
    assert await new.heartbeat(), "the old holder must not release what it no longer holds"
    await asyncio.wait_for(old.keep(every=0), 10)


async def test_a_heartbeat_is_written(path, monkeypatch):
    lease = await acquire(path, RUN)
    monkeypatch.setattr(time, "time", lambda: NOW)
    await lease.heartbeat()
    assert query(path, "SELECT heartbeat_at FROM lease") == [(NOW,)]


async def test_a_log_that_cannot_be_written_does_not_end_the_run(path):
    lease = await acquire(path, RUN)
    hidden = path.rename(path.with_name("hidden.db"))
    assert await lease.heartbeat()
    assert "cannot be written" in (lease.fault or "")
    hidden.rename(path)
    assert await lease.heartbeat()
    assert lease.fault is None


async def test_keeping_a_lease_can_be_cancelled_at_any_time(path):
    lease = await acquire(path, RUN)
    for turns in range(40):
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(lease.keep(every=0))
            for _ in range(turns):
                await asyncio.sleep(0)
            keeping.cancel()
    assert await lease.heartbeat()
    await lease.release()


@needs_proc
def test_a_stopped_process_still_runs(child):
    child.send_signal(signal.SIGSTOP)
    assert process.is_running(child.pid)
    child.send_signal(signal.SIGCONT)
