"""The list of runs."""

import pytest

from rollgrid_tui.state.runs_view import RunsView, age
from support.fake_log import NOW, run_row


def test_live_runs_are_on_top_then_the_newest():
    view = RunsView(lambda: NOW)
    view.apply(
        [
            run_row("old", state="finished", alive=False, created_at=NOW - 5000),
            run_row("live", created_at=NOW - 9000),
            run_row("new", state="finished", alive=False, created_at=NOW - 10),
            run_row("dead", alive=False, created_at=NOW - 20),
        ]
    )
    assert [line.run.run_id for line in view.lines] == ["live", "new", "dead", "old"]
    assert [line.state for line in view.lines] == ["running", "finished", "dead", "finished"]


def test_the_same_rows_again_change_nothing():
    view = RunsView(lambda: NOW)
    assert view.apply([run_row()])
    assert not view.apply([run_row()])
    assert view.version == 1


def test_a_line_changes_with_time_only_when_a_digit_of_its_age_does():
    now = NOW
    view = RunsView(lambda: now)
    view.apply([run_row(created_at=NOW - 60)])
    now = NOW + 30
    assert not view.tick()
    now = NOW + 61
    assert view.tick()
    assert view.lines[0].age == "2m"


def test_a_rate_comes_with_its_interval_and_unscored_attempts_are_counted():
    view = RunsView(lambda: NOW)
    view.apply([run_row(n_ended=10, n_scored=8, n_passed=4)])
    line = view.lines[0]
    assert (line.rate, line.n_unscored) == (0.5, 2)
    assert line.interval is not None


def test_a_storm_of_a_live_run_is_found():
    view = RunsView(lambda: NOW)
    view.apply([run_row("a", storm="401", state="finished", alive=False), run_row("b", storm="429")])
    storm = view.storm()
    assert storm is not None
    assert storm.run_id == "b"


@pytest.mark.parametrize(("seconds", "text"), [(3, "now"), (61, "1m"), (7200, "2h"), (90_000, "1d")])
def test_an_age_is_in_its_largest_unit(seconds, text):
    assert age(seconds) == text


def test_tasks_in_the_learning_zone_are_counted_again_when_their_run_has_gone_on_but_not_at_every_look():
    now = NOW
    view = RunsView(lambda: now)
    fresh = run_row("new", n_scored=0, seq=1)
    live = run_row("live", n_scored=4, seq=2)
    over = run_row("over", n_scored=4, seq=3, state="finished", alive=False)
    assert view.unmeasured([fresh, live, over]) == ["live", "over"]
    view.apply([fresh, live, over], {"live": 2, "over": 0})
    assert {line.run.run_id: line.n_learning for line in view.lines} == {"new": None, "live": 2, "over": 0}
    assert view.unmeasured([live, over]) == []
    later = live._replace(seq=9)
    assert view.unmeasured([later]) == []
    now = NOW + 6
    assert view.unmeasured([later, over]) == ["live"]
