"""Training data out of results."""

import json
import os

import pytest
from pydantic import BaseModel

from rollgrid.agent import Message, ToolCall
from rollgrid.environments import (
    ExportReport,
    ato_preference_jsonl,
    ato_sft_jsonl,
    to_preference_jsonl,
    to_sft_jsonl,
)
from support.results import attempt, result, run_output, task_result, tool


def lines(path):
    return [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "train.jsonl"


def answered(text, outcome="+", **fields):
    return attempt(outcome, run=run_output(text, system="Add.", prompt="2+2", **fields))


def test_a_line_is_one_conversation_with_roles_and_texts_and_no_other_key(path):
    report = to_sft_jsonl(result(task_result("a", [answered("4")])), path)
    assert report == ExportReport(n_written=1)
    assert lines(path) == [
        {
            "messages": [
                {"role": "system", "content": "Add."},
                {"role": "user", "content": "2+2"},
                {"role": "assistant", "content": "4"},
            ]
        }
    ]


@pytest.mark.parametrize(
    "text", [' { "value":4 }\n', "\ud800", "a\x00b", "x\u2028y\u2029z\u0085", "🎉 ünï", 'tab\tquote"back\\slash']
)
def test_the_assistant_text_is_what_the_model_emitted_byte_for_byte(path, text):
    to_sft_jsonl(result(task_result("a", [answered(text)])), path)
    assert lines(path)[0]["messages"][-1]["content"] == text
    assert path.read_bytes().count(b"\n") == 1
    assert len(path.read_bytes().decode().splitlines()) == 1


def test_a_typed_answer_is_exported_in_the_models_own_words(path):
    class Answer(BaseModel):
        value: int

    to_sft_jsonl(result(task_result("a", [answered('{"value":   4}', content=Answer(value=4))])), path)
    assert lines(path)[0]["messages"][-1]["content"] == '{"value":   4}'


def everything():
    used = answered("4", tools=[tool("add")])
    limited_and_used = answered("4", tools=[tool("add")])
    limited_and_used.tool_call_limit_hit = True
    failed_without_text = attempt("-", run=run_output(None))
    silent = attempt("+", run=run_output(None))
    blank = answered(" \n")
    return result(
        task_result("a", [answered("4"), answered("5", "-"), used, limited_and_used]),
        task_result("b", [failed_without_text, silent, blank, attempt("!"), attempt("t"), attempt("u")]),
    )


def test_the_first_reason_that_holds_is_counted_and_the_counts_sum_to_the_scored_attempts(path):
    report = to_sft_jsonl(everything(), path)
    assert report == ExportReport(
        n_written=1, n_skipped_failed=2, n_skipped_tool_runs=1, n_skipped_limit_hit=1, n_skipped_no_text=2
    )
    assert sum(vars(report).values()) == everything().n_scored


def test_failed_attempts_are_exported_when_asked_but_never_unscored_ones(path):
    report = to_sft_jsonl(everything(), path, only_passed=False)
    assert (report.n_written, report.n_skipped_failed, report.n_skipped_no_text) == (2, 0, 3)
    assert sum(vars(report).values()) == everything().n_scored


def test_a_tool_call_without_execution_is_a_tool_run_too(path):
    run = run_output("4")
    run.messages.insert(1, Message(role="assistant", tool_calls=[ToolCall("c", "add", "{}")]))
    assert to_sft_jsonl(result(task_result("a", [attempt(run=run)])), path).n_skipped_tool_runs == 1


def test_tool_runs_are_exported_with_their_calls_when_asked(path):
    run = run_output("4", prompt="2+2", tools=[tool("add", "4")])
    run.messages[1:1] = [
        Message(role="assistant", tool_calls=[ToolCall("c1", "add", '{"a": 2}')]),
        Message(role="tool", content="4", tool_call_id="c1", name="add"),
    ]
    report = to_sft_jsonl(result(task_result("a", [attempt(run=run)])), path, include_tool_runs=True)
    assert report.n_written == 1
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    assert lines(path)[0]["messages"] == [
        {"role": "user", "content": "2+2"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
        {"role": "assistant", "content": "4"},
    ]


def test_a_developer_message_is_a_system_message(path):
    run = run_output("4")
    run.messages.insert(0, Message(role="developer", content="Add."))
    to_sft_jsonl(result(task_result("a", [attempt(run=run)])), path)
    assert lines(path)[0]["messages"][0] == {"role": "system", "content": "Add."}


def test_the_caps_drop_from_the_tail_and_count_what_they_drop(path):
    whole = result(task_result("a", [answered(str(n)) for n in range(5)]))
    report = to_sft_jsonl(whole, path, max_conversations=3)
    assert (report.n_written, report.n_dropped_over_cap) == (3, 2)
    size = path.stat().st_size
    report = to_sft_jsonl(whole, path, max_bytes=size)
    assert (report.n_written, report.n_dropped_over_cap) == (3, 2)
    assert path.stat().st_size == size
    assert to_sft_jsonl(whole, path, max_bytes=size - 1).n_written == 2


def test_nothing_is_written_after_the_first_line_that_does_not_fit(path):
    whole = result(task_result("a", [answered("x" * 500), answered("4")]))
    report = to_sft_jsonl(whole, path, max_bytes=300)
    assert (report.n_written, report.n_dropped_over_cap) == (0, 2)


def test_the_caps_are_320_conversations_and_a_mebibyte_and_can_be_lifted(path):
    whole = result(task_result("a", [answered("4") for _ in range(321)]), task_result("b", [answered("x" * 2**20)]))
    report = to_sft_jsonl(whole, path)
    assert (report.n_written, report.n_dropped_over_cap) == (320, 2)
    assert to_sft_jsonl(whole, path, max_conversations=None, max_bytes=None).n_written == 322


def test_the_sidecar_says_where_each_line_came_from(path):
    report = to_sft_jsonl(everything(), path, only_passed=False)
    sidecar = json.loads((path.parent / "train.jsonl.meta.json").read_text())
    assert sidecar["env_fingerprint"] == "rgenv1:aa"
    assert sidecar["policy_fingerprint"] == "pp"
    assert sidecar["report"] == vars(report)
    assert sidecar["options"]["only_passed"] is False
    assert sidecar["lines"] == [
        {"task_id": "a", "attempt_index": 0, "score": 1.0},
        {"task_id": "a", "attempt_index": 1, "score": 0.0},
    ]


async def test_the_async_twins_write_the_same(path):
    whole = result(task_result("a", [answered("4"), answered("5", "-")]))
    to_sft_jsonl(whole, path)
    first = path.read_bytes()
    await ato_sft_jsonl(whole, path)
    assert path.read_bytes() == first
    to_preference_jsonl(whole, path)
    first = path.read_bytes()
    await ato_preference_jsonl(whole, path)
    assert path.read_bytes() == first


def test_a_failed_export_leaves_the_old_file_whole(path):
    path.write_text("old")

    def load():
        raise OSError("the log is gone")

    broken = attempt(load=load)
    broken._run = None
    for export in (to_sft_jsonl, to_preference_jsonl):
        with pytest.raises(OSError, match="gone"):
            export(result(task_result("a", [answered("4"), broken])), path)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == ["train.jsonl"]


def test_a_pair_has_the_common_prompt_and_both_answers(path):
    whole = result(task_result("a", [answered("5", "-"), answered("4"), answered("4 again"), answered("6", "-")]))
    report = to_preference_jsonl(whole, path)
    assert report.n_written == 2
    prompt = [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+2"}]
    assert lines(path) == [
        {
            "prompt": prompt,
            "chosen": [{"role": "assistant", "content": "4"}],
            "rejected": [{"role": "assistant", "content": "5"}],
        },
        {
            "prompt": prompt,
            "chosen": [{"role": "assistant", "content": "4 again"}],
            "rejected": [{"role": "assistant", "content": "6"}],
        },
    ]
    sidecar = json.loads((path.parent / "train.jsonl.meta.json").read_text())
    assert sidecar["lines"][0] == {
        "chosen": {"task_id": "a", "attempt_index": 1, "score": 1.0},
        "rejected": {"task_id": "a", "attempt_index": 0, "score": 0.0},
    }


def test_a_task_without_both_sides_gives_no_pair_and_is_counted(path):
    whole = result(task_result("a", [answered("4")]), task_result("b", [answered("4", "-"), attempt("!")]))
    report = to_preference_jsonl(whole, path)
    assert (report.n_written, report.n_tasks_without_pair) == (0, 2)
    assert path.read_bytes() == b""


def test_what_cannot_be_one_side_is_counted(path):
    limited = answered("4")
    limited.tool_call_limit_hit = True
    whole = result(
        task_result(
            "a", [answered("4", tools=[tool("add")]), limited, attempt("-", run=run_output(None)), answered("5", "-")]
        ),
        task_result("b", [answered("4"), answered("4", "-")]),
    )
    report = to_preference_jsonl(whole, path)
    assert (report.n_written, report.n_skipped_tool_runs, report.n_skipped_limit_hit) == (0, 1, 1)
    assert (report.n_skipped_no_text, report.n_skipped_same_text, report.n_tasks_without_pair) == (1, 1, 2)


def test_pairs_of_one_task_can_be_capped(path):
    whole = result(task_result("a", [answered(str(n), "+" if n % 2 else "-") for n in range(6)]))
    report = to_preference_jsonl(whole, path, max_pairs_per_task=1)
    assert (report.n_written, report.n_dropped_over_cap) == (1, 2)
