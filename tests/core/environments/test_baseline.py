"""Baseline files: complete or not there, readable by the owner, and refused in one line when they are none."""

import errno
import json
import os
import stat
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel

from rollgrid.agent import Message, Metrics
from rollgrid.environments import BaselineError, EnvironmentRunResult
from rollgrid.environments import baseline as baseline_module
from rollgrid.environments import files as file_module
from rollgrid.errors import RollgridError
from rollgrid.scorer import Score
from support.results import attempt, result, run_of, run_output, score_of, task_result, tool

TESTS = str(Path(__file__).parents[2])
CORE = str(Path(__file__).parents[3] / "core")


def sample():
    run = run_output(
        "42",
        system="You add.",
        tools=[tool("add", "42", args={"a": 40, "b": 2}, tool_call_id="c1")],
        metrics=Metrics(input_tokens=10, output_tokens=5, cost=0.25),
        model="canned-1",
    )
    detailed = attempt(run=run, score=Score(0.75, True, "close", {"raw_score": 8}), tool_call_limit_hit=True)
    late = attempt("t", limit="timeout_seconds:run", take=2, status=503)
    return result(
        task_result("a", [detailed, late], metadata={"split": "smoke"}, expected={"value": 42}),
        task_result("b", "+-!"),
        stopped_early="interrupted",
        fingerprint_parts={"tasks": "t" * 64},
        about={"run_id": "abc123"},
    )


@pytest.fixture(params=["in memory", "in the file"])
def either_way(request, monkeypatch):
    """Files that are small enough to be read whole, and files whose attempts stay in them."""
    if request.param == "in the file":
        monkeypatch.setattr(baseline_module, "LARGE", 0)


def saved(tmp_path, whole=None):
    path = tmp_path / "baseline.json"
    (whole or sample()).save(path)
    return path


@pytest.mark.usefixtures("either_way")
def test_everything_comes_back(tmp_path):
    before = sample()
    after = EnvironmentRunResult.load(saved(tmp_path))
    assert after.summary() == before.summary()
    assert after.fingerprint_parts == before.fingerprint_parts
    assert after.about == before.about
    assert after.errors() == before.errors()
    for old, new in zip(before.task_results, after.task_results, strict=True):
        assert (new.task.id, new.task.input, new.task.expected, new.task.metadata) == (
            old.task.id,
            old.task.input,
            old.task.expected,
            old.task.metadata,
        )
        for one, other in zip(old.attempts, new.attempts, strict=True):
            for name in ("score", "stop_reason", "duration_seconds", "error", "error_type", "tool_call_limit_hit"):
                assert getattr(other, name) == getattr(one, name)
            assert (other.index, other.take, other.limit, other.status) == (one.index, one.take, one.limit, one.status)
            before_run, after_run = run_of(one), run_of(other)
            for name in ("messages", "tools", "metrics", "content", "model", "input"):
                assert getattr(after_run, name) == getattr(before_run, name)


async def test_the_async_twins_do_the_same(tmp_path):
    path = tmp_path / "baseline.json"
    await sample().asave(path)
    assert (await EnvironmentRunResult.aload(path)).summary() == sample().summary()


def test_the_file_has_the_documented_shape(tmp_path):
    data = json.loads(saved(tmp_path).read_text(encoding="utf-8"))
    assert list(data) == [
        "format_version",
        "env_name",
        "k",
        "env_fingerprint",
        "policy_fingerprint",
        "duration_seconds",
        "stopped_early",
        "task_results",
        "rollgrid",
    ]
    assert data["format_version"] == 1
    row = data["task_results"][0]
    assert list(row["task"]) == ["id", "input", "expected", "metadata"]
    known = {"run", "score", "stop_reason", "duration_seconds", "error", "tool_call_limit_hit", "error_type"}
    for one in row["attempts"]:
        assert set(one) - {"rollgrid"} == known
    assert row["attempts"][0]["score"] == {"value": 0.75, "passed": True, "reason": "close", "detail": {"raw_score": 8}}


@pytest.mark.usefixtures("either_way")
def test_saving_again_gives_the_same_bytes(tmp_path):
    first = saved(tmp_path).read_bytes()
    assert saved(tmp_path).read_bytes() == first
    EnvironmentRunResult.load(tmp_path / "baseline.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == first


@pytest.mark.usefixtures("either_way")
def test_an_empty_result_is_a_file_too(tmp_path):
    assert EnvironmentRunResult.load(saved(tmp_path, result())).summary() == result().summary()
    bare = result(task_result("a", ""))
    assert EnvironmentRunResult.load(saved(tmp_path, bare)).summary() == bare.summary()


def test_the_file_is_for_its_owner_alone_even_where_an_open_one_was(tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text("old")
    path.chmod(0o666)
    saved(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "baseline.json").symlink_to("real.json")
    saved(tmp_path)
    assert (tmp_path / "baseline.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["format_version"] == 1


def only_the_old_file(path):
    assert path.read_text() == "the good baseline"
    assert os.listdir(path.parent) == [path.name]


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text("the good baseline")
    return path


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_at_any_step_leaves_the_old_file_whole(good, monkeypatch, step):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_module.os, step, full)
    with pytest.raises(OSError, match="No space left"):
        sample().save(good)
    monkeypatch.undo()
    only_the_old_file(good)


def test_a_full_disk_leaves_the_old_file_whole(good):
    program = """
import resource, signal, sys
from support.results import result, run_output, task_result, attempt
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
whole = result(task_result("a", [attempt(run=run_output("x" * 100_000)) for _ in range(20)]))
try:
    whole.save(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([CORE, TESTS])}
    done = subprocess.run(
        [sys.executable, "-c", program, str(good)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "OSError\n"
    only_the_old_file(good)


def test_a_transcript_that_cannot_be_read_leaves_the_old_file_whole(good):
    def load():
        raise OSError("the log is gone")

    broken = attempt(load=load)
    broken._run = None
    with pytest.raises(OSError, match="the log is gone"):
        result(task_result("a", [attempt(), broken])).save(good)
    only_the_old_file(good)


def test_a_missing_folder_is_said_in_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder of .*none/b\.json does not exist"):
        sample().save(tmp_path / "none" / "b.json")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        sample().save(tmp_path)


class Answer(BaseModel):
    text: str


TEXTS = {
    "lone surrogate": "\ud800 alone",
    "NUL": "a\x00b",
    "line separators": "\u2028\u2029\u0085",
    "emoji": "🎉 ünï",
    "escape": "\x1b[31m",
    "ten megabytes": "x" * 10_000_000,
}


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_any_text_survives(tmp_path, text):
    run = run_output(text, prompt=text, tools=[tool("t", text, args={"a": text})])
    run.messages.append(Message(role="assistant", content=text, reasoning=text))
    one = attempt(run=run, score=Score(1.0, True, text, {"said": text}), error=text)
    whole = result(task_result(text[:300], [one], input=text, expected=text, metadata={"note": text}))
    path = saved(tmp_path, whole)
    path.read_bytes().decode("utf-8")
    after = EnvironmentRunResult.load(path)
    (new,) = after.task_results
    assert (new.task.id, new.task.input, new.task.expected) == (text[:300], text, text)
    assert new.task.metadata == {"note": text}
    read = new.attempts[0]
    assert (read.error, score_of(read).reason, score_of(read).detail) == (text, text, {"said": text})
    run = run_of(read)
    assert (run.content, run.messages[-1].reasoning, run.tools[0].tool_args) == (text, text, {"a": text})


def test_text_that_utf8_cannot_hold_costs_neither_save_nor_old_file(good):
    result(task_result("a", [attempt(run=run_output("\udfff"))])).save(good)
    assert run_of(EnvironmentRunResult.load(good).task_results[0].attempts[0]).content == "\udfff"


UNHOLDABLE = [{1, 2}, object(), float("nan"), float("inf"), b"bytes", {(1, 2): "x"}, 1 + 2j]


@pytest.mark.parametrize("value", UNHOLDABLE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("field", ["expected", "metadata"])
def test_a_value_that_json_cannot_hold_names_its_task_and_field(good, value, field):
    given = {"expected": value} if field == "expected" else {"metadata": {"inner": [value]}}
    with pytest.raises(BaselineError, match=rf"task 'odd one', field '{field}'") as caught:
        result(task_result("fine", "+"), task_result("odd one", "+", **given)).save(good)
    assert "\n" not in str(caught.value)
    assert "0x" not in str(caught.value)
    only_the_old_file(good)


def test_a_detail_that_json_cannot_hold_names_its_attempt(good):
    one = attempt(score=Score(1.0, True, detail={"seen": {1, 2}}))
    with pytest.raises(BaselineError, match="task 'a', attempt 2, field 'score'"):
        result(task_result("a", [attempt(), one])).save(good)
    only_the_old_file(good)


class Address(BaseModel):
    city: str
    opened: date


@pytest.mark.usefixtures("either_way")
def test_a_pydantic_instance_is_kept_as_its_values_wherever_it_stands(tmp_path):
    home = Address(city="Ulm", opened=date(2020, 2, 29))
    one = attempt(score=Score(1.0, True, detail={"found": home}))
    given = result(task_result("a", [one], expected=[home], metadata={"at": home}))
    (after,) = EnvironmentRunResult.load(saved(tmp_path, given)).task_results
    values = {"city": "Ulm", "opened": "2020-02-29"}
    assert (after.task.expected, after.task.metadata) == ([values], {"at": values})
    assert score_of(after.attempts[0]).detail == {"found": values}


def test_what_contains_itself_is_refused(good):
    loop = []
    loop.append(loop)
    with pytest.raises(BaselineError, match="field 'expected'"):
        result(task_result("a", "+", expected=loop)).save(good)
    only_the_old_file(good)


@pytest.mark.usefixtures("either_way")
def test_nan_in_a_models_own_arguments_costs_nothing(tmp_path):
    run = run_output(tools=[tool("t", args={"a": float("nan"), "b": [float("-inf")]})])
    after = EnvironmentRunResult.load(saved(tmp_path, result(task_result("a", [attempt(run=run)]))))
    assert run_of(after.task_results[0].attempts[0]).tools[0].tool_args == {"a": "NaN", "b": ["-Infinity"]}


@pytest.mark.usefixtures("either_way")
def test_a_run_that_left_nothing_is_kept_as_nothing(tmp_path):
    one = attempt("!")
    one._run = None
    after = EnvironmentRunResult.load(saved(tmp_path, result(task_result("a", [one]))))
    assert after.task_results[0].attempts[0].run is None


def test_transcripts_in_the_log_are_read_one_at_a_time_and_let_go(tmp_path):
    attempts = [attempt(load=lambda: run_output("from the log")) for _ in range(3)]
    for one in attempts:
        one._run = None
    path = saved(tmp_path, result(task_result("a", attempts)))
    assert not any(one.is_loaded for one in attempts)
    assert path.read_text().count('"content": "from the log", "content_type"') == 3


def refusal(tmp_path, content):
    path = tmp_path / "odd.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BaselineError) as caught:
        EnvironmentRunResult.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def edited(**changes):
    data = {
        "format_version": 1,
        "env_name": "e",
        "k": 1,
        "env_fingerprint": None,
        "policy_fingerprint": None,
        "duration_seconds": 1,
        "stopped_early": None,
        "task_results": [],
    }
    return json.dumps(data | changes)


def one_attempt(**changes):
    row = {
        "run": None,
        "score": None,
        "stop_reason": "error",
        "duration_seconds": 1.0,
        "error": None,
        "tool_call_limit_hit": False,
        "error_type": None,
    }
    task = {"id": "a", "input": "q", "expected": None, "metadata": {}}
    return edited(task_results=[{"task": task, "attempts": [row | changes]}])


@pytest.mark.usefixtures("either_way")
def test_a_minimal_file_of_another_writer_is_read(tmp_path):
    path = tmp_path / "b.json"
    path.write_text("\ufeff" + edited())
    assert EnvironmentRunResult.load(path).env_name == "e"
    path.write_text(one_attempt())
    assert EnvironmentRunResult.load(path).n_unscored == 1


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"SQLite format 3\x00rest", "run log"),
        (b"\x89PNG\xff", "not UTF-8"),
        (b"hello", "not valid JSON"),
        (b"[1, 2]", "no JSON object"),
        (b'{"messages": []}', "no format_version"),
        (b'{"messages": []}\n{"messages": []}\n', "several JSON values"),
        pytest.param(b"[" * 100_000, "JSON", id="nested without end"),
        (edited(format_version=2), "unsupported format_version 2"),
        (edited(format_version="1"), "unsupported format_version '1'"),
        (edited(format_version=True), "unsupported format_version True"),
        (edited(k="4"), "'k' of the file is of type str"),
        (edited(k=True), "'k' of the file is of type bool"),
        (edited(task_results=None), "'task_results' of the file is of type NoneType"),
        (edited(task_results=[5]), "task_results[0] is no object"),
        (edited(task_results=[{"task": {}, "attempts": []}]), "task_results[0].task has no 'input'"),
        (one_attempt(stop_reason="exploded"), "unknown stop_reason 'exploded'"),
        (one_attempt(run=[1]), "task_results[0].attempts[0].run is no object"),
        (one_attempt(run={"messages": 5}), "task_results[0].attempts[0].run cannot be read"),
        (one_attempt(score={"value": 2.0, "passed": True}), "task_results[0].attempts[0].score"),
        (one_attempt(score={"passed": True}), "has no 'value'"),
        ('{"format_version": 1}', "has no 'task_results'"),
    ],
)
def test_everything_else_is_refused_in_one_line(tmp_path, content, told):
    assert told in refusal(tmp_path, content)


@pytest.mark.usefixtures("either_way")
def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    whole = saved(tmp_path).read_bytes().rstrip()
    for length in range(1, len(whole)):
        assert "is cut off" in refusal(tmp_path, whole[:length]), whole[:length][-20:]


@pytest.mark.parametrize("value", ["naïve 🎉", "a \\ b \\u00e9", -1.5e-07, None, True, [[], {}]])
def test_a_file_that_is_cut_off_inside_of_any_value_is_refused(tmp_path, value):
    whole = json.dumps(
        {"format_version": 1, "x": value}, ensure_ascii=isinstance(value, str) and "\\" in value
    ).encode()
    for length in range(1, len(whole)):
        assert "is cut off" in refusal(tmp_path, whole[:length]), whole[:length]


@pytest.mark.usefixtures("either_way")
def test_two_tasks_of_one_name_are_refused_since_a_diff_would_pair_the_wrong_rows(tmp_path):
    path = saved(tmp_path, result(task_result("a", "+"), task_result("b", "-"), task_result("a", "-")))
    assert "task_results[0] and task_results[2] both have the id 'a'" in refusal(tmp_path, path.read_bytes())


@pytest.mark.usefixtures("either_way")
def test_a_task_without_an_id_goes_by_its_position(tmp_path):
    data = json.loads(one_attempt())
    data["task_results"] = [{**data["task_results"][0], "task": {"input": "q", "id": None}} for _ in range(2)]
    path = tmp_path / "b.json"
    path.write_text(json.dumps(data))
    assert [one.task.id for one in EnvironmentRunResult.load(path).task_results] == ["t1", "t2"]


def test_the_error_is_both_a_value_error_and_ours():
    assert issubclass(BaselineError, ValueError)
    assert issubclass(BaselineError, RollgridError)


def test_ten_thousand_tasks_are_saved_and_read(tmp_path):
    whole = result(*(task_result(f"task {n}", "+-") for n in range(10_000)))
    after = EnvironmentRunResult.load(saved(tmp_path, whole))
    assert (after.n_attempts, after.pass_rate, after.task_results[-1].task.id) == (20_000, 0.5, "task 9999")
