"""What a run keeps in memory of the attempts that have ended. Counts and bytes, no times."""

import asyncio
import gc
import tracemalloc

import pytest

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task
from rollgrid.runner import tally
from rollgrid.runner.ledger import Ledger
from rollgrid.runner.plan import all_slots
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.resources import rarer_collections
from rollgrid.runner.rollouts import arun_rollouts
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.runner.sink import NoLog
from rollgrid.runner.tally import Tally
from rollgrid.runner.targets import Targets
from support.results import attempt, run_of
from support.runs import EqualScorer

TEXT = "word " * 400


class Answer:
    """What an agent may answer with that is no text."""

    def __init__(self, text):
        self.text = text


class Agent:
    def __init__(self, typed=False):
        self.typed = typed

    async def arun(self, input: str):
        await asyncio.sleep(0)
        run = RunOutput(content=input + TEXT, raw_text=input + TEXT)
        if self.typed:
            run.content = {"answer": input, "parts": (1, 2)}
        return run

    def prompt_fields(self):
        return {}

    def policy(self):
        return {"id": "fake"}

    def copy_for_attempt(self):
        return self


def environment(n=10, typed=False):
    tasks = tuple(Task(f"q{i}", f"q{i}{TEXT}", id=f"task{i}") for i in range(n))
    return Environment(name="env", tasks=tasks, scorer=EqualScorer(), agent=Agent(typed))


def alive(kind):
    for _ in range(3):  # what a finalizer held is collected only after it
        gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, kind)]


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log.db"
    monkeypatch.setenv("ROLLGRID_LOG", str(path))
    return path


async def test_a_runner_whose_results_are_in_the_log_keeps_nothing_of_an_attempt(log):
    """Transcripts and results in memory after a third of the run, and at its end."""
    kinds = (AttemptResult, RunOutput)
    before = {id(one): one for one in alive(kinds)}  # other tests', held so that no id of theirs is given again
    kept: dict[int, int] = {}

    def look(progress):
        if progress.n_ended in (200, 600) and progress.n_ended not in kept:
            kept[progress.n_ended] = sum(id(one) not in before for one in alive(kinds))

    options = SessionOptions(log=log, author="ada", concurrency=4, run_id="run1", collect=False, on_progress=look)
    await Session(prepare_run(environment(), k=60), options).run()
    # Those that are just ending, each with a result and a transcript.
    assert max(kept.values()) <= 2 * (4 + 2)


def test_a_planned_attempt_takes_few_bytes_and_one_that_has_ended_no_more():
    slots, counts, passed = all_slots(100, 100), Tally(), attempt("+")
    tracemalloc.start()
    try:
        ledger = Ledger("run1", NoLog(), slots, {}, "breadth", Targets(100, [100] * 100))
        planned = tracemalloc.get_traced_memory()[0]
        while (slot := ledger.schedule.next()) is not None:
            ledger.ended(slot, None)
            counts.take(slot.task, slot.attempt, passed)
        ended = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert planned < 40 * len(slots)
    assert ended - planned < 8 * len(slots)
    assert counts.n_passed == len(slots)


async def test_a_script_holds_no_more_transcripts_for_more_attempts(log, monkeypatch):
    monkeypatch.setattr(tally, "KEPT_BYTES", 0)
    before = len(alive(RunOutput))
    result = await arun_rollouts(environment(), k=40)
    assert len(alive(RunOutput)) - before == 0
    assert (result.n_attempts, result.n_passed) == (400, 400)
    one = result.task_results[3].attempts[7]
    assert not one.is_loaded
    assert run_of(one).content == f"q3{TEXT}"
    assert (one.index, run_of(one).raw_text) == (8, f"q3{TEXT}")


async def test_an_answer_that_is_no_text_stays_the_very_object(log, monkeypatch):
    monkeypatch.setattr(tally, "KEPT_BYTES", 0)
    result = await arun_rollouts(environment(n=2, typed=True), k=2)
    one = result.task_results[1].attempts[1]
    assert not one.is_loaded
    assert run_of(one).content == {"answer": "q1", "parts": (1, 2)}


async def test_a_small_result_is_in_memory_whatever_becomes_of_the_log(log):
    result = await arun_rollouts(environment(n=2), k=3)
    for path in log.parent.glob("log.db*"):
        path.unlink()
    assert all(one.is_loaded for task in result.task_results for one in task.attempts)
    assert run_of(result.task_results[1].attempts[2]).content == f"q1{TEXT}"


async def test_without_a_log_everything_stays_in_memory(monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "off")
    monkeypatch.setattr(tally, "KEPT_BYTES", 0)
    result = await arun_rollouts(environment(n=2), k=3)
    assert all(one.is_loaded for task in result.task_results for one in task.attempts)


async def test_a_result_that_lies_in_the_log_saves_and_loads(log, monkeypatch, tmp_path):
    monkeypatch.setattr(tally, "KEPT_BYTES", 20_000)
    result = await arun_rollouts(environment(n=3), k=5)
    kept = [one.is_loaded for task in result.task_results for one in task.attempts]
    assert True in kept
    assert False in kept
    await result.asave(tmp_path / "b.json")
    after = await type(result).aload(tmp_path / "b.json")
    assert after.summary() == result.summary()
    assert {run_of(one).content for task in after.task_results for one in task.attempts} == {
        f"q{n}{TEXT}" for n in range(3)
    }


def test_an_attempt_is_counted_once_by_its_newest_take():
    counts = Tally()
    counts.take(0, 1, attempt("!"))
    counts.take(0, 300, attempt("+"))
    counts.take(2, 1, attempt("-"))
    assert (counts.n_ended, counts.n_scored, counts.n_passed) == (3, 2, 1)
    counts.take(0, 1, attempt("+"))
    counts.take(0, 300, attempt("t"))
    assert (counts.n_ended, counts.n_scored, counts.n_passed) == (3, 2, 1)


def test_a_runner_collects_more_rarely_and_leaves_the_collector_as_it_was():
    before = gc.get_threshold()
    with rarer_collections():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
    gc.set_threshold(0)
    try:
        with rarer_collections():
            assert gc.get_threshold()[0] == 0  # switched off by somebody
    finally:
        gc.set_threshold(*before)
