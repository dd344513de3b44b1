"""The grid, the report and whole attempts as text."""

import io
import sys

import pytest

from rollgrid.agent import Message, RunOutput, ToolCall
from rollgrid.environments.report_text import pad, width
from rollgrid.scorer import Score
from support.results import attempt, result, run_output, task_result, tool


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def on_terminal(monkeypatch, whole, **environment):
    """What a report prints to a terminal."""
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        whole.print_report(only="all")
    return stream.getvalue()


def test_the_grid_has_a_glyph_for_each_attempt_and_the_figures_of_each_task():
    text = str(result(task_result("sum", "++-"), task_result("product", "!tc"), duration_seconds=61.4))
    assert text.split("\n") == [
        "arithmetic  k=3, 6 attempts, 61s",
        "  sum      ✓✓✗    2/3    0.67  learning zone",
        "  product  ⚠◔⊘    0/0    -     3 unscored",
        "  2 tasks, 2/3 passed, pass rate 0.67, 3 unscored",
        "  first error: ValueError: broken",
    ]


def test_an_early_stop_and_the_known_cost_are_in_the_grid():
    run = run_output()
    run.metrics.cost = 0.125
    text = str(result(task_result("a", [attempt(run=run), attempt(run=run)]), stopped_early="error-storm"))
    assert "stopped early: error-storm" in text
    assert "$0.2500" in text


def test_attempts_that_never_ran_leave_their_columns_empty():
    text = str(result(task_result("a", "+"), task_result("bb", "+-+"), k=4))
    assert "  a   ✓       1/1" in text
    assert "  bb  ✓✗✓     2/3" in text


def test_sixty_tasks_are_all_in_the_grid():
    text = str(result(*(task_result(f"task-{n:02}", "+-") for n in range(60))))
    assert all(f"task-{n:02}" in text for n in range(60))
    assert len(text.split("\n")) == 62


def test_columns_hold_with_wide_and_endless_ids():
    ids = ["plain", "日本語", "e\u0301", "🎉 emoji", "x" * 300, "[bold]markup[/bold]", "a/b c"]
    lines = str(result(*(task_result(id, "+") for id in ids))).split("\n")[1:-1]
    assert len({width(line.split("✓")[0]) for line in lines}) == 1
    assert max(width(line) for line in lines) <= 80
    assert "[bold]markup[/bold]" in "\n".join(lines)


def test_padding_counts_cells():
    assert pad("日本", 6) == "日本  "
    assert pad("日本語日本語", 8) == "日本... "
    assert pad("abcdefgh", 6) == "abc..."


def test_a_terminal_without_unicode_gets_ascii_and_no_exception(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    whole = result(task_result("naïve", [attempt(run=run_output("ünï")), attempt("-", run=run_output("日"))]))
    print(whole)
    whole.print_report(only="all")
    whole.print_attempt("naïve", 2)
    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert "na\\xefve  +x" in text
    assert "\\u65e5" in text


HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202eevil\u2066 [red]markup[/red] [/] [link=x] \ud800 \r\x08"


def hostile_result():
    run = run_output(HOSTILE, prompt=HOSTILE, system=HOSTILE, tools=[tool(HOSTILE, HOSTILE, args={HOSTILE: HOSTILE})])
    run.messages.append(
        Message(role="assistant", content=HOSTILE, reasoning=HOSTILE, tool_calls=[ToolCall("c", HOSTILE, HOSTILE)])
    )
    run.messages.append(Message(role="tool", content=HOSTILE, name=HOSTILE, tool_call_error=True))
    run.partial_text = run.problem = run.problem_detail = run.model = HOSTILE
    one = attempt("-", run=run, score=Score(0.0, False, HOSTILE, {HOSTILE: HOSTILE}), error=HOSTILE)
    fields = {"input": HOSTILE, "expected": HOSTILE, "metadata": {HOSTILE: HOSTILE}}
    return result(task_result(HOSTILE, [one], **fields), env_name=HOSTILE, stopped_early=HOSTILE)


def test_nothing_hostile_reaches_the_terminal_and_no_markup_is_lost(capsys):
    whole = hostile_result()
    print(whole)
    whole.print_report()
    whole.print_attempt(HOSTILE)
    text = capsys.readouterr().out
    for character in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\ud800", "\r", "\x08"):
        assert character not in text
    assert text.count("[red]markup[/red] [/] [link=x]") > 10


def test_a_terminal_gets_colours(monkeypatch):
    whole = result(task_result("a", "+-!"))
    text = on_terminal(monkeypatch, whole)
    assert "\x1b[32m  attempt 1: PASS" in text
    assert "\x1b[31m  attempt 2: FAIL" in text
    assert "\x1b[33m  attempt 3: unscored" in text
    assert "\x1b" not in str(whole)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(monkeypatch, name, value):
    text = on_terminal(monkeypatch, result(task_result("a", "+-!")), **{name: value})
    assert "attempt 1: PASS" in text
    assert "\x1b" not in text


def test_no_colours_without_a_terminal(capsys):
    result(task_result("a", "+-!")).print_report(only="all")
    assert "\x1b" not in capsys.readouterr().out


def test_the_report_shows_failed_and_unscored_attempts_unless_told_otherwise(capsys):
    whole = result(task_result("a", "+-!"), task_result("b", "++"))
    whole.print_report()
    text = capsys.readouterr().out
    assert "attempt 1" not in text
    assert "attempt 2: FAIL, value 0.00, 1.5s" in text
    assert "attempt 3: unscored (error)" in text
    assert "error: ValueError: broken" in text
    assert "task b" not in text
    whole.print_report(only="all")
    assert capsys.readouterr().out.count("PASS") == 3


def test_the_evidence_of_an_attempt_is_reason_tools_answer_and_tokens(capsys):
    run = run_output("the answer", tools=[tool("add", args={"a": 1}), tool("fail", tool_call_error=True)], model="m1")
    run.metrics.input_tokens, run.metrics.output_tokens = 12, 5
    one = attempt("-", run=run, score=Score(0.25, False, "too late"), tool_call_limit_hit=True)
    result(task_result("a", [one])).print_report()
    text = capsys.readouterr().out
    for told in (
        "FAIL, value 0.25, 1.5s, tool call limit hit",
        "reason: too late",
        "tool: add(a=1) -> ok",
        "tool: fail() -> error",
        "answer: the answer",
        "tokens: 12 in, 5 out, m1",
    ):
        assert told in text


def test_a_cap_says_how_many_more_there_are(capsys):
    result(task_result("a", "----")).print_report(attempts=1)
    text = capsys.readouterr().out
    assert text.count("FAIL") == 1
    assert "3 more of this task" in text


def test_a_report_without_anything_to_say_says_so(capsys):
    result(task_result("a", "++")).print_report()
    assert "all 2 attempts passed" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [{"only": "passed"}, {"attempts": -1}])
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        result().print_report(**arguments)


def test_a_whole_attempt_leaves_nothing_out(capsys):
    long = "word " * 5000
    run = run_output(long, prompt="the question", system="the rules", tools=[tool("add", "the result " + long)])
    run.messages.insert(
        2, Message(role="assistant", reasoning="the thought", tool_calls=[ToolCall("c", "add", '{"a":1}')])
    )
    one = attempt("-", run=run, score=Score(0.0, False, "the reason", {"rows": [1, 2]}), error="the error")
    result(task_result("a", [attempt(), one], input="the question", expected={"x": 1})).print_attempt("a", 2)
    text = capsys.readouterr().out
    for told in (
        "task a, attempt 2 of 2: FAIL",
        "the rules",
        "the question",
        "the thought",
        '{"a":1}',
        "the result",
        "the reason",
        '{"rows": [1, 2]}',
        "the error",
        '{"x": 1}',
    ):
        assert told in text
    assert text.count("word") == 10_000


def test_a_cut_off_attempt_shows_what_had_arrived(capsys):
    run = RunOutput(messages=[Message(role="user", content="q")], partial_text="so far so")
    result(task_result("a", [attempt("t", run=run)])).print_attempt("a", 1)
    assert "so far so" in capsys.readouterr().out


def test_an_attempt_there_is_not_is_an_error_that_says_what_there_is():
    whole = result(task_result("a", "+-"))
    with pytest.raises(KeyError, match="'b'"):
        whole.print_attempt("b")
    for number in (0, 3, -1):
        with pytest.raises(IndexError, match=r"1\.\.2"):
            whole.print_attempt("a", number)


def test_an_attempt_without_a_run_says_so(capsys):
    one = attempt("!")
    one._run = None
    whole = result(task_result("a", [one]))
    whole.print_report()
    whole.print_attempt("a")
    assert capsys.readouterr().out.count("no run was recorded") == 2


def test_a_rich_console_is_given_text_and_no_markup():
    printed = []

    class Console:
        def print(self, text, **options):
            printed.append((text, options))

    hostile_result().print_report(console=Console())
    assert all(options["markup"] is False and options["highlight"] is False for _, options in printed)
    assert any("[red]markup[/red]" in text for text, _ in printed)


def test_an_answer_that_cannot_be_written_as_text_is_shown_by_its_type(capsys):
    class Odd:
        def __repr__(self):
            raise RuntimeError("no")

    one = attempt("-", run=run_output("x", content="x"))
    result(task_result("a", [one], expected=Odd())).print_attempt("a")
    assert "<Odd>" in capsys.readouterr().out


def test_a_ten_megabyte_answer_is_reported_in_one_line(capsys):
    result(task_result("a", [attempt("-", run=run_output("y" * 10_000_000))])).print_report()
    assert max(len(line) for line in capsys.readouterr().out.split("\n")) < 200
