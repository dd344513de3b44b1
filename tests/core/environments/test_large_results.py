"""Large results: what is in memory, what is read, and when. Counts and bytes, no times."""

import asyncio
import gc
import json
import os
import pickle
import tracemalloc

import pytest

from rollgrid.agent.run import RunOutput
from rollgrid.environments import BaselineError, EnvironmentRunResult
from rollgrid.environments import baseline as baseline_module
from rollgrid.environments.from_log import result_from_log
from rollgrid.environments.recent import RECENT
from rollgrid.errors import LogError
from rollgrid.store import logged
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded, RunCreated, RunStateChanged, TaskInfo
from rollgrid.store.writer import LogWriter
from support.results import attempt, result, run_of, run_output, score_of, task_result

TEXT = "word " * 200


def alive():
    """Transcripts in memory."""
    gc.collect()
    return sum(isinstance(one, RunOutput) for one in gc.get_objects())


def peak(work):
    """Bytes that `work` allocated at its highest."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def many(k, tasks=4):
    """A result with k attempts a task, every third one failed."""
    return result(
        *(
            task_result(
                f"task{n}", [attempt("-" if j % 3 == 0 else "+", run_output(f"{n}.{j} {TEXT}")) for j in range(k)]
            )
            for n in range(tasks)
        )
    )


@pytest.fixture
def large(monkeypatch):
    """Every file is a large one."""
    monkeypatch.setattr(baseline_module, "LARGE", 0)


async def write_log(path, run_id, k, tasks=4):
    writer = await LogWriter.open(path)
    try:
        writer.append(
            RunCreated(
                run_id=run_id,
                at=1.0,
                env_name="arithmetic",
                env_fingerprint="rgenv1:aa",
                policy_fingerprint="pp",
                k=k,
                tasks=tuple(TaskInfo(id=f"task{n}", input="q", expected=n) for n in range(tasks)),
                model="m1",
                timeout_seconds=60,
                author="a",
                host="h",
            )
        )
        for number in range(1, k + 1):
            for task in range(tasks):
                passed = number % 3 != 0
                writer.append(
                    AttemptEnded(
                        run_id=run_id,
                        at=2.0,
                        task=task,
                        attempt=number,
                        take=1,
                        stop_reason="completed",
                        passed=passed,
                        value=float(passed),
                        detail={"n": number},
                        duration_seconds=1.0,
                        input_tokens=3,
                        output_tokens=4,
                    ),
                    encode(run_output(f"{task}.{number} {TEXT}").to_dict()),
                )
        writer.append(RunStateChanged(run_id=run_id, at=3.0, state="finished"))
        await writer.flush()
        assert writer.fault is None
    finally:
        await writer.aclose()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.db"
    asyncio.run(write_log(path, "aaaaaa", 20))
    asyncio.run(write_log(path, "bbbbbb", 30))
    return path


@pytest.fixture
def read(monkeypatch):
    """Counts of what is read from the log: bodies that are decoded, and tasks whose attempts are read."""
    counts = {"bodies": 0, "tasks": 0}

    def count(what, function):
        def counted(*arguments):
            counts[what] += 1
            return function(*arguments)

        return counted

    monkeypatch.setattr(logged, "transcript_of", count("bodies", logged.transcript_of))
    monkeypatch.setattr(logged.LoggedRun, "ended", count("tasks", logged.LoggedRun.ended))
    return counts


# -- the log ----------------------------------------------------------------------------------------------------------


def test_figures_and_comparisons_read_neither_attempts_nor_transcripts(log, read):
    a, b = result_from_log(log, "aaaaaa"), result_from_log(log, "bbbbbb")
    assert (b.n_attempts, b.n_scored, b.n_passed, b.n_unscored) == (120, 120, 80, 0)
    assert (b.mean_value, b.pass_rate) == (80 / 120, 80 / 120)
    assert [one.mean_value for one in b.task_results] == [20 / 30] * 4
    assert len(b.learning_zone().task_results) == 4
    assert not b.diff(a).statistics().regressed
    assert b.summary()["tasks"][3]["pass_rate"] == 20 / 30
    assert "30" in repr(b)
    assert repr(b.task_results[0])
    assert read == {"bodies": 0, "tasks": 0}


def test_a_task_is_read_when_its_attempts_are_asked_for_and_once(log, read):
    one = result_from_log(log, "bbbbbb").task_results[2]
    assert [a.index for a in one.attempts] == list(range(1, 31))
    assert one.attempts is one.attempts
    assert (one.n_attempts, one.n_passed, one.mean_value) == (30, 20, 20 / 30)
    assert read == {"bodies": 0, "tasks": 1}


def test_what_goes_through_everything_keeps_nothing(log, read):
    whole = result_from_log(log, "bbbbbb")
    str(whole)
    whole.statistics()
    assert whole.errors() == {}
    assert read["bodies"] == 0
    assert not any("attempts" in vars(one) for one in whole.task_results)


def test_no_more_bodies_are_read_than_were_asked_for(log, read, tmp_path):
    whole = result_from_log(log, "bbbbbb")
    attempts = whole.task_results[1].attempts
    assert run_of(attempts[4]).content == f"1.5 {TEXT}"
    assert run_of(attempts[4]).content == f"1.5 {TEXT}"
    assert score_of(attempts[4]).detail == {"n": 5}
    assert read["bodies"] == 1
    whole.save(tmp_path / "all.json")
    assert read["bodies"] <= 1 + whole.n_attempts


def test_of_the_transcripts_that_were_asked_for_only_the_last_stay_in_memory(tmp_path):
    path = tmp_path / "log.db"
    asyncio.run(write_log(path, "aaaaaa", RECENT, tasks=3))
    whole = result_from_log(path, "aaaaaa")
    before = alive()
    texts = {run_of(one).content for task in whole.task_results for one in task.attempts}
    assert len(texts) == 3 * RECENT
    assert alive() - before <= RECENT
    assert run_of(whole.task_results[0].attempts[0]).content == f"0.1 {TEXT}"


def test_a_log_that_was_moved_is_told_and_found_again_when_it_is_put_back(log, tmp_path):
    whole = result_from_log(log, "aaaaaa")
    first, second = whole.task_results[0].attempts[:2]
    assert run_of(first).content == f"0.1 {TEXT}"
    log.rename(tmp_path / "elsewhere.db")
    assert run_of(first).content == f"0.1 {TEXT}"  # in memory
    with pytest.raises(LogError, match="not there any more") as caught:
        _ = second.run
    assert "from_log" in (caught.value.hint or "")
    (tmp_path / "elsewhere.db").rename(log)
    assert run_of(second).content == f"0.2 {TEXT}"


def test_another_log_in_its_place_is_not_taken_for_it(log, tmp_path):
    whole = result_from_log(log, "bbbbbb")
    one = whole.task_results[0].attempts[29]
    asyncio.run(write_log(tmp_path / "other.db", "aaaaaa", 2))
    os.replace(tmp_path / "other.db", log)
    for suffix in ("-wal", "-shm"):
        log.with_name(log.name + suffix).unlink(missing_ok=True)
    with pytest.raises(LogError, match="does not hold attempt 30"):
        _ = one.run


def test_a_result_of_the_log_travels_to_another_process(log):
    whole = pickle.loads(pickle.dumps(result_from_log(log, "aaaaaa")))
    assert whole.n_attempts == 80
    assert run_of(whole.task_results[3].attempts[19]).content == f"3.20 {TEXT}"


def test_saving_out_of_the_log_takes_no_more_memory_for_more_attempts(tmp_path):
    path = tmp_path / "log.db"
    asyncio.run(write_log(path, "aaaaaa", 50, tasks=2))
    asyncio.run(write_log(path, "bbbbbb", 50, tasks=12))
    few, more = result_from_log(path, "aaaaaa"), result_from_log(path, "bbbbbb")
    few.save(tmp_path / "warm-up.json")
    low, high = (peak(lambda one=one: one.save(tmp_path / "x.json")) for one in (few, more))
    assert more.n_attempts == 6 * few.n_attempts
    assert high < 1.3 * low


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("large")
def test_a_large_file_says_what_a_small_one_does(tmp_path, monkeypatch):
    many(7).save(tmp_path / "b.json")
    after = EnvironmentRunResult.load(tmp_path / "b.json")
    assert not any("attempts" in vars(one) for one in after.task_results)
    monkeypatch.setattr(baseline_module, "LARGE", 1 << 40)
    whole = EnvironmentRunResult.load(tmp_path / "b.json")
    assert after.summary() == whole.summary()
    assert str(after) == str(whole)
    assert after.statistics().to_dict() == whole.statistics().to_dict()
    for one, other in zip(after.task_results, whole.task_results, strict=True):
        for mine, theirs in zip(one.attempts, other.attempts, strict=True):
            assert mine.run == theirs.run
            assert mine.score == theirs.score
            assert (mine.index, mine.usage, mine.stop_reason) == (theirs.index, theirs.usage, theirs.stop_reason)
    after.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.usefixtures("large")
def test_loading_holds_no_transcript_and_takes_no_more_memory_for_more_attempts(tmp_path):
    few, more = tmp_path / "few.json", tmp_path / "more.json"
    many(40).save(few)
    many(240).save(more)
    before = alive()
    whole = EnvironmentRunResult.load(more)
    assert (whole.n_attempts, alive() - before) == (960, 0)
    low, high = (peak(lambda path=path: EnvironmentRunResult.load(path)) for path in (few, more))
    # A place in the file and a value are kept of each attempt, 16 bytes.
    assert high < 1.3 * low + 32 * 960


@pytest.mark.usefixtures("large")
def test_going_through_a_large_file_keeps_few_transcripts_in_memory(tmp_path):
    many(RECENT).save(tmp_path / "b.json")
    whole = EnvironmentRunResult.load(tmp_path / "b.json")
    before = alive()
    assert all(run_of(one).content for task in whole.task_results for one in task.attempts)
    assert alive() - before <= RECENT


@pytest.mark.usefixtures("large")
def test_a_file_that_is_replaced_or_removed_is_still_read(tmp_path):
    path = tmp_path / "b.json"
    many(3).save(path)
    before = EnvironmentRunResult.load(path)
    result(task_result("other", "+")).save(path)
    assert run_of(before.task_results[1].attempts[2]).content == f"1.2 {TEXT}"
    path.unlink()
    assert run_of(before.task_results[3].attempts[0]).content == f"3.0 {TEXT}"


@pytest.mark.usefixtures("large")
def test_a_file_that_is_changed_in_place_is_told(tmp_path):
    path = tmp_path / "b.json"
    many(3).save(path)
    before = EnvironmentRunResult.load(path)
    with path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(BaselineError, match="changed since it was loaded"):
        _ = before.task_results[0].attempts


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("layout", [{"indent": 1}, {"indent": 3}, {"separators": (",", ":")}])
def test_a_large_file_in_another_layout_is_read_whole(tmp_path, layout):
    path = tmp_path / "b.json"
    many(3).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()), **layout))
    whole = EnvironmentRunResult.load(path)
    assert (whole.n_attempts, run_of(whole.task_results[2].attempts[1]).content) == (12, f"2.1 {TEXT}")
    path.write_bytes(b"\n" + path.read_bytes())
    assert whole.task_results[0].attempts[0].is_loaded


@pytest.mark.usefixtures("large")
def test_damage_in_the_middle_of_a_large_file_is_told_as_in_a_small_one(tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    many(3).save(path)
    good = path.read_bytes()
    for old, new in (
        (b'"stop_reason": "completed"', b'"stop_reason": "exploded"'),
        (b'"value": 1.0', b'"value": 7.0'),
        (b'"messages": [', b'"messages": 5, "m": ['),
        (b'"attempts": [\n', b'"attempts": [{},\n'),
        (b"},\n   {", b"}\n   {"),
        (b"  ]},\n", b"  ]}\n"),
    ):
        at = good.index(old, len(good) // 3)
        path.write_bytes(good[:at] + new + good[at + len(old) :])
        told: list[str] = []
        for size in (0, 1 << 40):
            monkeypatch.setattr(baseline_module, "LARGE", size)
            with pytest.raises(BaselineError) as caught:
                EnvironmentRunResult.load(path)
            told.append(str(caught.value))
        assert told[0] == told[1]
