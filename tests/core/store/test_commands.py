import asyncio
from pathlib import Path

import pytest

from rollgrid.errors import RunError
from rollgrid.store.commands import pending_commands, post_command, wait_for_answer
from rollgrid.store.events import CommandAnswered
from rollgrid.store.reader import LogReader
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, query


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
async def writer(path: Path):
    async with LogWriter.open_cm(path) as writer:
        writer.append(created())
        writer.append(created("other"))
        await writer.flush()
        yield writer


def answered(command_id: int, accepted: bool, answer: str, run_id: str = RUN) -> CommandAnswered:
    return CommandAnswered(
        run_id=run_id, at=5.0, command_id=command_id, command="pause", author="ann", accepted=accepted, answer=answer
    )


async def test_a_command_reaches_the_runner_and_its_answer_comes_back(path, writer):
    args = {"limit": 4, "note": "lone \ud800"}
    command_id = await post_command(path, RUN, "concurrency", args, "ann")
    (command,) = await pending_commands(path, RUN, 0)
    assert command == (await writer.pending_commands(RUN))[0]
    assert (command.command_id, command.run_id, command.author) == (command_id, RUN, "ann")
    assert (command.command, command.args, command.accepted, command.answer) == ("concurrency", args, None, None)

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(wait_for_answer(path, command_id, 30.0))
        await asyncio.sleep(0)
        writer.append(answered(command_id, True, "4 at a time from now on"))
    answer = waiting.result()
    assert answer is not None
    assert (answer.accepted, answer.answer) == (True, "4 at a time from now on")
    assert await pending_commands(path, RUN, 0) == []


async def test_a_refusal_is_an_answer_too(path, writer):
    command_id = await post_command(path, RUN, "pause", {}, "ann")
    writer.append(answered(command_id, False, "it is over"))
    await writer.flush()
    answer = await wait_for_answer(path, command_id, 0.0)
    assert answer is not None
    assert answer.accepted is False


async def test_no_answer_in_time_is_none(path, writer):
    command_id = await post_command(path, RUN, "pause", {}, "ann")
    assert await wait_for_answer(path, command_id, 0.0) is None


async def test_a_runner_sees_its_own_commands_in_order_and_each_once(path, writer):
    first = await post_command(path, RUN, "pause", {}, "ann")
    await post_command(path, "other", "cancel", {}, "bob")
    second = await post_command(path, RUN, "resume", {}, "bob")
    assert [row.command for row in await pending_commands(path, RUN, 0)] == ["pause", "resume"]
    assert [row.command_id for row in await pending_commands(path, RUN, first)] == [second]
    assert await pending_commands(path, RUN, second) == []


async def test_an_answer_to_another_runs_command_changes_nothing(path, writer):
    command_id = await post_command(path, RUN, "pause", {}, "ann")
    writer.append(answered(command_id, True, "ok", run_id="other"))
    await writer.flush()
    assert len(await pending_commands(path, RUN, 0)) == 1


async def test_all_commands_stay_readable(path, writer):
    command_id = await post_command(path, RUN, "pause", {}, "ann")
    await post_command(path, RUN, "resume", {"x": [1]}, "bob")
    writer.append(answered(command_id, True, "paused"))
    await writer.flush()
    reader = await LogReader.open(path)
    try:
        rows = await reader.commands(RUN)
    finally:
        await reader.aclose()
    assert [(row.author, row.command, row.args, row.accepted, row.answer) for row in rows] == [
        ("ann", "pause", {}, True, "paused"),
        ("bob", "resume", {"x": [1]}, None, None),
    ]


async def test_a_command_to_no_run_is_refused(path, writer):
    with pytest.raises(RunError, match="no run nobody"):
        await post_command(path, "nobody", "pause", {}, "ann")
    assert query(path, "SELECT count(*) FROM command") == [(0,)]
