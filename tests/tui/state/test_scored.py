"""A run as a later scoring sees it."""

import pytest

from rollgrid.store.scorings import RescoredRow, ScoringName
from rollgrid_tui.state.order import Filter
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.state.scored import Scored, after, scoring_word
from support.fake_log import NOW, attempt_row, run_row, task_row


def name(number: int) -> ScoringName:
    return ScoringName(number, f"s{number}", "CodeScorer(f)", "ann", NOW)


def verdict(task: int, attempt: int, passed: bool | None, **fields) -> RescoredRow:
    value = None if passed is None else float(passed)
    given = {"take": 1, "reason": "because", "detail": None, "error": None, "error_type": None}
    row = {"duration_seconds": 0.1, "seq": 1, **given, **fields}
    return RescoredRow(task=task, attempt=attempt, passed=passed, value=value, **row)


ROWS = [attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(1, 1), attempt_row(1, 2, "error")]


def scored() -> Scored:
    return Scored(name(2), [verdict(0, 1, False), verdict(0, 2, False), verdict(1, 1, True)])


def test_verdicts_take_the_place_of_the_runs_own():
    seen = scored().seen(ROWS)
    assert [row.passed for row in seen] == [False, False, True, None]
    assert seen[0].reason == "because"
    assert seen[3] == ROWS[3]


def test_tasks_with_an_attempt_that_flipped_are_known():
    one = scored()
    one.seen(ROWS)
    assert one.flipped == {0}


def test_an_attempt_that_is_run_again_is_no_flip_any_more():
    one = scored()
    one.seen(ROWS)
    one.seen([ROWS[0]._replace(superseded="retry")])
    assert one.flipped == frozenset()


def test_a_transcript_carries_the_score_that_is_shown():
    one = scored()
    body = {"content": "x", "score": {"passed": True}}
    assert one.body(0, 1, 1, body)["score"]["passed"] is False
    assert one.body(1, 2, 1, body)["score"] is None
    assert one.body(0, 1, 1, None) is None
    assert body["score"] == {"passed": True}


@pytest.mark.parametrize(("shown", "following"), [(1, 3), (3, 2), (2, 1)])
def test_scorings_follow_each_other_newest_first_and_around(shown, following):
    assert after([name(2), name(3)], shown) == following
    assert after([], 1) == 1


def test_the_header_says_which_scoring_is_shown():
    names = [name(2), name(3)]
    assert [scoring_word(names, shown) for shown in (1, 2, 3)] == [
        "own scores, 3 scorings",
        "scored by number 2 of 3",
        "scored by latest of 3",
    ]
    assert scoring_word([], 1) == ""


def test_a_filter_shows_what_flipped():
    view = RunView(lambda: NOW)
    one = scored()
    seen = one.seen(ROWS)
    view.flipped = one.flipped
    view.apply(run_row(k=2, n_tasks=2, alive=False, state="finished"), [task_row(0), task_row(1)], seen)
    view.set_filter("is:flipped")
    assert view.order == [0]
    view.set_filter("-is:flipped")
    assert view.order == [1]
    assert Filter.parse("is:flip").problem is None
