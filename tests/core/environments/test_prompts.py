"""Two runs of different environments side by side."""

import json

from rollgrid.environments import compare_prompts
from support.results import attempt, result, run_output, task_result


def asked(system, outcomes, id="a", **fields):
    attempts = [attempt(one, run=run_output(system=system, model="m1")) for one in outcomes]
    return result(task_result(id, attempts, **fields), env_fingerprint=f"rgenv1:{system}")


def test_both_sides_are_shown_and_nothing_is_called_better_or_worse():
    told = compare_prompts(asked("Be brief.", "+---"), asked("Think first.", "++++"))
    text = str(told)
    assert "1/4 passed (0.25)" in text
    assert "4/4 passed (1.00)" in text
    assert "-Be brief." in text
    assert "+Think first." in text
    for claim in ("improved", "regressed"):
        assert claim not in text
        assert claim not in json.dumps(told.to_dict())
    assert not told.same_environment


def test_only_the_changed_lines_of_a_long_prompt_are_marked():
    lines = [f"Rule {n}." for n in range(40)]
    other = [*lines[:20], "Rule twenty, changed.", *lines[21:]]
    told = compare_prompts(asked("\n".join(lines), "+"), asked("\n".join(other), "+"))
    marked = [line for line in told.system_diff if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert marked == ["-Rule 20.", "+Rule twenty, changed."]


def test_equal_prompts_and_unknown_ones_are_said_to_be_so():
    assert "system prompt: the same" in str(compare_prompts(asked("Add.", "+"), asked("Add.", "-")))
    nothing = result(task_result("a", "+"), env_fingerprint=None)
    assert "none in the transcripts" in str(compare_prompts(nothing, nothing))


def test_tasks_are_paired_by_id_and_a_changed_input_is_marked():
    told = compare_prompts(asked("x", "+", input="2+2"), asked("y", "-", input="2+2?"))
    (pair,) = told.tasks
    assert (pair.a, pair.b, pair.input) == ("1/1", "0/1", "differs")
    told = compare_prompts(asked("x", "+", id="a"), asked("y", "-", id="b"))
    assert [(pair.id, pair.a, pair.b, pair.input) for pair in told.tasks] == [
        ("a", "1/1", None, "only in a"),
        ("b", None, "0/1", "only in b"),
    ]


def test_runs_of_one_environment_are_pointed_to_the_diff():
    told = compare_prompts(asked("Add.", "+"), asked("Add.", "-"))
    assert told.same_environment
    assert set(told.parts.values()) == {"same"}
    assert "diff()" in str(told)


def test_the_most_frequent_prompt_stands_for_a_side_and_the_number_of_others_is_told():
    attempts = [attempt(run=run_output(system=text)) for text in ("a", "b", "b")]
    told = compare_prompts(result(task_result("x", attempts)), result())
    assert (told.a.system, told.a.n_systems) == ("b", 2)
    assert (told.b.system, told.b.n_systems) == (None, 0)


def test_hostile_prompts_reach_no_terminal():
    text = str(compare_prompts(asked("\x1b]0;owned\x07\u202e", "+"), asked("[red]x[/red]", "+")))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]x[/red]" in text
