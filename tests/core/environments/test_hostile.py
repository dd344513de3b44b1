"""Hostile data through a whole run: nothing is lost, nothing stops the run, each thing has its stated outcome."""

import json
import math

import pytest

from rollgrid.agent import Agent
from rollgrid.environments import (
    BaselineError,
    Environment,
    EnvironmentRunResult,
    StopReason,
    Task,
    arun_rollouts,
    to_sft_jsonl,
)
from rollgrid.environments.from_log import aresult_from_log
from rollgrid.scorer import CodeScorer, JudgeScorer, Score
from rollgrid.store.reader import LogReader
from support.canned import CannedModel
from support.results import run_of, score_of


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    path = tmp_path / "log.db"
    monkeypatch.setenv("ROLLGRID_LOG", str(path))
    return path


async def echo(input):
    return input


def passes(run, expected):
    return True


def environment(*tasks, scorer=None, agent=echo):
    return Environment("hostile", tasks, scorer or CodeScorer(passes), agent)


async def logged(path):
    reader = await LogReader.open(path)
    try:
        return await aresult_from_log(path, await reader.resolve("last"))
    finally:
        await reader.aclose()


TEXTS = {
    "lone surrogate": "a\ud800b",
    "NUL": "a\x00b",
    "line separators": "a\u2028b\u2029c\u0085d\x0be\x0cf",
    "escapes": "\x1b[2J\x1b]0;t\x07\u202e",
    "markup": "[bold red]x[/] [/nothing] [link=",
    "emoji": "👩‍👩‍👧 🇩🇪",
    "empty": "",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_any_text_goes_through_run_log_file_and_export(text, log, tmp_path, capsys):
    env = environment(Task(text, text, metadata={"note": text}))
    whole = await arun_rollouts(env, k=2)
    assert (whole.n_scored, whole.pass_rate) == (2, 1.0)
    stored = await logged(log)
    whole.save(tmp_path / "b.json")
    for read in (stored, EnvironmentRunResult.load(tmp_path / "b.json")):
        assert read.summary() == whole.summary()
        (one,) = read.task_results
        assert (one.task.input, one.task.expected, one.task.metadata) == (text, text, {"note": text})
        assert [run_of(attempt).content for attempt in one.attempts] == [text, text]
    print(whole)
    whole.print_report(only="all")
    whole.print_attempt("t1")
    assert "\x1b" not in capsys.readouterr().out
    report = to_sft_jsonl(whole, tmp_path / "s.jsonl")
    assert report.n_written == (2 if text.strip() else 0)


@pytest.mark.parametrize("id", ["two words", "a/b\\c", "../../x", "[bold]x[/bold]", "🎉", "x" * 300, "-rf", "%s {}"])
async def test_any_id_goes_through_run_log_and_file(id, log, tmp_path):
    whole = await arun_rollouts(environment(Task("q", id=id), Task("r")), k=1)
    assert [one.task.id for one in whole.task_results] == [id, "t2"]
    assert [one.task.id for one in (await logged(log)).task_results] == [id, "t2"]
    whole.print_attempt(id)


RESULTS = {
    "None": (None, "TypeError"),
    "a string": ("yes", "TypeError"),
    "NaN": (math.nan, "ValueError"),
    "infinity": (math.inf, "ValueError"),
    "seven": (7, "ValueError"),
    "a list": ([1], "TypeError"),
}


@pytest.mark.parametrize(("value", "error"), RESULTS.values(), ids=RESULTS.keys())
async def test_a_scorer_that_gives_no_score_leaves_its_attempts_unscored_and_says_why(value, error, log):
    env = environment(Task("q"), scorer=CodeScorer(lambda run, expected: value))
    whole = await arun_rollouts(env, k=2)
    assert (whole.n_scored, whole.n_unscored, whole.pass_rate) == (0, 2, None)
    for one in whole.task_results[0].attempts:
        assert one.stop_reason is StopReason.completed
        assert one.error is not None
        assert one.error.startswith(f"scorer: {error}: ")
        assert run_of(one).content == "q"
    assert (await logged(log)).errors() == whole.errors()


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), SystemExit(3), StopIteration(1), AssertionError()])
async def test_a_scorer_that_raises_whatever_leaves_its_attempt_unscored(error):
    def fn(run, expected):
        raise error

    whole = await arun_rollouts(environment(Task("q"), Task("r"), scorer=CodeScorer(fn)), k=2)
    assert (whole.n_attempts, whole.n_unscored) == (4, 4)
    assert all(text.startswith("scorer: ") for texts in whole.errors().values() for text in texts)


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), math.nan, b"x", {(1, 2): 3}], ids=lambda value: type(value).__name__
)
async def test_an_expected_value_that_json_cannot_hold_runs_and_is_named_when_saved(value, tmp_path):
    seen = []

    def fn(run, expected):
        seen.append(expected)
        return True

    whole = await arun_rollouts(environment(Task("q", value, "odd one"), scorer=CodeScorer(fn)), k=1)
    assert whole.pass_rate == 1.0
    assert seen == [value] or seen[0] is value
    assert whole.env_fingerprint is None
    with pytest.raises(BaselineError, match="task 'odd one', field 'expected'"):
        whole.save(tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()


async def test_a_detail_that_json_cannot_hold_does_not_stop_the_run(log):
    env = environment(Task("q"), scorer=CodeScorer(lambda run, expected: Score(1.0, True, detail={"seen": {1, 2}})))
    whole = await arun_rollouts(env, k=1)
    assert score_of(whole.task_results[0].attempts[0]).detail == {"seen": {1, 2}}
    assert (await logged(log)).pass_rate == 1.0


async def test_an_answer_of_ten_megabytes_is_kept_whole(log, tmp_path):
    async def verbose(input):
        return "x" * 10_000_000

    whole = await arun_rollouts(environment(Task("q"), agent=verbose), k=1)
    assert len(run_of((await logged(log)).task_results[0].attempts[0]).content) == 10_000_000
    whole.save(tmp_path / "b.json")
    assert len(str(whole)) < 1000


REPLIES = ["I think it is fine.", json.dumps({"score": 11, "reason": "great"}), ""]


@pytest.mark.parametrize("reply", REPLIES, ids=["prose", "eleven", "nothing"])
async def test_a_judge_without_a_verdict_leaves_the_attempt_unscored_and_its_reply_is_kept(reply, log):
    judge = JudgeScorer(CannedModel(reply), "Is it right?", "numeric")
    whole = await arun_rollouts(environment(Task("q"), scorer=judge), k=1)
    assert (whole.n_scored, whole.n_unscored) == (0, 1)
    (text,) = whole.errors()["t1"]
    assert text.startswith("scorer: JudgeError: ")
    assert repr(reply)[1:-1] in text if reply else "nothing" in text
    assert (await logged(log)).errors() == whole.errors()


async def test_an_agent_that_exits_is_an_error_of_its_attempt():
    async def leaves(input):
        raise SystemExit(9)

    whole = await arun_rollouts(environment(Task("q"), agent=leaves), k=2)
    assert [one.stop_reason for one in whole.task_results[0].attempts] == [StopReason.error] * 2
    assert "sys.exit(9)" in whole.errors()["t1"][0]


async def test_ten_thousand_tasks_run(log):
    env = environment(*(Task(str(n)) for n in range(10_000)), agent=Agent(model=CannedModel("ok")))
    whole = await arun_rollouts(env, k=1, concurrency=64)
    assert (whole.n_attempts, whole.pass_rate, whole.task_results[-1].task.id) == (10_000, 1.0, "t10000")
    assert (await logged(log)).summary() == whole.summary()
