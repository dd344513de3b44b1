"""One run of the log as results and overviews need it."""

import asyncio
import random

import pytest

from rollgrid.store.events import AttemptEnded, AttemptStarted, AttemptSuperseded, RunCreated, TaskInfo
from rollgrid.store.logged import Counts, LoggedRun
from rollgrid.store.reader import LogReader
from rollgrid.store.writer import LogWriter
from rollgrid_tui.cli.show import overview

RUN = "run1"


def key(task, attempt, take):
    return {"run_id": RUN, "at": 1.0, "task": task, "attempt": attempt, "take": take}


def odd_run(seed, tasks=6, k=9):
    """Events of a run in which everything happens that can happen to a take."""
    draws = random.Random(seed)
    infos = tuple(TaskInfo(id=f"t{n}", input="q") for n in range(tasks))
    yield RunCreated(
        run_id=RUN, at=1.0, env_name="e", env_fingerprint=None, policy_fingerprint=None, k=k, tasks=infos, model="m",
        timeout_seconds=1, author="a", host="h",
    )  # fmt: skip
    for task in range(tasks - 1):
        for attempt in range(1, k + 1):
            takes = draws.choice((0, 1, 1, 1, 2, 3))
            for take in range(1, takes + 1):
                yield AttemptStarted(**key(task, attempt, take))
                if draws.random() < 0.9:
                    stop = draws.choice(("completed", "completed", "error", "timeout", "cancelled", "paused"))
                    value = draws.choice((0.0, 0.25, 1.0, None)) if stop == "completed" else None
                    yield AttemptEnded(
                        **key(task, attempt, take), stop_reason=stop, duration_seconds=1.0, value=value,
                        passed=None if value is None else value == 1.0, input_tokens=draws.randrange(9),
                    )  # fmt: skip
                if take < takes or draws.random() < 0.1:
                    yield AttemptSuperseded(**key(task, attempt, take), why="retry")


async def write(path, events):
    writer = await LogWriter.open(path)
    for event in events:
        writer.append(event)
    await writer.aclose()
    assert writer.fault is None


async def rows_of(path):
    reader = await LogReader.open(path)
    try:
        return await reader.attempts(RUN), [await reader.attempts(RUN, task=n) for n in range(6)]
    finally:
        await reader.aclose()


@pytest.mark.parametrize("seed", range(6))
def test_the_database_counts_and_marks_as_the_rows_do(tmp_path, seed):
    path = tmp_path / "log.db"
    asyncio.run(write(path, odd_run(seed)))
    rows, by_task = asyncio.run(rows_of(path))
    assert [[one for one in rows if one.task == n] for n in range(6)] == by_task
    logged = LoggedRun(path, RUN)
    assert logged.overview() == overview(rows)
    counting = {
        n: [one for one in mine if one.superseded is None and one.stop_reason is not None]
        for n, mine in enumerate(by_task)
    }
    assert logged.counts() == {
        n: Counts(len(mine), sum(one.value is not None for one in mine), sum(one.passed is True for one in mine))
        for n, mine in counting.items()
        if mine
    }
    for n, mine in counting.items():
        in_order = sorted(mine, key=lambda one: one.attempt)
        assert logged.values(n) == [one.value for one in in_order if one.value is not None]
        assert [(one.attempt, one.take, one.stop_reason) for one in logged.ended(n)] == [
            (one.attempt, one.take, one.stop_reason) for one in in_order
        ]


def test_a_run_without_superseded_takes_is_counted_in_one_pass_to_the_same_end(tmp_path):
    path = tmp_path / "log.db"
    events = [one for one in odd_run(11) if getattr(one, "take", 1) == 1 and not isinstance(one, AttemptSuperseded)]
    asyncio.run(write(path, events))
    logged = LoggedRun(path, RUN)
    assert logged.counts(single_takes=True) == logged.counts() != {}


def test_takes_that_ended_after_the_moment_in_question_are_left_out(tmp_path):
    path = tmp_path / "log.db"
    asyncio.run(write(path, odd_run(1)))
    n = sum(one.n_attempts for one in LoggedRun(path, RUN).counts().values())
    earlier = LoggedRun(path, RUN, until=60)
    assert 0 < sum(one.n_attempts for one in earlier.counts().values()) < n
    assert len(earlier.values(0)) == earlier.counts()[0].n_scored
