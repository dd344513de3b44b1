"""What is done ahead of the first screen changes nothing of what is shown."""

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from bench import big_log
from rollgrid.store.reader import LogReader
from rollgrid_tui.attach import LARGE
from rollgrid_tui.startup import EarlyLook, hurry

TASKS, K = 50, LARGE // 50


async def a_large_log(folder: Path) -> Path:
    path = folder / "log.db"
    await big_log.write(path, runs=1, tasks=TASKS, k=K)
    return path


async def test_the_early_sums_are_those_that_the_log_gives(tmp_path, monkeypatch):
    path = await a_large_log(tmp_path)
    run_id = big_log.run_id(0)
    look = EarlyLook(path, run_id)
    reader = await look.open_reader(path)
    await asyncio.wrap_future(look.found)
    asked: list[str] = []
    usual = LogReader.overview

    async def counted(self, run_id, *, lately=False):
        asked.append(run_id)
        return await usual(self, run_id, lately=lately)

    monkeypatch.setattr(LogReader, "overview", counted)
    try:
        early = await reader.overview(run_id)
        assert asked == []
        assert early == await reader.overview(run_id)
        assert asked == [run_id], "they are good for the first look alone"
        assert [one.n_ended for one in early.tasks] == [K] * TASKS
    finally:
        await reader.aclose()


async def test_a_log_that_is_opened_again_may_be_another_one_and_is_read(tmp_path):
    path = await a_large_log(tmp_path)
    look = EarlyLook(path, big_log.run_id(0))
    await (await look.open_reader(path)).aclose()
    await asyncio.wrap_future(look.found)
    path.unlink()
    await big_log.write(path, runs=1, tasks=TASKS + 1, k=K)
    reader = await look.open_reader(path)
    try:
        assert len((await reader.overview(big_log.run_id(0))).tasks) == TASKS + 1
    finally:
        await reader.aclose()


async def test_another_run_than_the_expected_is_read_from_the_log(tmp_path):
    path = await a_large_log(tmp_path)
    reader = await EarlyLook(path, "nothing").open_reader(path)
    try:
        assert len((await reader.overview(big_log.run_id(0))).tasks) == TASKS
    finally:
        await reader.aclose()


async def test_a_log_that_cannot_be_read_is_left_to_whoever_reads_it_next(tmp_path):
    path = tmp_path / "log.db"
    path.write_bytes(b"noise" * 4000)
    look = EarlyLook(path, "run")
    assert await asyncio.wrap_future(look.found) is None


def test_collecting_and_switching_are_as_usual_once_the_first_screen_is_there_or_nothing_came_of_it():
    before = sys.getswitchinterval()
    with hurry() as as_usual:
        assert not gc.isenabled()
        as_usual()
        assert gc.isenabled()
        assert sys.getswitchinterval() == before
    with pytest.raises(RuntimeError, match="no terminal"), hurry():
        raise RuntimeError("no terminal")
    assert gc.isenabled()
    assert sys.getswitchinterval() == before
    gc.unfreeze()
