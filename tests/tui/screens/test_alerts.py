"""The storm desk, and control from every screen of a run."""

import pytest

from rollgrid.store.rows import CommandRow
from rollgrid_tui.screens.alerts import AlertsScreen
from rollgrid_tui.screens.attempt import AttemptScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.widgets.table import Table
from support.dash import dashboard, settle, text
from support.dash_child import PAYLOAD, hostile_log
from support.fake_log import NOW, FakeLog, attempt_row, run_row, task_row, transcript

KEY = "AuthenticationError 401: no"


def log_of(*attempts, **run):
    return FakeLog([run_row(**run)], [task_row(i) for i in range(3)], attempts, {(0, 1): transcript()})


def refused(task, attempt, **changes):
    row = attempt_row(task, attempt, "error", status=401, error="HTTP 401: Incorrect API key", error_signature=KEY)
    return row._replace(**changes)


def storm(**run):
    slow = attempt_row(2, 1, "error", status=429, error="HTTP 429: slow down", error_signature="RateLimit 429: slow")
    rows = [refused(0, 1), refused(0, 2), refused(1, 1), slow._replace(ended_at=NOW - 3000)]
    return log_of(*rows, **({"storm": KEY, "state": "paused"} | run))


async def test_errors_show_by_cause_with_what_to_do_and_a_sample():
    async with dashboard(storm(), "r4k9tz", size=(120, 30)) as (app, pilot):
        await pilot.press("a")
        await settle(pilot)
        assert isinstance(app.screen, AlertsScreen)
        shown = text(app)
        for part in (
            "key refused",
            "3/4",
            KEY,
            "rate limit",
            "rollgrid resume r4k9tz",
            "HTTP 401: Incorrect API key",
            "task-1, task-2",
            "ERROR STORM",
        ):
            assert part in shown
        await pilot.press("j")
        await settle(pilot)
        assert "More requests than the server allows" in text(app)
        assert "50m" in text(app)


async def test_r_retries_the_errors_of_this_cluster_only():
    log = storm()
    async with dashboard(log, "r4k9tz", size=(100, 30)) as (app, pilot):
        await pilot.press("a", "r")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "retry", {"signature": KEY}, "ada")]
        assert "asked the runner to run 3 attempts of this error again" in text(app)


async def test_a_cluster_that_was_run_again_has_nothing_to_retry():
    log = log_of(refused(0, 1, superseded="retry"))
    async with dashboard(log, "r4k9tz", size=(100, 30)) as (app, pilot):
        await pilot.press("a", "r")
        await settle(pilot)
        assert log.posted == []
        assert "all of them were run again already" in text(app)
        assert "1 replaced by new attempts, 0 still count" in text(app)


async def test_enter_opens_an_attempt_of_the_cluster_and_escape_comes_back():
    async with dashboard(storm(), "r4k9tz") as (app, pilot):
        await pilot.press("a", "j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, AttemptScreen)
        assert app.screen.cell == (2, 1)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, AlertsScreen)
        assert app.screen.table.place == 1
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)


async def test_a_from_an_attempt_goes_back_to_the_desk_it_came_from():
    async with dashboard(storm(), "r4k9tz") as (app, pilot):
        await pilot.press("a", "enter", "a")
        await settle(pilot)
        assert isinstance(app.screen, AlertsScreen)
        assert sum(isinstance(screen, AlertsScreen) for screen in app.screen_stack) == 1


async def test_pause_and_resume_work_from_the_desk():
    log = storm()
    async with dashboard(log, "r4k9tz") as (_, pilot):
        await pilot.press("a", "space")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "resume", {}, "ada")]


async def test_no_errors_is_said_with_what_would_show_here():
    async with dashboard(log_of(attempt_row(0, 1)), "r4k9tz") as (app, pilot):
        await pilot.press("a", "enter", "r", "j", "tab")
        await settle(pilot)
        assert isinstance(app.screen, AlertsScreen)
        assert "No errors." in text(app)
        assert "there is no error to retry" in text(app)


async def test_new_errors_show_and_the_cursor_stays_with_its_cluster():
    log = storm()
    async with dashboard(log, "r4k9tz", size=(100, 30)) as (app, pilot):
        await pilot.press("a", "j")
        assert isinstance(app.screen, AlertsScreen)
        app.screen._looked_at = 0.0
        log.write(*(attempt_row(1, n, "timeout", ended_at=NOW) for n in range(2, 5)))
        for _ in range(50):
            await settle(pilot)
            if "timeout" in text(app):
                break
        table = app.screen.query_one(Table)
        assert len(table.rows) == 3
        assert table.cursor == "RateLimit 429: slow"


async def test_what_was_asked_of_the_run_shows_with_who_when_and_the_answer():
    log = storm()
    log.command_rows = [
        CommandRow(1, "r4k9tz", NOW, "mira", "pause", {}, True, "paused"),
        CommandRow(2, "r4k9tz", NOW, "ben", "concurrency", {"limit": 0}, False, "must be at least 1"),
        CommandRow(3, "r4k9tz", NOW, "eve", "resume", {}, None, None),
    ]
    async with dashboard(log, "r4k9tz", size=(120, 40)) as (app, pilot):
        await pilot.press("a")
        await settle(pilot)
        for part in (
            "mira  pause: paused",
            "ben  concurrency 0: refused: must be at least 1",
            "eve  resume: not answered yet",
        ):
            assert part in text(app)


async def test_nothing_hostile_of_errors_and_commands_is_drawn():
    log = hostile_log()
    log.command_rows = [CommandRow(1, "r4k9tz", NOW, PAYLOAD, PAYLOAD, {PAYLOAD: PAYLOAD}, True, PAYLOAD)]
    log.attempt_rows = [row._replace(error_signature=PAYLOAD) for row in log.attempt_rows]
    async with dashboard(log, "r4k9tz", size=(160, 50)) as (app, pilot):
        await pilot.press("a")
        await settle(pilot)
        assert r"\x1b]52" in text(app)
        assert not set(PAYLOAD) - set(map(chr, range(32, 127))) & set(text(app)) - set(map(chr, range(32, 127)))
        assert all(ord(character) not in {0x1B, 0x9B, 0x202E, 0x2066, 0x200B, 0, 7} for character in text(app))


@pytest.mark.parametrize("keys", [(), ("enter",), ("a",)])
async def test_concurrency_is_changed_from_every_screen_of_a_run(keys):
    log = log_of(attempt_row(0, 1), concurrency=8)
    async with dashboard(log, "r4k9tz", size=(100, 30)) as (app, pilot):
        await pilot.press(*keys, "greater_than_sign")
        await settle(pilot)
        assert log.posted[-1][1:3] == ("concurrency", {"limit": 10})
        assert "asked the runner to have 10 attempts at once" in text(app)
        await pilot.press("greater_than_sign")
        await settle(pilot)
        assert log.posted[-1][2] == {"limit": 12}
        log.write(run=run_row(concurrency=12))
        await settle(pilot)
        await pilot.press("less_than_sign")
        await settle(pilot)
        assert log.posted[-1][2] == {"limit": 10}
        await pilot.press("A")
        await settle(pilot)
        assert log.posted[-1][2] == {"limit": "auto"}


async def test_the_concurrency_never_goes_below_one():
    log = log_of(concurrency=1)
    async with dashboard(log, "r4k9tz") as (_, pilot):
        await pilot.press("less_than_sign")
        await settle(pilot)
        assert log.posted[-1][2] == {"limit": 1}


@pytest.mark.parametrize("keys", [("j", "l"), ("j", "l", "enter")])
async def test_r_runs_this_attempt_again(keys):
    log = log_of(attempt_row(1, 2, "fail"))
    async with dashboard(log, "r4k9tz") as (_, pilot):
        await pilot.press(*keys)
        await settle(pilot)
        await pilot.press("r")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "retry", {"task": 1, "attempt": 2}, "ada")]


async def test_an_answer_is_told_once_on_the_screen_that_is_up():
    log = log_of(attempt_row(0, 1))
    async with dashboard(log, "r4k9tz", size=(120, 30)) as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        log.command_rows.append(CommandRow(1, "r4k9tz", NOW, "mira", "resume", {}, False, "the run is running"))
        log.touch()
        await settle(pilot)
        assert "  mira  resume: refused: the run is running" in text(app)
        assert isinstance(app.screen, AttemptScreen)
        app.screen.status.hush()
        await pilot.press("escape")
        await settle(pilot)
        assert "the run is running" not in text(app)


async def test_a_stopped_run_with_unscored_attempts_says_how_to_go_on():
    log = log_of(state="stopped", stopped_early="error-storm", alive=False)
    async with dashboard(log, "r4k9tz", size=(120, 24)) as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        assert "the run is stopped; Space runs what has no score" in text(app)
        assert log.posted == []
