"""A result out of the log, with transcripts that are read late."""

import time

import pytest

from rollgrid.environments import EnvironmentRunResult
from rollgrid.environments.from_log import aresult_from_log, result_from_log
from rollgrid.errors import RunError
from rollgrid.store.codec import encode
from rollgrid.store.events import (
    AttemptEnded,
    AttemptStarted,
    AttemptSuperseded,
    RunCreated,
    RunStateChanged,
    TaskInfo,
)
from rollgrid.store.writer import LogWriter
from support.results import run_of, run_output, score_of, tool

RUN = "abc123"


def created(**fields):
    tasks = (
        TaskInfo(id="sum", input="2+2", expected={"value": 4}, metadata={"split": "x"}),
        TaskInfo(id="t2", input="\ud800"),
    )
    defaults = {
        "run_id": RUN,
        "at": time.time(),
        "env_name": "arithmetic",
        "env_fingerprint": "rgenv1:aa",
        "policy_fingerprint": "pp",
        "fingerprint_parts": {"tasks": "t", "scorer": "s"},
        "k": 2,
        "tasks": tasks,
        "model": "m1",
        "timeout_seconds": 60,
        "author": "somebody",
        "host": "here",
    }
    return RunCreated(**(defaults | fields))


def key(task, attempt, take):
    return {"run_id": RUN, "at": time.time(), "task": task, "attempt": attempt, "take": take}


async def write(path, *events):
    writer = await LogWriter.open(path)
    try:
        for event, body in events:
            writer.append(event, body)
        await writer.flush()
    finally:
        await writer.aclose()


def played(task, attempt, take=1, *, run=None, **ended):
    defaults = {"stop_reason": "completed", "duration_seconds": 1.5}
    body = encode((run or run_output("4")).to_dict())
    return [
        (AttemptStarted(**key(task, attempt, take)), None),
        (AttemptEnded(**(key(task, attempt, take) | defaults | ended)), body),
    ]


@pytest.fixture
async def log(tmp_path):
    path = tmp_path / "log.db"
    run = run_output("4", tools=[tool("add", args={"a": 2})], tool_call_limit_hit=True)
    scored = {"passed": True, "value": 0.75, "reason": "close", "detail": {"raw_score": 8}}
    await write(
        path,
        (created(), None),
        *played(0, 1, run=run, **scored),
        *played(0, 2, stop_reason="error", error="boom", error_type="ModelError.server", status=503),
        (AttemptSuperseded(**key(0, 2, 1), why="retry"), None),
        *played(0, 2, 2, passed=False, value=0.0),
        (AttemptStarted(**key(1, 1, 1)), None),
        (RunStateChanged(run_id=RUN, at=time.time(), state="interrupted", stopped_early="interrupted"), None),
    )
    return path


async def test_the_figures_are_those_of_the_takes_that_count(log):
    whole = await aresult_from_log(log, RUN)
    assert (whole.env_name, whole.k, whole.stopped_early) == ("arithmetic", 2, "interrupted")
    assert (whole.env_fingerprint, whole.policy_fingerprint) == ("rgenv1:aa", "pp")
    assert whole.fingerprint_parts == {"tasks": "t", "scorer": "s"}
    first, second = whole.task_results
    assert (first.task.id, first.task.input, first.task.expected) == ("sum", "2+2", {"value": 4})
    assert first.task.metadata == {"split": "x"}
    assert [(one.index, one.take, one.passed) for one in first.attempts] == [(1, 1, True), (2, 2, False)]
    assert (second.task.input, second.attempts) == ("\ud800", ())
    assert whole.about["model"] == "m1"


async def test_a_transcript_is_read_when_it_is_asked_for_and_brings_what_lies_beside_it(log):
    one = (await aresult_from_log(log, RUN)).task_results[0].attempts[0]
    assert not one.is_loaded
    assert (score_of(one).value, score_of(one).reason) == (0.75, "close")
    assert run_of(one).tools[0].tool_args == {"a": 2}
    assert one.is_loaded
    assert score_of(one).detail == {"raw_score": 8}
    assert one.tool_call_limit_hit


async def test_a_run_of_the_log_saves_as_a_baseline(log, tmp_path):
    whole = await aresult_from_log(log, RUN)
    whole.save(tmp_path / "b.json")
    after = EnvironmentRunResult.load(tmp_path / "b.json")
    assert after.summary() == whole.summary()
    assert score_of(after.task_results[0].attempts[0]).detail == {"raw_score": 8}
    assert not after.diff(whole).regressed
    assert not any(one.is_loaded for task in whole.task_results for one in task.attempts)


def test_the_sync_door_works_with_and_without_an_event_loop(tmp_path):
    import asyncio

    path = tmp_path / "log.db"
    asyncio.run(write(path, (created(), None)))
    assert EnvironmentRunResult.from_log(path, RUN).env_name == "arithmetic"

    async def inside():
        return result_from_log(path, RUN).env_name

    assert asyncio.run(inside()) == "arithmetic"


async def test_a_run_that_was_killed_says_so(tmp_path):
    path = tmp_path / "log.db"
    await write(path, (created(), None), (RunStateChanged(run_id=RUN, at=time.time(), state="running"), None))
    assert (await aresult_from_log(path, RUN)).stopped_early == "dead"


async def test_an_unknown_run_is_one_line(log):
    with pytest.raises(RunError, match="no run nothere"):
        await aresult_from_log(log, "nothere")
