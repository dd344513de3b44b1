import asyncio
from pathlib import Path

import pytest

from rollgrid.errors import LogError, RunError
from rollgrid.store.codec import encode
from rollgrid.store.events import Notice
from rollgrid.store.lease import acquire
from rollgrid.store.logged import LoggedRun
from rollgrid.store.reader import LogReader
from rollgrid.store.rows import AttemptRow, RunRow, TaskRow
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, ended, phase, query, retrying, session, started, superseded

BODY = {"content": "4", "messages": [{"role": "user", "content": "2 + 2"}], "metrics": {"cost": None}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
async def writer(path: Path):
    async with LogWriter.open_cm(path) as writer:
        yield writer


@pytest.fixture
async def reader(path: Path, writer: LogWriter):
    reader = await LogReader.open(path)
    yield reader
    await reader.aclose()


async def write(writer: LogWriter, *events) -> None:
    for event in events:
        writer.append(event)
    await writer.flush()


async def test_a_run_reads_as_it_was_created(writer, reader):
    await write(writer, created(), session())
    (run,) = await reader.runs()
    assert isinstance(run, RunRow)
    assert run == await reader.run(RUN)
    assert (run.env_name, run.env_fingerprint, run.k, run.n_tasks, run.n_planned) == ("arithmetic", "env-1", 2, 2, 4)
    assert run.fingerprint_parts == {"tasks": "aa", "scorer": "bb"}
    assert run.source == {"ref": "env.py", "cwd": "."}
    assert (run.session, run.pid, run.concurrency, run.created_at, run.started_at) == (1, 4242, 4, 100.0, 101.0)
    assert await reader.run("nobody") is None


async def test_tasks_come_without_their_texts_and_texts_one_by_one(writer, reader):
    await write(writer, created())
    assert await reader.tasks(RUN) == [TaskRow(0, "t1", {"split": "test"}, 2), TaskRow(1, "t2", {"split": "test"}, 2)]
    assert await reader.task_text(RUN, 1) == ("question 2", {"answer": 2})
    with pytest.raises(RunError, match="no task at position 2"):
        await reader.task_text(RUN, 2)


async def test_attempts_come_with_python_booleans_and_by_their_last_change(writer, reader):
    await write(
        writer, created(), started(), started(attempt=2), started(task=1), ended(passed=False), ended(attempt=2)
    )
    rows = await reader.attempts(RUN)
    assert all(isinstance(row, AttemptRow) for row in rows)
    assert [(row.task, row.attempt, row.passed) for row in rows] == [(1, 1, None), (0, 1, False), (0, 2, True)]
    assert all(row.passed is None or type(row.passed) is bool for row in rows)
    assert rows[1].started_at == 110.0
    assert (rows[1].ended_at, rows[1].duration_seconds, rows[1].value) == (120.0, 1.5, 0.0)


async def test_only_what_changed_is_read_again(writer, reader):
    await write(writer, created(), started(), started(attempt=2))
    last = (await reader.attempts(RUN))[-1].seq
    assert await reader.attempts(RUN, last) == []
    await write(writer, phase("tool", detail="search"))
    (row,) = await reader.attempts(RUN, last)
    assert (row.attempt, row.phase, row.detail) == (1, "tool", "search")


async def test_the_reader_knows_whether_anything_changed(writer, reader):
    await write(writer, created())
    assert await reader.changed()
    assert not await reader.changed()
    await write(writer, started())
    assert await reader.changed()
    assert not await reader.changed()


async def test_a_transcript_is_the_stored_output_with_its_score(path, writer, reader):
    writer.append(created())
    writer.append(started())
    writer.append(ended(detail={"raw_score": 7}), encode(BODY))
    await writer.flush()
    expected = {**BODY, "score": {"value": 1.0, "passed": True, "reason": "as expected", "detail": {"raw_score": 7}}}
    assert await reader.transcript(RUN, 0, 1, 1) == expected
    assert await asyncio.to_thread(LoggedRun(path, RUN).transcript, 0, 1, 1) == expected


async def test_each_take_keeps_its_own_transcript_and_a_late_one_replaces_none(reader, writer):
    writer.append(created())
    for take in (1, 2):
        writer.append(started(take=take))
        writer.append(ended(take=take), encode({"content": f"take {take}"}))
    writer.append(superseded())
    writer.append(ended(take=2), encode({"content": "late"}))
    await writer.flush()
    for take in (1, 2):
        transcript = await reader.transcript(RUN, 0, 1, take)
        assert transcript is not None
        assert transcript["content"] == f"take {take}"


async def test_an_unscored_attempt_has_no_score_and_a_running_one_no_transcript(path, writer, reader):
    await write(writer, created(), started(), started(attempt=2), ended(passed=None, stop_reason="error"))
    assert await reader.transcript(RUN, 0, 1, 1) == {"score": None}
    assert await reader.transcript(RUN, 0, 2, 1) is None
    assert await reader.transcript(RUN, 9, 9, 9) is None
    assert await asyncio.to_thread(LoggedRun(path, RUN).transcript, 0, 2, 1) is None


async def test_lists_load_no_body(writer, reader):
    writer.append(created())
    writer.append(started())
    writer.append(ended(), encode(BODY))
    await writer.flush()
    statements: list[str] = []
    await reader._connection.set_trace_callback(statements.append)
    await reader.runs()
    await reader.run(RUN)
    await reader.tasks(RUN)
    await reader.attempts(RUN)
    await reader.events(RUN)
    await reader._connection.set_trace_callback(None)
    assert len(statements) == 5
    assert not [text for text in statements if "body" in text]


async def test_events_of_a_run_by_kind_task_and_attempt(writer, reader):
    await write(
        writer,
        created(),
        created("other"),
        session(),
        started(),
        started(task=1),
        retrying(),
        started(attempt=2),
        Notice(run_id="other", at=1.0, level="info", text="not this one"),
        Notice(run_id=RUN, at=1.0, level="info", text="this one"),
        ended(),
    )

    async def kinds(**options) -> list[str]:
        return [event.kind.removeprefix("attempt_") for event in await reader.events(RUN, **options)]

    everything = ["run_created", "session_started", "started", "started", "retrying", "started", "notice", "ended"]
    assert await kinds() == everything
    assert await kinds(limit=2) == everything[:2]
    assert await kinds(task=0, attempt=1) == ["started", "retrying", "ended"]
    assert await kinds(task=0) == ["started", "retrying", "started", "ended"]
    assert await kinds(kinds=["notice", "session_started"]) == ["session_started", "notice"]
    assert await kinds(kinds=["notice", "attempt_ended"]) == ["notice", "ended"]
    assert await kinds(kinds=[]) == []
    first = (await reader.events(RUN, task=0))[0]
    assert (first.run_id, first.at, first.task, first.attempt, first.take) == (RUN, 110.0, 0, 1, 1)
    assert first.data["kind"] == "attempt_started"
    assert await kinds(after_seq=first.seq, task=0, attempt=1) == ["retrying", "ended"]
    assert await reader.events("nobody") == []


async def test_the_newest_runs_come_first(writer, reader):
    await write(writer, created("one", at=300.0), created("two", at=200.0), created("three", at=100.0))
    assert [run.run_id for run in await reader.runs()] == ["three", "two", "one"]
    assert [run.run_id for run in await reader.runs(limit=1)] == ["three"]


async def test_a_run_is_found_by_id_by_beginning_and_as_the_last(writer, reader):
    await write(writer, created("bcd222"), created("bcd333"), created("xyz222"), created("bcd"))
    assert await reader.resolve("bcd222") == "bcd222"
    assert await reader.resolve("x") == "xyz222"
    assert await reader.resolve(" last ") == "bcd"
    assert await reader.resolve("bcd") == "bcd", "a whole id is no mere beginning"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q", "no run 'q'"),
        ("bc", "may be any of the runs"),
        ("", "no run ''"),
        ("%", "no run '%'"),
        ("a\x00", "no run"),
    ],
)
async def test_a_run_that_cannot_be_found_is_one_line(writer, reader, text, message):
    await write(writer, created("bcd222"), created("bcd333"))
    with pytest.raises(RunError, match=message) as caught:
        await reader.resolve(text)
    assert "\n" not in caught.value.message
    assert caught.value.hint


async def test_an_empty_log_has_no_last_run(reader):
    assert await reader.runs() == []
    with pytest.raises(RunError, match="no run yet"):
        await reader.resolve("last")


async def test_a_run_is_alive_while_its_lease_is_held(path, writer, reader):
    await write(writer, created(), session())
    run = await reader.run(RUN)
    assert (run.alive, run.effective_state) == (False, "dead")
    lease = await acquire(path, RUN)
    run = await reader.run(RUN)
    assert (run.alive, run.effective_state) == (True, "running")
    await lease.release()
    assert not (await reader.runs())[0].alive


async def test_fifty_readers_follow_one_writer(path, writer):
    readers = [await LogReader.open(path) for _ in range(50)]
    try:
        writer.append(created(n_tasks=40))

        async def follow(reader: LogReader) -> dict[int, bool]:
            seen: dict[int, bool] = {}
            last = 0
            async with asyncio.timeout(60):
                while len(seen) < 40:
                    for row in await reader.attempts(RUN, last):
                        last = row.seq
                        if row.passed is not None:
                            seen[row.task] = row.passed
                    await asyncio.sleep(0.01)
            return seen

        async with asyncio.TaskGroup() as group:
            following = [group.create_task(follow(reader)) for reader in readers]
            for task in range(40):
                writer.append(started(task=task))
                writer.append(ended(task=task, passed=task % 3 == 0))
                await writer.flush()
        assert all(one.result() == {task: task % 3 == 0 for task in range(40)} for one in following)
        assert writer.fault is None
    finally:
        for reader in readers:
            await reader.aclose()


async def test_a_reader_cannot_write(reader):
    with pytest.raises(LogError, match="readonly"):
        await reader._all("DELETE FROM event")


async def test_there_is_nothing_to_read_without_a_log(tmp_path):
    with pytest.raises(LogError, match="there is no log"):
        await LogReader.open(tmp_path / "missing.db")
    with pytest.raises(LogError, match="cannot be read"):
        LoggedRun(tmp_path / "missing.db", RUN).transcript(0, 1, 1)
    assert not list(tmp_path.iterdir())


async def test_a_large_list_of_attempts_is_whole(writer, reader):
    writer.append(created(n_tasks=1, k=5000))
    for attempt in range(1, 5001):
        writer.append(started(attempt=attempt))
    await writer.flush()
    assert [row.attempt for row in await reader.attempts(RUN)] == list(range(1, 5001))
    assert query(reader.path, "SELECT n_started FROM run") == [(5000,)]


async def test_tasks_that_pass_now_and_then_are_counted_by_run(writer, reader):
    again = [superseded(1, 1), started(1, 1, 2), ended(1, 1, 2, passed=True)]
    mixed = [ended(0, 1, passed=True), ended(0, 2, passed=False), ended(1, 1, passed=False), ended(1, 2, passed=True)]
    await write(writer, created(), *mixed, *again)
    assert await reader.learning([RUN, "nobody"]) == {RUN: 1, "nobody": 0}
    assert await reader.learning([]) == {}
