"""The feed: what it reads, when, and what it does when that fails."""

import asyncio
import inspect

import pytest

from rollgrid.errors import LogError
from rollgrid_tui.feed import KEPT_BODIES, LogChanged
from support.dash import Clock, make_feed
from support.fake_log import FakeLog, FakeReader, attempt_row, run_row, task_row, transcript


def log_of(*attempts, **run):
    return FakeLog([run_row(**run)], [task_row(0), task_row(1), task_row(2)], attempts, {(0, 1): transcript()})


async def following(log, clock=None):
    feed = make_feed(log, clock)
    view = feed.follow("r4k9tz")
    await feed.poll()
    feed.take_changes()
    return feed, view


async def test_attaching_reads_the_run_its_tasks_and_its_attempts():
    feed = make_feed(log_of(attempt_row(0, 1)))
    view = feed.follow("r4k9tz")
    assert await feed.poll()
    assert feed.take_changes().structure
    assert view.n_tasks == 3
    assert view.totals.n_passed == 1


async def test_only_rows_since_the_last_look_are_read():
    log = log_of(attempt_row(0, 1))
    feed, view = await following(log)
    log.write(attempt_row(1, 2, "fail"))
    assert await feed.poll()
    assert feed.take_changes().rows == {1}
    assert view.totals.n_scored == 2
    assert log.asked.count("tasks") == 1


async def test_an_unchanged_log_is_asked_for_its_version_and_nothing_else():
    log = log_of(state="finished", alive=False)
    feed, _ = await following(log)
    log.asked.clear()
    for _ in range(5):
        assert not await feed.poll()
    assert log.asked == ["changed"] * 5


async def test_changes_gather_until_they_are_taken():
    log = log_of()
    feed, _ = await following(log)
    log.write(attempt_row(0, 1))
    await feed.poll()
    log.write(attempt_row(2, 1))
    await feed.poll()
    assert feed.take_changes().rows == {0, 2}
    assert not feed.take_changes()


async def test_a_runner_that_dies_is_noticed_though_the_log_does_not_change():
    clock = Clock()
    log = log_of(attempt_row(0, 1, "running"))
    feed, view = await following(log, clock)
    log.run_rows = [run_row(alive=False)]
    assert not await feed.poll()
    clock.now += 3
    assert await feed.poll()
    assert not view.live


async def test_following_another_run_starts_from_its_beginning():
    log = log_of(attempt_row(0, 1))
    log.run_rows.append(run_row("other"))
    feed, view = await following(log)
    assert feed.follow("r4k9tz") is view
    other = feed.follow("other")
    await feed.poll()
    assert other is not view
    assert other.totals.n_passed == 1


async def test_the_list_of_runs_is_read_only_while_it_is_wanted_and_at_most_once_a_second():
    clock = Clock()
    log = log_of()
    feed = make_feed(log, clock)
    await feed.poll()
    assert "runs" not in log.asked
    feed.want_runs(True)
    assert await feed.poll()
    assert "learning" not in log.asked, "the first list does not wait for what takes long to count"
    for _ in range(3):
        log.touch()
        await feed.poll()
    assert (log.asked.count("runs"), log.asked.count("learning")) == (2, 1)
    clock.now += 1.1
    await feed.poll()
    assert log.asked.count("runs") == 3


async def test_an_empty_log_is_told_apart_from_one_not_read_yet():
    feed = make_feed(FakeLog())
    feed.want_runs(True)
    assert await feed.poll()
    assert feed.runs.loaded
    assert not await feed.poll()


async def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path):
    log, path = log_of(), tmp_path / "log.db"
    feed = make_feed(log, path=path)
    feed.want_runs(True)
    assert await feed.poll()
    assert feed.missing
    assert not await feed.poll()
    path.touch()
    assert await feed.poll()
    assert not feed.missing
    assert len(feed.runs.lines) == 1


async def test_a_log_that_was_removed_and_made_anew_is_opened_anew(tmp_path):
    log, path = log_of(), tmp_path / "log.db"
    path.touch()
    feed = make_feed(log, path=path)
    await feed.poll()
    path.rename(tmp_path / "old.db")
    (tmp_path / "log.db").touch()
    await feed.poll()
    assert log.open_readers == 1


async def test_a_log_that_cannot_be_read_is_a_line_on_the_screen_until_it_can():
    log = log_of()
    feed, view = await following(log)
    log.broken = LogError("the log was written by a newer version")
    assert await feed.poll()
    assert feed.fault == "the log was written by a newer version"
    assert not await feed.poll()
    log.broken = None
    log.write(attempt_row(0, 1))
    assert await feed.poll()
    assert feed.fault is None
    assert view.totals.n_passed == 1


async def test_a_run_that_is_not_in_the_log_says_so():
    feed = make_feed(FakeLog())
    feed.follow("nope")
    await feed.poll()
    assert feed.fault == "there is no run nope in this log"


async def test_a_body_is_read_once_and_only_a_few_are_kept():
    log = log_of(attempt_row(0, 1))
    feed, _ = await following(log)
    assert (await feed.transcript(0, 1, 1)) == transcript()
    assert feed.has_transcript(0, 1, 1)
    await feed.transcript(0, 1, 1)
    assert feed.bodies_loaded == 1
    for attempt in range(2, KEPT_BODIES + 3):
        await feed.transcript(0, attempt, 1)
    assert not feed.has_transcript(0, 1, 1)


async def test_a_running_attempt_that_is_watched_brings_its_snapshots():
    log = log_of(attempt_row(0, 1, "running"))
    feed, _ = await following(log)
    assert "live" not in log.asked
    feed.watch_live((0, 1))
    log.snapshots[0, 1] = {"partial_text": "Let me"}
    assert await feed.poll()
    assert feed.live == {"partial_text": "Let me"}
    log.touch()
    assert not await feed.poll()
    log.write(attempt_row(0, 1))
    await feed.poll()
    assert feed.live is None


async def test_commands_are_posted_to_the_followed_run_with_who_asked():
    log = log_of()
    feed, _ = await following(log)
    await feed.post("pause")
    assert log.posted == [("r4k9tz", "pause", {}, "ada")]


async def test_the_poller_tells_of_changes_and_closes_its_reader_at_the_end():
    log = log_of()
    feed = make_feed(log)
    feed.follow("r4k9tz")
    told = asyncio.Event()
    feed.notify = told.set
    task = asyncio.create_task(feed.poll_forever())
    await asyncio.wait_for(told.wait(), 5)
    told.clear()
    log.write(attempt_row(0, 1))
    await asyncio.wait_for(told.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log.open_readers == 0


async def test_a_poller_that_is_cancelled_again_while_it_closes_its_reader_closes_it_all_the_same(monkeypatch):
    log = log_of()
    close, closing, may_close = FakeReader.aclose, asyncio.Event(), asyncio.Event()

    async def slowly(reader):
        closing.set()
        await may_close.wait()
        await close(reader)

    monkeypatch.setattr(FakeReader, "aclose", slowly)
    feed = make_feed(log)
    feed.follow("r4k9tz")
    told = asyncio.Event()
    feed.notify = told.set
    task = asyncio.create_task(feed.poll_forever())
    await told.wait()
    task.cancel()
    await closing.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    may_close.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log.open_readers == 0


async def test_a_paused_feed_does_not_look_at_the_log():
    log = log_of()
    feed = make_feed(log)
    feed.pause()
    task = asyncio.create_task(feed.poll_forever())
    await asyncio.sleep(0.1)
    assert log.asked == []
    feed.resume()
    for _ in range(100):
        await asyncio.sleep(0.01)
        if log.asked:
            break
    assert log.asked
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_message_carries_nothing_and_a_newer_one_takes_its_place():
    assert LogChanged().can_replace(LogChanged())
    assert not inspect.signature(LogChanged).parameters
