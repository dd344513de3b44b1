"""What people asked of a run, in words."""

import re

from rollgrid.store.rows import CommandRow
from rollgrid_tui.state.asked import answer_line, asked

NAMES = ["sum", "\x1b[2Jpwn"]


def name_of(task: int) -> str | None:
    return NAMES[task] if 0 <= task < len(NAMES) else None


def row(command, accepted=True, answer="done", **args):
    return CommandRow(1, "r", 0.0, "bea\n", command, args, accepted, answer)


def test_a_command_names_the_tasks_that_it_is_about():
    assert asked(row("more", n=2, tasks=[0]), name_of) == "more 2 of sum"
    assert asked(row("more", n=1), name_of) == "more 1 of every task"
    assert asked(row("more", n=1, tasks=[0, 7, 8, 9, 10]), name_of) == "more 1 of sum, 7, 8 and 2 more"
    assert asked(row("retry", task=0, attempt=3), name_of) == "retry sum 3"
    assert asked(row("concurrency", limit=8), name_of) == "concurrency 8"
    assert asked(row("cancel", drop=True), name_of) == "cancel"


def test_who_and_when_come_first_and_a_refusal_says_so():
    line = answer_line(row("pause", accepted=False, answer="the run is paused"), name_of)
    assert re.fullmatch(r"\d\d:\d\d:\d\d  bea  pause: refused: the run is paused", line)
    assert answer_line(row("pause", accepted=None), name_of).endswith("pause: not answered yet")


def test_names_are_cleaned():
    assert "\x1b" not in answer_line(row("retry", task=1, attempt=1, answer="\x9b"), name_of)
