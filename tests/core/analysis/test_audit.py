"""Samples that are copies of each other, and scorers that change their mind."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rollgrid.analysis import audit
from rollgrid.analysis.audit import copies_in_log, copies_in_result, flaky_verdicts, output_bytes
from rollgrid.store.codec import encode
from rollgrid.store.reader import LogReader
from rollgrid.store.writer import LogWriter
from support.fake_log import attempt_row, transcript
from support.log_events import RUN, created, ended, session, superseded
from support.results import attempt, result, run_output, task_result

LONG = "a considered answer that nobody would give twice in the same words, " * 3
NAMES = ["t1", "t2"]


async def found(folder: Path, *takes, counted: list[str] | None = None):
    """What is found in a log with these takes: (task, attempt, answer, and fields of the event)."""
    path = folder / "log.db"
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(k=9))
        writer.append(session())
        for task, number, answer, fields in takes:
            body = answer if isinstance(answer, dict) else transcript(answer, reasoning=None)
            writer.append(ended(task, number, **fields), encode(body))
    reader = await LogReader.open(path)
    try:

        async def look(*where):
            if counted is not None:
                counted.append(f"{where[1]}/{where[2]}")
            return await reader.transcript(*where)

        return await copies_in_log(SimpleNamespace(equally_long=reader.equally_long, transcript=look), RUN, NAMES)
    finally:
        await reader.aclose()


def takes(task, answers, **fields):
    return [(task, n, answer, {"output_tokens": 60, **fields}) for n, answer in enumerate(answers, start=1)]


async def test_a_task_whose_attempts_are_all_alike_is_named(tmp_path):
    (copies,) = await found(tmp_path, *takes(0, [LONG] * 4), *takes(1, [LONG, LONG, LONG + "."]))
    assert (copies.task, copies.n, copies.n_tokens) == ("t1", 4, 60)
    assert "all 4 attempts of task t1 have the same output, byte for byte" in copies.line()


async def test_two_attempts_alike_say_nothing(tmp_path):
    assert await found(tmp_path, *takes(0, [LONG] * 2)) == []


async def test_a_short_answer_repeats_by_itself(tmp_path):
    assert await found(tmp_path, *takes(0, ["391"] * 5, output_tokens=5)) == []


async def test_a_short_answer_after_long_thought_does_not(tmp_path):
    (copies,) = await found(tmp_path, *takes(0, ["391"] * 5, output_tokens=800))
    assert copies.n_tokens == 800


async def test_where_no_tokens_are_told_the_text_itself_has_to_be_long(tmp_path):
    found_ = await found(
        tmp_path, *takes(0, [LONG] * 3, output_tokens=0), *takes(1, [{"raw_text": "391"}] * 3, output_tokens=0)
    )
    assert [one.task for one in found_] == ["t1"]


async def test_takes_that_do_not_count_and_unscored_ones_are_left_out(tmp_path):
    odd = [
        (0, 4, "another", {"passed": None, "stop_reason": "error", "output_tokens": 60}),
        (0, 5, "another", {"output_tokens": 60}),
    ]
    path = tmp_path / "log.db"
    await found(tmp_path, *takes(0, [LONG] * 3), *odd)
    async with LogWriter.open_cm(path) as writer:
        writer.append(superseded(0, 5))
    reader = await LogReader.open(path)
    try:
        (copies,) = await copies_in_log(reader, RUN, NAMES)
    finally:
        await reader.aclose()
    assert copies.n == 3


async def test_no_more_transcripts_are_read_than_tell_something(tmp_path):
    read: list[str] = []
    lengths = [(1, n, LONG, {"output_tokens": 60 + n}) for n in range(1, 6)]
    await found(tmp_path, *takes(0, ["x" * 300, "y" * 300, "z" * 300]), *lengths, counted=read)
    assert read == ["0/1", "0/2"], "the first that differs ends its task, other lengths need no look"


async def test_a_large_run_is_looked_at_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "MOST_BODIES", 5)
    assert len(await found(tmp_path, *takes(0, [LONG] * 4), *takes(1, [LONG] * 4))) == 1


def test_ids_times_and_counts_are_no_part_of_an_output():
    one = transcript(LONG, metrics={"duration": 1.0}, run_id="a")
    other = transcript(LONG, metrics={"duration": 2.0}, run_id="b")
    other["messages"][2]["tool_calls"][0]["id"] = "c9"
    assert output_bytes(one) == output_bytes(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(reasoning="hm"),
        lambda body: body["messages"][2]["tool_calls"][0].update(arguments='{"a": 1}'),
        lambda body: body["messages"][-1].update(content="other"),
        lambda body: body.update(raw_text="other"),
    ],
)
def test_whatever_the_model_gave_is_part_of_its_output(change):
    body = transcript(LONG)
    before = output_bytes(body)
    change(body)
    assert output_bytes(body) != before


def test_an_output_of_any_shape_has_bytes():
    assert output_bytes({"messages": ["odd", {"role": "assistant", "content": {1: {2}}}], "content": object})


def test_a_result_in_memory_is_looked_at_too():
    alike, other = run_output(LONG), [run_output(f"{LONG}{n}") for n in range(3)]
    made = result(
        task_result("same", [attempt("+", alike) for _ in range(3)]),
        task_result("apart", [attempt("+", one) for one in other]),
        task_result("few", [attempt("+", alike), attempt("+", alike), attempt("!")]),
    )
    assert [(one.task, one.n) for one in copies_in_result(made)] == [("same", 3)]


def test_made_up_answers_are_no_finding():
    made = result(task_result("same", [attempt("+", run_output(LONG))] * 3), about={"model_kind": "simulated"})
    assert copies_in_result(made) == []


def test_a_scorer_is_flaky_where_verdict_or_value_differs():
    first = [attempt_row(0, 1), attempt_row(0, 2), attempt_row(0, 3, value=0.8), attempt_row(0, 4, "error")]
    second = [attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(0, 3, value=0.9), attempt_row(0, 4, "error")]
    flaky = flaky_verdicts([first, second])
    assert [(one.attempt, one.flips, [row.value for row in one.verdicts]) for one in flaky] == [
        (2, True, [1.0, 0.0]),
        (3, False, [0.8, 0.9]),
    ]


def test_a_third_scoring_can_find_what_two_do_not():
    scorings = [[attempt_row(0, 1, outcome)] for outcome in ("fail", "pass", "pass")]
    assert flaky_verdicts(scorings[1:]) == []
    (flaky,) = flaky_verdicts(scorings)
    assert len(flaky.verdicts) == 3


def test_a_judge_that_fails_now_and_then_is_flaky_too():
    flaky = flaky_verdicts([[attempt_row(0, 1)], [attempt_row(0, 1, "error")]])
    assert flaky[0].flips
