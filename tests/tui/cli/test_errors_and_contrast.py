"""The storm desk and two attempts beside each other, as text and for programs."""

from rollgrid_tui.cli.contrast import contrast_text, facts_of
from rollgrid_tui.cli.errors import cluster_facts, errors_text
from rollgrid_tui.state.alerts_view import clusters
from rollgrid_tui.state.side_by_side import Step, compare_steps
from support.fake_log import NOW, attempt_row, run_row, task_row

TASKS = [task_row(0), task_row(1)]


def refused(task: int, attempt: int, **changes):
    return attempt_row(
        task, attempt, "error", status=401, error="Incorrect API key", error_signature="401 key", **changes
    )


def test_errors_come_by_cause_with_a_sample_and_what_to_do_in_words_of_the_shell():
    rows = [refused(0, 1), refused(1, 1), attempt_row(0, 2)]
    (one,) = clusters(rows)
    run = run_row("r4k9tz")
    text = errors_text(run, TASKS, [one], [], NOW)
    for part in ("2 x key refused: 401 key", "2 of the last 3", "tasks: task-1, task-2", "rollgrid resume r4k9tz"):
        assert part in text
    assert "Incorrect API key" in text
    facts = cluster_facts(one, run, TASKS)
    assert (facts["count"], facts["open"], facts["tasks"]) == (2, 2, ["task-1", "task-2"])
    assert {"task": "task-1", "attempt": 1, "take": 1} in facts["attempts"]


def test_no_advice_names_a_key_of_the_dashboard():
    for status, error in ((429, "slow down"), (500, "down"), (None, "boom"), (403, "insufficient_quota")):
        rows = [attempt_row(0, 1, "error", status=status, error=error)]
        text = errors_text(run_row("r4k9tz"), TASKS, clusters(rows), [], NOW)
        assert "press" not in text
        assert "{" not in text


def test_a_run_without_errors_says_what_an_error_is():
    assert "No attempt has an error" in errors_text(run_row(), TASKS, [], [], NOW)


def test_two_attempts_are_shown_from_where_they_part():
    left = [Step("user", "what is 2 + 2"), Step("assistant", "it is 5"), Step("outcome", "failed")]
    right = [Step("user", "what is 2 + 2"), Step("assistant", "it is 4"), Step("outcome", "passed")]
    sides = compare_steps(left, right)
    text = contrast_text(sides, ("attempt 1, failed", "attempt 2, passed"), "run r  task t")
    assert "they part at step 2 of 3" in text
    assert "- it is [-5-]" in text
    assert "+ it is {+4+}" in text
    assert "1. user  (equal)" in text
    facts = facts_of(sides)
    assert facts["first_difference"] == 1
    assert [step["differs"] for step in facts["steps"]] == [False, True, True]
