"""Baseline files travel to and from the seed library.

It is looked for in this environment (dependency group `compat`), or in the one whose interpreter ROLLGRID_AGNO_PYTHON
names, so that its many dependencies need not be here.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import BaseModel

from rollgrid.agent import Message, Metrics, ToolCall
from rollgrid.environments import EnvironmentRunResult, MismatchError, to_sft_jsonl
from rollgrid.scorer import Score
from support.results import attempt, result, run_of, run_output, score_of, task_result, tool

AGNO = os.environ.get("ROLLGRID_AGNO_PYTHON") or (sys.executable if find_spec("agno") else "")

needs_agno = pytest.mark.skipif(not AGNO, reason="no agno here, and ROLLGRID_AGNO_PYTHON names no interpreter with it")

PRELUDE = """
import json, sys
from agno.environments import AttemptResult, EnvironmentRunResult, StopReason, Task, TaskResult, to_sft_jsonl
from agno.models.message import Message
from agno.models.response import ToolExecution
from agno.run.agent import RunInput, RunOutput
from agno.run.base import RunStatus
from agno.scorer import Score
"""

THEIRS = """
from agno.metrics import RunMetrics
from pydantic import BaseModel
class Answer(BaseModel):
    value: int
def run(content, text, tools=None, refused=False):
    calls = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}]
    messages = [Message(role="system", content="Add."), Message(role="user", content="2+2")]
    if tools:
        messages.append(Message(role="assistant", tool_calls=calls))
        messages.append(Message(role="tool", content="4", tool_call_id="c1", tool_name="add", tool_call_error=refused))
    messages.append(Message(role="assistant", content=text))
    return RunOutput(
        run_id="r1", agent_name="adder", session_id="s1", content=content, content_type=type(content).__name__,
        model="gpt-5", model_provider="OpenAI", status=RunStatus.completed, messages=messages, tools=tools,
        input=RunInput(input_content="2+2"), metrics=RunMetrics(input_tokens=10, output_tokens=5, total_tokens=15),
    )
done = StopReason.completed
used = [ToolExecution(tool_call_id="c1", tool_name="add", tool_args={"a": 2}, result="4", tool_call_error=False)]
def whole(passed):
    attempts = (
        AttemptResult(run(Answer(value=4), '{"value": 4}'), Score(1.0, passed, "exact", {"raw_score": 10}), done, 1.5),
        AttemptResult(run("5", "5", used), Score(0.25, False), done, 2.0, tool_call_limit_hit=True),
        AttemptResult(None, None, StopReason.error, 0.1, "ValueError: boom", error_type="ValueError"),
        AttemptResult(run("", ""), None, StopReason.timeout, 5.0, "timeout: exceeded 5s"),
    )
    return EnvironmentRunResult(
        env_name="theirs", k=4, env_fingerprint="envfp2:aa", policy_fingerprint="pp", duration_seconds=9.5,
        task_results=(
            TaskResult(Task("2+2", {"value": 4}, "sum", {"split": "x"}), attempts),
            TaskResult(Task("\\u00fcn\\u00ef \\u2028", None, "b c/d"), ()),
        ),
    )
whole(True).save(sys.argv[1])
whole(False).save(sys.argv[2])
report = to_sft_jsonl(whole(True), sys.argv[3], only_passed=False)
diff = whole(True).diff(whole(False)).to_dict()
print(json.dumps({"summary": whole(True).summary(), "diff": diff, "report": vars(report)}))
"""

OURS = """
result = EnvironmentRunResult.load(sys.argv[1])
other = EnvironmentRunResult.load(sys.argv[2])
str(result)
sys.stdout, kept = open("/dev/null", "w"), sys.stdout
result.print_report(only="all")
for one in result.task_results:
    for number in range(len(one.attempts)):
        result.print_attempt(one.task.id, number + 1)
sys.stdout = kept
report = to_sft_jsonl(result, sys.argv[3], only_passed=False)
result.save(sys.argv[4])
first = result.task_results[0].attempts[0]
print(json.dumps({
    "summary": result.summary(), "diff": result.diff(other).to_dict(), "report": vars(report),
    "roles": [m.role for m in first.run.messages],
    "tools": [[t.tool_name, t.tool_args, t.result] for t in first.run.tools or []],
    "tokens": [first.run.metrics.input_tokens, first.run.metrics.output_tokens], "model": first.run.model,
    "content": first.run.content, "status": first.run.status, "detail": first.score.detail,
}))
"""


def agno(program, *arguments):
    done = subprocess.run(
        [AGNO, "-c", PRELUDE + program, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "AGNO_TELEMETRY": "false"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@needs_agno
def test_a_file_of_the_seed_library_opens_here(tmp_path):
    first, second, exported = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "theirs.jsonl"
    told = agno(THEIRS, first, second, exported)
    whole, other = EnvironmentRunResult.load(first), EnvironmentRunResult.load(second)
    assert whole.summary() == told["summary"]
    assert whole.diff(other).to_dict() == told["diff"]
    typed, used, error, timeout = whole.task_results[0].attempts
    assert run_of(typed).content == {"value": 4}
    assert [message.role for message in run_of(used).messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert run_of(used).messages[2].tool_calls == [ToolCall("c1", "add", '{"a": 2}')]
    assert (run_of(used).tools[0].tool_args, run_of(used).tools[0].result) == ({"a": 2}, "4")
    assert (run_of(typed).metrics.input_tokens, run_of(typed).metrics.output_tokens) == (10, 5)
    assert (run_of(typed).input, run_of(typed).model) == ("2+2", "gpt-5")
    assert score_of(typed).detail == {"raw_score": 10}
    assert used.tool_call_limit_hit
    assert (error.run, error.error_type) == (None, "ValueError")
    assert timeout.stop_reason == "timeout"
    assert "sum" in str(whole)
    report = to_sft_jsonl(whole, tmp_path / "ours.jsonl", only_passed=False)
    assert vars(report) == told["report"]
    rows = [json.loads(line) for line in (tmp_path / "ours.jsonl").read_text().splitlines()]
    assert rows == [json.loads(line) for line in exported.read_text().splitlines()]


@needs_agno
def test_a_file_of_theirs_that_is_saved_here_still_opens_there(tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    told = agno(THEIRS, first, second, tmp_path / "x.jsonl")
    for path in (first, second):
        EnvironmentRunResult.load(path).save(path)
    again = agno(OURS, first, second, tmp_path / "y.jsonl", tmp_path / "c.json")
    assert again["summary"] == told["summary"]
    assert again["diff"] == told["diff"]
    assert again["report"] == told["report"]


class Answer(BaseModel):
    value: int


def ours(**fields):
    run = run_output(
        '{"value": 4}',
        content=Answer(value=4),
        system="Add.",
        tools=[tool("add", "4", args={"a": 2}, tool_call_id="c1")],
        metrics=Metrics(input_tokens=10, output_tokens=5, cached_tokens=3, cost=0.01, time_to_first_token=0.2),
        model="m1",
        reasoning="thought",
        run_id="r1",
        session_id="s1",
    )
    run.messages[2:2] = [
        Message(role="assistant", reasoning="hm", tool_calls=[ToolCall("c1", "add", '{"a": 2}')]),
        Message(role="tool", content="4", tool_call_id="c1", name="add"),
    ]
    first = attempt(run=run, score=Score(0.75, True, "close", {"raw_score": 8}))
    refused = attempt("-", run=run_output(None, problem="refusal", problem_detail="no", raw_text="I will not"))
    late = attempt("t", run=run_output(None, partial_text="so fa"), limit="timeout_seconds:run", status=503, take=2)
    nothing = attempt("!")
    nothing._run = None
    plain = attempt(run=run_output("ünï \u2028 \x00"))
    return result(
        task_result("sum", [first, refused, late, nothing, plain], expected={"value": 4}, metadata={"split": "x"}),
        task_result("[b] c/d 🎉", "+-!tcpu"),
        stopped_early="error-storm",
        fingerprint_parts={"tasks": "t"},
        about={"run_id": "x"},
        **fields,
    )


@needs_agno
def test_a_file_of_ours_opens_in_the_seed_library(tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    whole, other = ours(), ours(policy_fingerprint="qq")
    whole.save(first)
    other.save(second)
    exported, resaved = tmp_path / "theirs.jsonl", tmp_path / "c.json"
    told = agno(OURS, first, second, exported, resaved)
    assert told["summary"] == whole.summary()
    assert told["diff"] == whole.diff(other).to_dict()
    assert told["roles"] == ["system", "user", "assistant", "tool", "assistant"]
    assert told["tools"] == [["add", {"a": 2}, "4"]]
    assert (told["tokens"], told["model"], told["status"]) == ([10, 5], "m1", "COMPLETED")
    assert told["content"] == {"value": 4}
    assert told["detail"] == {"raw_score": 8}
    report = to_sft_jsonl(whole, tmp_path / "ours.jsonl", only_passed=False)
    assert vars(report) == told["report"]
    assert EnvironmentRunResult.load(resaved).summary() == whole.summary()


@needs_agno
def test_text_that_utf8_cannot_hold_reaches_the_seed_library_as_it_was(tmp_path):
    path = tmp_path / "a.json"
    result(task_result("a", [attempt(run=run_output("a\ud800b"))])).save(path)
    program = "print(json.dumps(EnvironmentRunResult.load(sys.argv[1]).task_results[0].attempts[0].run.content))"
    assert agno(program, path) == "a\ud800b"


FIXTURE = Path(__file__).parent / "data" / "seed_baseline.json"


def test_a_stored_file_of_the_seed_library_opens_without_it():
    whole = EnvironmentRunResult.load(FIXTURE)
    assert whole.summary()["env_fingerprint"].startswith("envfp2:")
    assert (whole.n_attempts, whole.n_scored, whole.pass_rate) == (4, 2, 0.5)
    assert whole.task_results[0].in_learning_zone
    assert [tool.tool_name for tool in run_of(whole.task_results[0].attempts[1]).tools] == ["add"]
    with pytest.raises(MismatchError, match="envfp2:aa"):
        ours().diff(whole)
