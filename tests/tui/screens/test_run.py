"""The run screen: header, side pane, filter, control."""

import pytest

from rollgrid.errors import LogError
from rollgrid.store.rows import CommandRow
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.widgets.attempt_pane import AttemptPane
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from support.dash import dashboard, lines, resize, settle, text
from support.fake_log import NOW, FakeLog, attempt_row, run_row, task_row, transcript


def log_of(*attempts, n=3, bodies=None, **run):
    tasks = [task_row(i, split="train" if i else "validation") for i in range(n)]
    return FakeLog([run_row(n_tasks=n, **run)], tasks, attempts, {(0, 1): transcript()} if bodies is None else bodies)


def bar(app, name):
    return app.screen.query_one(f"#{name}", Bar).plain


async def test_the_header_tells_state_progress_rate_with_n_interval_speed_cost_and_concurrency():
    log = log_of(attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(1, 1, "error", retries=2))
    async with dashboard(log, "r4k9tz", size=(140, 24)) as (app, _):
        assert bar(app, "title") == "quickstart  gpt-5.4-mini  k 4  r4k9tz  1:30  running"
        progress = bar(app, "progress")
        for part in (
            " 3/12",
            "50% passed",
            "9-91% n=2",
            "1 learning",
            "1 unscored",
            "3.0/min  eta 3:00",
            "$0.0030",
            "4 at once",
            "2 retries",
        ):
            assert part in progress


async def test_what_matters_most_stays_on_a_narrow_screen():
    log = log_of(attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(1, 1, "error", retries=2))
    async with dashboard(log, "r4k9tz", size=(60, 20)) as (app, _):
        assert "50% passed" in text(app)
        assert "retries" not in text(app)


@pytest.mark.parametrize(
    ("run", "word"),
    [
        ({"state": "paused"}, "paused"),
        ({"alive": False}, "runner is gone"),
        ({"state": "finished", "alive": False}, "finished"),
        ({"state": "stopped", "alive": False, "stopped_early": "error-storm"}, "stopped: error-storm"),
        ({"state": "interrupted", "alive": False}, "interrupted"),
    ],
)
async def test_the_state_of_the_run_is_in_words(run, word):
    async with dashboard(log_of(**run), "r4k9tz") as (app, _):
        assert bar(app, "title").endswith(word)


async def test_made_up_answers_are_announced_for_good():
    async with dashboard(log_of(model_kind="simulated", model="simulated/steady"), "r4k9tz") as (app, pilot):
        assert lines(app)[0].split()[0] == "SIMULATED"
        await pilot.press("enter")
        await pilot.pause()
        assert lines(app)[0].split()[0] == "SIMULATED"
    async with dashboard(log_of(), "r4k9tz") as (app, _):
        assert "SIMULATED" not in text(app)


async def test_a_storm_shows_on_every_screen_while_it_lasts():
    log = log_of(attempt_row(0, 1, "error"), storm="AuthenticationError 401", state="paused")
    async with dashboard(log, "r4k9tz", size=(80, 24)) as (app, pilot):
        assert "ERROR STORM" in lines(app)[0]
        assert "AuthenticationError 401" in lines(app)[0]
        assert "paused  a what to do" in lines(app)[0]
        await pilot.press("enter")
        await pilot.pause()
        assert "ERROR STORM" in lines(app)[0]
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert "ERROR STORM" in lines(app)[0]
        await pilot.press("enter")
        log.write(run=run_row())
        await settle(pilot)
        assert "ERROR STORM" not in text(app)


async def test_the_pane_shows_the_attempt_under_the_cursor():
    log = log_of(attempt_row(0, 1, "fail"), attempt_row(1, 1, "error"))
    async with dashboard(log, "r4k9tz", size=(120, 30)) as (app, pilot):
        shown = text(app)
        assert "attempt 1 of 4" in shown
        assert "expected 391, got 389" in shown
        assert "17 x 23 = 389" in shown
        await pilot.press("j")
        await settle(pilot)
        assert "HTTP 500: oops" in text(app)
        await pilot.press("l")
        await settle(pilot)
        assert "not started" in text(app)
        assert "the prompt of task 2" in text(app)


async def test_the_pane_follows_an_attempt_that_is_running():
    log = log_of(attempt_row(0, 1, "running"))
    log.snapshots[0, 1] = transcript(partial_text="Let me multiply", score=None)
    async with dashboard(log, "r4k9tz", size=(120, 30)) as (app, pilot):
        await settle(pilot)
        assert "Let me multiply" in text(app)
        assert "waiting for the model" in text(app)
        log.snapshots[0, 1] = transcript(partial_text="Let me multiply 17 by 23", score=None)
        log.touch()
        await settle(pilot)
        assert "Let me multiply 17 by 23" in text(app)
        log.write(attempt_row(0, 1, "fail"))
        await settle(pilot)
        assert "expected 391, got 389" in text(app)


async def test_running_over_cells_loads_no_body_but_the_one_shown():
    log = log_of(*(attempt_row(i, 1) for i in range(30)), n=30)
    async with dashboard(log, "r4k9tz", size=(120, 30)) as (app, pilot):
        assert app.feed.bodies_loaded == 1
        app.screen.query_one(RolloutGrid).focus()
        for place in range(1, 20):
            app.screen.query_one(RolloutGrid).cursor = (place, 1)
        await settle(pilot)
        assert app.feed.bodies_loaded == 2


async def test_a_hidden_pane_loads_nothing_and_opens_below_on_a_narrow_screen():
    log = log_of(attempt_row(0, 1, "fail"))
    async with dashboard(log, "r4k9tz", size=(80, 24)) as (app, pilot):
        assert not app.screen.query_one(AttemptPane).display
        assert app.feed.bodies_loaded == 0
        await pilot.press("p")
        await settle(pilot)
        pane = app.screen.query_one(AttemptPane)
        assert pane.display
        assert pane.region.y > app.screen.query_one(RolloutGrid).region.y
        assert app.feed.bodies_loaded == 1
        await pilot.press("p")
        await pilot.pause()
        assert not pane.display


async def test_tab_goes_between_grid_and_pane_and_escape_comes_back():
    async with dashboard(log_of(attempt_row(0, 1)), "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        await pilot.press("tab")
        assert app.screen.query_one(AttemptPane).text.has_focus
        await pilot.press("tab")
        assert grid.has_focus
        await pilot.press("tab", "escape")
        assert grid.has_focus
        assert isinstance(app.screen, RunScreen)


async def test_a_wide_screen_gives_the_grid_all_it_can_use_and_the_pane_the_rest():
    async with dashboard(log_of(attempt_row(0, 1)), "r4k9tz", size=(200, 50)) as (app, _):
        grid, pane = app.screen.query_one(RolloutGrid), app.screen.query_one(AttemptPane)
        assert "cost" in lines(app)[3]
        assert grid.size.width >= grid.natural_width
        assert pane.size.width > 90


async def test_n_goes_from_failure_to_failure():
    log = log_of(attempt_row(0, 2, "fail"), attempt_row(2, 3, "error"))
    async with dashboard(log, "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        await pilot.press("n")
        assert grid.cursor == (0, 2)
        await pilot.press("n")
        assert grid.cursor == (2, 3)
        await pilot.press("N")
        assert grid.cursor == (0, 2)


async def test_a_filter_works_while_it_is_typed_and_stays_after_enter():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("slash", *"split:validation")
        await pilot.pause()
        assert "task-1" in text(app)
        assert "task-2" not in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "filter split:validation hides 2" in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "task-2" in text(app)
        assert isinstance(app.screen, RunScreen)


async def test_escape_in_the_filter_takes_it_away():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("slash", *"zzz", "escape")
        await pilot.pause()
        assert "task-3" in text(app)
        assert app.screen.query_one(RolloutGrid).has_focus


async def test_a_filter_that_means_nothing_says_what_would():
    async with dashboard(log_of(), "r4k9tz", size=(120, 24)) as (app, pilot):
        await pilot.press("slash", *"zone:x", "enter")
        await pilot.pause()
        assert "zone: takes learning, hopeless" in text(app)


async def test_space_pauses_and_resumes_through_the_log():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("space")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "pause", {}, "ada")]
        assert "asked the runner to pause" in text(app)
        log.write(run=run_row(n_tasks=3, state="paused"))
        await settle(pilot)
        await pilot.press("space")
        await settle(pilot)
        assert log.posted[-1][1] == "resume"


async def test_cancel_asks_once_more():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        assert log.posted == []
        assert "x again cancels the run" in text(app)
        await pilot.press("x")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "cancel", {}, "ada")]


async def test_another_key_in_between_means_that_something_else_was_meant():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (_, pilot):
        await pilot.press("x", "j", "x")
        await settle(pilot)
        assert log.posted == []
        await pilot.press("x")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "cancel", {}, "ada")]


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"alive": False}, "no runner works on this run; Space goes on with it"),
        ({"state": "finished", "alive": False, "n_scored": 12}, "the run is finished: there is nothing to control"),
    ],
)
async def test_a_command_that_does_not_apply_answers_why(run, why):
    log = log_of(**run)
    async with dashboard(log, "r4k9tz", size=(120, 24)) as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        assert why in text(app)
        assert log.posted == []


async def test_what_someone_else_asked_for_shows_with_who_and_the_answer():
    log = log_of()
    async with dashboard(log, "r4k9tz", size=(120, 24)) as (app, pilot):
        log.command_rows.append(CommandRow(1, "r4k9tz", NOW, "mi\x1bra", "pause", {}, True, "paused after 3 attempts"))
        log.touch()
        await settle(pilot)
        assert r"  mi\x1bra  pause: paused after 3 attempts" in text(app)


async def test_a_command_that_cannot_be_written_says_so():
    async with dashboard(log_of(), "r4k9tz", size=(120, 24)) as (app, pilot):

        async def refuse(*_):
            raise LogError("the log is on a read-only disk")

        app.feed._post_command = refuse
        await pilot.press("space")
        await settle(pilot)
        assert "the log is on a read-only disk" in text(app)


async def test_a_log_that_cannot_be_read_any_more_is_told_and_recovered_from():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (app, pilot):
        log.broken = LogError("the disk is gone")
        await settle(pilot)
        assert "the disk is gone" in text(app)
        log.broken = None
        log.touch()
        for _ in range(100):
            await settle(pilot)
            if "the disk is gone" not in text(app):
                break
        assert "the disk is gone" not in text(app)
        assert "task-1" in text(app)


async def test_a_resize_while_running_keeps_cursor_and_columns():
    log = log_of(*(attempt_row(i, 1) for i in range(40)), n=40)
    async with dashboard(log, "r4k9tz", size=(120, 36)) as (app, pilot):
        await pilot.press("G")
        for width, height in ((80, 24), (200, 60), (60, 15), (100, 30)):
            await resize(pilot, width, height)
            assert all(len(line) <= width for line in lines(app))
            assert "task-40" in text(app)
            assert app.screen.query_one(RolloutGrid).cursor == (39, 1)


async def test_a_late_structure_change_keeps_what_is_known():
    log = log_of(attempt_row(0, 1), n=3)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        log.write(run=run_row(n_tasks=3, k=12, plan_seq=7))
        await settle(pilot)
        assert "attempt 1/12" in text(app)
        assert "✓" in text(app)
