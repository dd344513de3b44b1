"""A changed scorer over the transcripts of a run: what it finds, what it keeps, and what it refuses."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rollgrid.environments.environment import Environment
from rollgrid.environments.from_log import aresult_from_log
from rollgrid.environments.report_text import scoring_text
from rollgrid.environments.scored import ascored_from_log
from rollgrid.environments.task import Task
from rollgrid.errors import RunError
from rollgrid.models.simulated import SimulatedModel
from rollgrid.runner.prepare import prepare_run
from rollgrid.runner.rescoring_run import RescoreRequest, rescore_run
from rollgrid.runner.session import Session, SessionOptions
from rollgrid.scorer import CodeScorer, JudgeScorer, MismatchError, Score
from rollgrid.store.events import AttemptRescored, ScoringStarted
from rollgrid.store.lease import acquire
from rollgrid.store.reader import LogReader
from rollgrid.store.scorings import flips
from rollgrid.store.writer import LogWriter
from support.log_events import derived_rows, query

RUN = "run1"


class Agent:
    """Says its prompt; counts how often it is asked."""

    def __init__(self, version: str = "1", schema: type[BaseModel] | None = None) -> None:
        self.asked = 0
        self.version = version
        if schema is not None:
            self.output_schema = schema

    async def arun(self, input: str):
        self.asked += 1
        if input == "fail":
            raise RuntimeError("no answer")
        return self.output_schema(text=input) if hasattr(self, "output_schema") else input

    def prompt_fields(self):
        return {"version": self.version}

    def policy(self):
        return {"id": "fake"}

    def copy_for_attempt(self):
        return self


def exact(run: Any, expected: Any) -> Any:
    if run.content == "break":
        raise KeyError("total")
    return Score(float(run.content == expected), run.content == expected, reason="exactly")


def lenient(run: Any, expected: Any) -> Any:
    return Score(1.0, run.content != "bad", reason="leniently", detail={"length": len(run.content)})


def broken(run: Any, expected: Any) -> Any:
    raise ValueError(f"cannot read {run.content}")


PROMPTS = ("good", "bad", "break", "fail", "late")
TASKS = tuple(Task(prompt, "good", id=prompt) for prompt in PROMPTS)


def environment(scorer: Any = exact, tasks: tuple[Task, ...] = TASKS, **fields: Any) -> Environment:
    agent = fields.pop("agent", None) or Agent()
    return Environment(name="env", tasks=tasks, scorer=CodeScorer(scorer), agent=agent, timeout_seconds=5, **fields)


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    return await run_of(environment(), tmp_path / "log.db")


async def run_of(env: Environment, log: Path, k: int = 1, run_id: str = RUN) -> Path:
    options = SessionOptions(log=log, author="ada", concurrency=4, run_id=run_id)
    await Session(prepare_run(env, k=k), options).run()
    return log


async def rescore(log: Path, env: Environment, **changes: Any):
    return await rescore_run(RescoreRequest(log=log, run_id=RUN, author="bea", env=env, **changes))


def kinds(outcome: Any) -> dict[str, str]:
    return {outcome.tasks[flip.after.task].id: flip.kind for flip in flips(outcome.before, outcome.after)}


async def scorings(log: Path):
    reader = await LogReader.open(log)
    try:
        return await reader.scorings(RUN)
    finally:
        await reader.aclose()


async def test_a_changed_scorer_is_applied_without_a_call_to_the_agent(log):
    agent = Agent()
    outcome = await rescore(log, environment(lenient, agent=agent))
    assert agent.asked == 0
    assert outcome.number == 2
    assert not outcome.same_scorer
    assert kinds(outcome) == {"break": "unscored->pass", "late": "fail->pass"}
    flip = next(flip for flip in flips(outcome.before, outcome.after) if flip.kind == "fail->pass")
    assert (flip.before.reason, flip.after.reason) == ("exactly", "leniently")


async def test_an_attempt_whose_agent_failed_stays_unscored(log):
    outcome = await rescore(log, environment(lenient))
    assert outcome.n_unscorable == 1
    failed = next(row for row in outcome.after if outcome.tasks[row.task].id == "fail")
    assert (failed.passed, failed.error) == (None, "RuntimeError: no answer")


async def test_both_scorings_can_be_had(log):
    original = (await aresult_from_log(log, RUN)).summary()
    await rescore(log, environment(lenient))
    assert (await aresult_from_log(log, RUN)).summary() == original
    assert (await ascored_from_log(log, RUN, "original")).summary() == original
    later = await ascored_from_log(log, RUN, "latest")
    assert (original["pass_rate"], later.summary()["pass_rate"]) == (1 / 3, 3 / 4)
    attempt = later.task_result("late").attempts[0]
    assert attempt.run.content == "late"
    assert attempt.score.detail == {"length": 4}
    assert scoring_text(later.about).startswith("scores of scoring 2 by CodeScorer(lenient) (bea, ")
    assert scoring_text((await aresult_from_log(log, RUN)).about) is None
    assert "scores of scoring 2 by CodeScorer(lenient)" in str(later)
    assert "scores of scoring 2 by CodeScorer(lenient)" in str(later.statistics())


async def test_a_saved_file_says_which_scoring_it_holds(log, tmp_path):
    await rescore(log, environment(lenient))
    (await ascored_from_log(log, RUN, "2")).save(tmp_path / "b.json")
    loaded = type(await aresult_from_log(log, RUN)).load(tmp_path / "b.json")
    assert loaded.about["scoring"]["number"] == 2
    assert loaded.pass_rate == 3 / 4


async def test_a_scoring_compares_with_runs_of_the_changed_environment_and_with_no_other(log):
    await rescore(log, environment(lenient))
    await run_of(environment(lenient), log, run_id="run2")
    fresh, rescored = await aresult_from_log(log, "run2"), await ascored_from_log(log, RUN, "latest")
    assert fresh.diff(rescored).statistics().delta == 0
    with pytest.raises(MismatchError, match="different: scorer"):
        rescored.diff(await aresult_from_log(log, RUN))


async def test_a_dry_run_leaves_nothing_behind(log):
    before = query(log, "SELECT count(*) FROM event")
    outcome = await rescore(log, environment(lenient), dry_run=True)
    assert outcome.number is None
    assert len(kinds(outcome)) == 2
    assert query(log, "SELECT count(*) FROM event") == before


async def test_the_same_scorer_flips_nothing(log):
    outcome = await rescore(log, environment())
    assert outcome.same_scorer
    assert kinds(outcome) == {}


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        ((*TASKS[:4], Task("later", "good", id="late")), "asked differently: late"),
        (TASKS[:4], "not in the environment any more: late"),
        ((*TASKS[:4], Task("late", "late", id="late")), "expected value changed: late"),
    ],
)
async def test_other_tasks_are_refused_part_by_part(log, tasks, told):
    with pytest.raises(RunError, match="its tasks differ") as caught:
        await rescore(log, environment(lenient, tasks))
    assert told in caught.value.message
    assert ("--new-expected" in (caught.value.hint or "")) == ("expected" in told)
    assert await scorings(log) == []


async def test_changed_expected_values_are_used_when_that_is_asked_for(log):
    tasks = (*TASKS[:4], Task("late", "late", id="late"))
    outcome = await rescore(log, environment(exact, tasks), expected="environment")
    assert kinds(outcome) == {"late": "fail->pass"}
    assert "scored against the changed expected values of late" in outcome.remarks
    await run_of(environment(exact, tasks), log, run_id="run2")
    later = await ascored_from_log(log, RUN, "latest")
    assert later.task_result("late").task.expected == "late"
    assert later.env_matches(await aresult_from_log(log, "run2"))


async def test_a_changed_prompt_and_more_tasks_are_no_obstacle_and_are_told(log):
    tasks = (*TASKS, Task("new", "good", id="new"))
    outcome = await rescore(log, environment(lenient, tasks, agent=Agent(version="2")))
    assert outcome.number == 2
    assert outcome.remarks == ("changed since the run as well, which the stored answers do not show: prompt",)


async def test_a_scorer_that_fails_alike_for_everything_is_refused_and_nothing_counts(log):
    with pytest.raises(RunError, match="gave no score for any of the 4 attempts") as caught:
        await rescore(log, environment(broken))
    assert "scorer: ValueError: cannot read" in caught.value.message
    assert [one.number for one in await scorings(log)] == [None]


async def test_a_broken_scorer_is_found_out_after_a_few_attempts(tmp_path):
    tasks = tuple(Task("good", "good", id=f"t{n}") for n in range(40))
    log = await run_of(environment(exact, tasks), tmp_path / "log.db")
    with pytest.raises(RunError, match=r"any of the [4-9] attempts"):
        await rescore(log, environment(broken, tasks))


async def test_a_run_that_goes_on_is_not_scored_anew(log):
    async with LogWriter.open_cm(log) as writer:
        from rollgrid.store.events import RunStateChanged

        writer.append(RunStateChanged(run_id=RUN, at=1.0, state="running"))
        await writer.flush()
    lease = await acquire(log, RUN)
    with pytest.raises(RunError, match="is still running"):
        await rescore(log, environment(lenient))
    await lease.release()


async def test_an_interrupted_scoring_counts_for_nothing_and_the_next_one_is_whole(log):
    began = asyncio.Event()

    async def slow(run: Any, expected: Any) -> bool:
        if run.content == "late":
            began.set()
            await asyncio.sleep(3600)
        return True

    rows = derived_rows(log)
    work = asyncio.create_task(rescore(log, environment(slow)))
    await began.wait()
    work.cancel()
    await asyncio.wait({work})
    assert [one.number for one in await scorings(log)] == [None]
    assert {name: derived_rows(log)[name] for name in ("run", "attempt")} == {
        name: rows[name] for name in ("run", "attempt")
    }
    assert (await rescore(log, environment(lenient))).number == 2


async def test_verdicts_that_were_paid_for_are_taken_over(log):
    digest = prepare_run(environment(lenient)).fingerprint_parts
    async with LogWriter.open_cm(log) as writer:
        writer.append(
            ScoringStarted(
                run_id=RUN,
                at=1.0,
                scoring="half",
                scorer="JudgeScorer",
                digest=digest["scorer"],
                env_fingerprint=None,
                fingerprint_parts=digest,
                author="bea",
                host="box",
            )
        )
        for task, passed in ((0, False), (1, None)):
            place = {"run_id": RUN, "at": 2.0, "task": task, "attempt": 1, "take": 1, "scoring": "half"}
            paid = {"scorer_input_tokens": 9, "duration_seconds": 0.1, "passed": passed}
            writer.append(AttemptRescored(**place, **paid, value=None if passed is None else 0.0, reason="judged"))
        await writer.flush()
    outcome = await rescore(log, environment(lenient))
    assert [(one.scoring, one.number) for one in await scorings(log)] == [("half", 2)]
    said = {outcome.tasks[row.task].id: row.reason for row in outcome.after}
    assert (said["good"], said["bad"]) == ("judged", "leniently")


async def test_a_judge_that_is_simulated_is_called_so(log):
    judge = SimulatedModel("simulated/judge", answers=lambda prompt: {"passed": True, "reason": "fine"}, latency=0)
    env = Environment(
        name="env", tasks=TASKS, scorer=JudgeScorer(judge, "is it good?"), agent=Agent(), timeout_seconds=5
    )
    outcome = await rescore(log, env)
    assert "SIMULATED judge: these verdicts are made up, no model was asked" in outcome.remarks
    assert outcome.input_tokens > 0
    (kept,) = await scorings(log)
    assert (kept.input_tokens, kept.output_tokens) == (outcome.input_tokens, outcome.output_tokens)


class Answer(BaseModel):
    text: str


async def test_typed_answers_reach_the_scorer_as_instances(tmp_path):
    def typed(run: Any, expected: Any) -> bool:
        return isinstance(run.content, Answer) and run.content.text == expected

    tasks = (TASKS[0],)
    log = await run_of(environment(typed, tasks, agent=Agent(schema=Answer)), tmp_path / "log.db")
    outcome = await rescore(log, environment(typed, tasks, agent=Agent(schema=Answer)))
    assert [row.passed for row in outcome.after] == [True]


async def test_without_a_schema_the_scorer_gets_plain_values_and_a_person_is_told(tmp_path):
    def plain(run: Any, expected: Any) -> bool:
        return run.content == {"text": "good"}

    tasks = (TASKS[0],)
    log = await run_of(environment(plain, tasks, agent=Agent(schema=Answer)), tmp_path / "log.db")
    outcome = await rescore(log, environment(plain, tasks))
    assert [row.passed for row in outcome.after] == [True]
    assert any("answers of type Answer were given to the scorer as plain JSON values" in one for one in outcome.remarks)


async def test_an_answer_that_fits_the_schema_no_more_is_unscored_and_says_so(tmp_path):
    class Longer(BaseModel):
        text: str
        more: str

    tasks = TASKS[:2]

    def typed(run: Any, expected: Any) -> bool:
        return True

    log = await run_of(environment(typed, tasks, agent=Agent(schema=Answer)), tmp_path / "log.db")
    with pytest.raises(RunError, match="no Longer of the environment any more: more: Field required"):
        await rescore(log, environment(typed, tasks, agent=Agent(schema=Longer)))


async def test_an_attempt_that_ended_after_the_scoring_is_not_in_it(log):
    await rescore(log, environment(lenient))
    env = environment()
    from rollgrid.runner.resume import prepare_resume

    reader = await LogReader.open(log)
    try:
        row = await reader.run(RUN)
        more = await prepare_resume(prepare_run(env, k=2), reader, log, row, author="ada", k=2)
    finally:
        await reader.aclose()
    await Session(more, SessionOptions(log=log, author="ada", concurrency=4, run_id=RUN)).run()
    later = await ascored_from_log(log, RUN, "latest")
    first, second = later.task_result("good").attempts
    assert (first.score is not None, second.score) == (True, None)
    assert second.error == "not in this scoring, which is older than the attempt"
