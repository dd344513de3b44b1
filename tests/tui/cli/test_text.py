"""What the commands print, as text."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rollgrid.environments import ExportReport
from rollgrid.store.rows import AttemptRow, RunRow
from rollgrid_tui.cli.common import rate, span, table
from rollgrid_tui.cli.export import in_words
from rollgrid_tui.cli.headless import prints_on_stderr
from rollgrid_tui.cli.model import ProgressLines
from rollgrid_tui.cli.runs import run_facts, runs_table
from rollgrid_tui.cli.show import heading, mark, newest_takes, task_figures
from rollgrid_tui.cli.transcript import transcript_text
from rollgrid_tui.cli.watch import farewell


def run_row(**changes: Any) -> RunRow:
    values: dict[str, Any] = dict.fromkeys(RunRow._fields)
    values.update(
        run_id="bcdfgh", env_name="marks", k=4, n_tasks=2, model="m", model_kind="real", state="running", alive=True
    )
    for name in RunRow._fields:
        if name.startswith("n_") and values[name] is None:
            values[name] = 0
    values.update(n_planned=8, created_at=0.0, active_seconds=0.0, n_ended=3, n_scored=2, n_passed=1)
    return RunRow(**{**values, **changes})


def attempt_row(**changes: Any) -> AttemptRow:
    values: dict[str, Any] = dict.fromkeys(AttemptRow._fields, 0)
    values.update(attempt=1, take=1, phase="ended", stop_reason="completed", value=1.0, passed=True, superseded=None)
    return AttemptRow(**{**values, **changes})


def test_a_rate_never_comes_without_its_n() -> None:
    assert rate(1, 3) == "1/3 33%"
    assert rate(0, 0) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (200_000, "2 d"), (-3, "0 s")]
)
def test_a_duration_has_one_unit(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_wide_characters_do_not_break_the_columns() -> None:
    lines = table(("name", "n"), [["日本", "1"], ["ab", "22"]], right=(1,)).splitlines()
    assert lines == ["name   n", "日本   1", "ab    22"]


def test_text_of_others_cannot_act_on_the_terminal() -> None:
    assert table(("a",), [["x\x1b[2J\ny"]]) == "a\nx\\x1b[2J\\ny"


def test_a_run_whose_runner_is_gone_is_called_dead() -> None:
    assert run_facts(run_row(alive=False))["state"] == "dead"
    assert run_facts(run_row(alive=False, state="finished"))["state"] == "finished"
    assert list(run_facts(run_row()))[:4] == ["run_id", "state", "env", "pid"]


def test_a_simulated_run_is_marked_in_the_list() -> None:
    assert "SIMULATED" in runs_table([run_row(model_kind="simulated")], 0.0, {})
    assert "SIMULATED" not in runs_table([run_row()], 0.0, {})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "goes on"),
        ({"state": "paused"}, "is paused"),
        ({"alive": False}, "rollgrid resume bcdfgh --log /l.db"),
        ({"state": "interrupted", "alive": False}, "rollgrid resume bcdfgh --log /l.db"),
        ({"state": "stopped", "stopped_early": "error-storm"}, "is error-storm"),
        ({"state": "finished", "n_ended": 8}, "rollgrid watch bcdfgh --log /l.db"),
    ],
)
def test_leaving_the_dashboard_says_how_to_come_back(changes: dict[str, Any], says: str) -> None:
    text = farewell(run_row(**changes), Path("/l.db"))
    assert says in text
    assert "1/2 50%" in text


def test_the_newest_take_that_counts_is_shown() -> None:
    old = attempt_row(take=1, superseded="retry")
    new = attempt_row(take=2, value=0.0, passed=False)
    late = attempt_row(take=3, superseded="late")
    assert newest_takes([old, new, late]) == [new]
    assert newest_takes([old]) == [old]


def test_an_unscored_attempt_is_in_no_rate() -> None:
    error = attempt_row(attempt=2, value=None, passed=None, stop_reason="error")
    assert task_figures([attempt_row(), error]) == {
        "n_scored": 1,
        "n_passed": 1,
        "n_unscored": 1,
        "pass_rate": 1.0,
        "learning_zone": False,
    }


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "P"),
        ({"passed": False, "value": 0.0}, "F"),
        ({"passed": False, "value": 0.4}, "~"),
        ({"passed": None, "value": None, "stop_reason": "error"}, "E"),
        ({"passed": None, "value": None, "stop_reason": "timeout"}, "T"),
        ({"passed": None, "value": None, "stop_reason": "cancelled"}, "C"),
        ({"phase": "model", "value": None}, ">"),
        ({"superseded": "storm"}, "s"),
    ],
)
def test_every_outcome_has_a_mark_of_its_own(changes: dict[str, Any], shown: str) -> None:
    assert mark(attempt_row(**changes)) == shown


def test_a_transcript_shows_what_was_said_called_and_cut_off() -> None:
    text = transcript_text(
        {
            "messages": [
                {"role": "user", "content": "how much?"},
                {"role": "assistant", "content": None, "tool_calls": [{"name": "add", "arguments": '{"a": 1}'}]},
                {"role": "tool", "name": "add", "content": "2", "tool_call_error": True},
            ],
            "tools": [{"tool_name": "add", "tool_args": {"a": 1}, "result": "2"}],
            "partial_text": "the ans",
            "problem": "truncated",
            "score": {"detail": {"raw_score": 7}},
        }
    )
    for part in ("how much?", 'calls add({"a": 1})', "(the tool failed)", "the ans", "truncated", '{"raw_score": 7}'):
        assert part in text
    assert transcript_text(None) == "(no transcript was stored)"


def test_progress_without_a_terminal_is_a_line_for_every_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressLines()
    for done in range(0, 1001):
        progress(done, 1000, "downloading")
    assert capsys.readouterr().err.splitlines() == [f"{tenth} % (downloading)" for tenth in range(0, 101, 10)]


def test_what_user_code_prints_stays_off_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    with prints_on_stderr():
        print("the user's words")
        sys.stdout.flush()
    print("after")
    seen = capfd.readouterr()
    assert seen.out.split() == ["before", "after"]
    assert "the user's words" in seen.err


def test_how_long_a_live_run_took_is_not_said_before_it_is_known() -> None:
    now = time.time()
    assert "started 2 min ago" in heading(run_row(started_at=now - 120))[2]
    assert "active 90 s" not in heading(run_row(started_at=now - 120))[2]
    assert "active 2 min" in heading(run_row(alive=False, state="finished", active_seconds=120.0))[2]


def test_an_export_says_in_words_where_the_attempts_went() -> None:
    assert in_words(ExportReport(n_written=34, n_skipped_failed=2)) == "34 written, 2 skipped failed"
    assert in_words(ExportReport()) == "0 written"
