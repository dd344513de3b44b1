"""A history: which runs are comparable, what changed, and how it reads without colour in 80 columns."""

import json

import pytest

from rollgrid.analysis.comparison import Count
from rollgrid.analysis.history import PastRun, history
from rollgrid.analysis.history_text import ASCII_MARKS, BRAILLE_MARKS, bar, history_text, level, spark, task_text
from rollgrid.analysis.wilson import Interval, wilson


def past(place, passed, *, env="rgenv1:a", policy="p", tasks=("t1", "t2"), **fields):
    given = {"run_id": f"run{place:02d}", "at": 86_400.0 * place, "model": "m1", "simulated": False}
    counts = {name: Count(passed, 8) for name in tasks}
    parts = {"fingerprint_parts": {"tasks": "t", "scorer": env or ""}}
    return PastRun(
        **{**given, "env_fingerprint": env, "policy_fingerprint": policy, "counts": counts, **parts, **fields}
    )


def drifting(**fields):
    return [past(n, 8 if n < 5 else 3, **fields) for n in range(10)]


def test_a_drop_without_another_policy_is_drift():
    told = history("env", drifting())
    (change,) = told.changes
    assert (change.at, change.before, change.after, change.policy_at) == (5, Count(80, 80), Count(30, 80), None)
    assert [one.at for task in told.tasks for one in task.changes] == [5, 5]
    assert "same policy: drift" in history_text(told)


def test_a_drop_where_the_policy_changed_says_so():
    runs = [past(n, 8 if n < 5 else 3, policy="p" if n < 5 else "q") for n in range(10)]
    told = history("env", runs)
    assert told.changes[0].policy_at == 5
    assert [told.policy_changed(place) for place in range(10)] == [place == 5 for place in range(10)]
    assert "the policy changed at run05" in history_text(told)


def test_a_policy_that_changed_where_the_change_may_have_been_explains_it():
    passed = [8, 7, 8, 8, 6, 3, 4, 3, 2]
    told = history("env", [past(n, one, tasks=("t1",), policy="p" if n < 4 else "q") for n, one in enumerate(passed)])
    (change,) = told.changes
    assert change.at == 5
    assert change.earliest <= 4 <= change.latest
    assert change.policy_at == 4


def test_runs_of_another_environment_are_not_compared():
    runs = [past(n, 8 if n < 5 else 3, env="rgenv1:a" if n < 5 else "rgenv1:b") for n in range(10)]
    told = history("env", runs)
    assert told.changes == ()
    assert told.series == (0,) * 5 + (1,) * 5
    assert told.differs(5) == ("scorer",)
    assert "another environment (scorer): not comparable with the runs above" in history_text(told)


def test_a_run_that_went_back_to_an_environment_is_compared_with_its_earlier_runs():
    runs = [past(n, 8 if n < 8 else 2, env="rgenv1:b" if n in (4, 5) else "rgenv1:a") for n in range(12)]
    told = history("env", runs)
    assert told.series == (0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0)
    assert [one.at for one in told.changes] == [8]
    assert told.before(6) == 3


def test_runs_without_a_fingerprint_and_simulated_ones_stand_alone():
    told = history("env", [past(0, 8, env=None), past(1, 2, env=None), past(2, 8), past(3, 2, simulated=True)])
    assert len(set(told.series)) == 4
    assert told.differs(3) == ("simulated",)
    assert "SIMULATED" in history_text(told)


def test_tasks_that_some_runs_lack_are_gaps():
    told = history("env", [past(0, 8, tasks=("t1",)), past(1, 8, tasks=("t2",))])
    assert [task.counts for task in told.tasks] == [(Count(8, 8), None), (None, Count(8, 8))]
    assert told.tasks[0].intervals == (wilson(8, 8), None)
    assert spark(told, told.tasks[0].counts, (), ASCII_MARKS, 10) == "9."


def test_a_row_reads_without_colour():
    runs = [
        past(n, 8 if n < 5 else 3, env="rgenv1:a" if n else "rgenv1:0", policy="p" if n < 7 else "q") for n in range(10)
    ]
    told = history("env", runs)
    changes = told.tasks[0].changes
    assert spark(told, told.tasks[0].counts, changes, ASCII_MARKS, 40) == "9|9999>33:333"
    assert spark(told, told.tasks[0].counts, changes, BRAILLE_MARKS, 40) == "⣿|⣿⣿⣿⣿>⣤⣤:⣤⣤⣤"
    assert spark(told, told.tasks[0].counts, changes, ASCII_MARKS, 5) == "3:333"
    assert spark(told, told.tasks[0].counts, changes, ASCII_MARKS, 3) == "33"
    assert spark(told, told.tasks[0].counts, changes, ASCII_MARKS, 0) == ""


@pytest.mark.parametrize(
    ("count", "shown"),
    [(Count(0, 8), "0"), (Count(1, 8), "1"), (Count(79, 80), "8"), (Count(8, 8), "9"), (Count(0, 0), "."), (None, ".")],
)
def test_only_what_always_passed_has_the_highest_mark(count, shown):
    assert level(count, ASCII_MARKS) == shown


def test_a_bar_holds_the_interval_and_the_rate():
    assert bar(Interval(0.0, 1.0), 0.5, ASCII_MARKS, 5) == "==#=="
    assert bar(Interval(0.45, 1.0), 1.0, ASCII_MARKS, 5) == "--==#"
    assert bar(None, None, ASCII_MARKS, 5) == "-----"


def test_hostile_names_stay_on_their_line():
    runs = [past(n, 8, tasks=("\x1b[2J\nt",), model="m\x07\u202e", run_id=f"r{n}\x1b") for n in range(3)]
    told = history("env\x1b]0;x\x07", runs)
    for text in (history_text(told), task_text(told, told.tasks[0])):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert len(history_text(told).splitlines()) == len(
        history_text(history("env", [past(n, 8, tasks=("t",)) for n in range(3)])).splitlines()
    )


def test_everything_fits_in_eighty_columns():
    runs = [
        past(n, 8 if n < 20 else 3, model="a-model-with-a-long-name", tasks=("a-task-with-a-rather-long-name",))
        for n in range(40)
    ]
    told = history("env", runs)
    lines = history_text(told, ascii=True).splitlines()
    assert [line for line in lines if len(line) > 90 and "changed" not in line] == []
    assert all(line.isascii() for line in lines)


def test_the_history_is_ready_for_programs():
    told = history("env", drifting()).to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["changes"][0]["run_id"] == "run05"
    assert told["changes"][0]["policy_changed_at"] is None
    assert [run["series"] for run in told["runs"]] == [0] * 10


@pytest.mark.parametrize("runs", [[], [past(0, 4)]])
def test_few_runs_are_shown_without_a_claim(runs):
    told = history("env", runs)
    assert told.changes == ()
    assert "no change overall" in history_text(told)
