"""The rows of the history screen."""

from rollgrid.analysis.history import history
from rollgrid.analysis.history_text import ASCII_MARKS
from rollgrid_tui.state.history_view import ALL, HistoryView
from support.past import drift, past_run


def test_all_tasks_stand_first_then_falls_then_rises_then_what_stayed():
    view = HistoryView(drift())
    assert [line.name for line in view.lines] == [
        "all tasks",
        "sum-two-digits",
        "sql-group-by",
        "capital-of-france",
        "日本語の要約",
    ]
    assert [line.delta for line in view.lines[1:4]] == [-0.75, 0.75, None]


def test_a_row_has_a_mark_for_each_run_and_one_before_what_is_not_simply_the_next():
    view = HistoryView(drift())
    assert view.spark(view.lines[1], ASCII_MARKS, 40) == "99|9999>222:222"
    assert view.spark(view.lines[2], ASCII_MARKS, 40) == "00|0000000>777"


def test_the_runs_of_a_row_carry_the_same_marks():
    view = HistoryView(drift())
    runs = view.runs(view.lines[1])
    assert [one.sign for one in runs] == ["", "", "|", "", "", "", ">", "", "", ":", "", ""]
    assert [str(one.count) for one in runs][-2:] == ["2/8", "2/8"]


def test_what_changed_and_why_is_said_in_a_line():
    view = HistoryView(drift())
    assert view.says(view.lines[1]).startswith("100% -> 25% from run06 on, p <0.0001, same policy: drift")
    assert "from run09 on" in view.says(view.lines[2])
    assert view.says(view.lines[2]).endswith("another policy at run09")
    assert view.says(view.lines[3]) == "no change by more than chance in 10 comparable runs"


def test_what_sets_a_run_apart_is_said():
    view = HistoryView(drift())
    assert view.about(2) == "another environment (scorer) than the run above, not comparable with it"
    assert view.about(9) == "another policy: gpt-5.4-mini -> gpt-5.4"
    assert view.about(4) == ""


def test_a_task_that_is_called_like_nothing_is_a_row_of_its_own():
    view = HistoryView(history("env", [past_run(0, {"": (1, 8)})]))
    assert view.line(ALL).name == "all tasks"
    assert view.lines[1].key != ALL
    assert view.line("gone").name == "all tasks"


def test_hostile_text_is_clean():
    view = HistoryView(history("e", [past_run(0, {"\x1b[2J\n": (1, 8)}, run_id="\x07r", model="\u202em")]))
    (run,) = view.runs(view.lines[1])
    assert not {"\x1b", "\n", "\x07", "\u202e"} & set(view.lines[1].name + run.run_id + run.model)
