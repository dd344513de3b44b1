"""Further attempts from the dashboard, of a live run and of one that is over."""

from pathlib import Path
from typing import Any

from rollgrid.errors import RunError
from support.dash import dashboard, lines, settle, text
from support.fake_log import FakeLog, attempt_row, run_row, task_row

OVER = {"state": "finished", "alive": False, "n_ended": 12, "n_scored": 12, "n_passed": 12}


def log_of(*attempts, **run):
    return FakeLog([run_row(n_tasks=3, **run)], [task_row(0), task_row(1), task_row(2)], attempts)


class Sessions:
    """Stands in for the runners that would be started."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.error = error

    def __call__(self, log: Path, run_id: str, author: str, **what: Any) -> None:
        self.asked.append({"run": run_id, "author": author, **what})
        if self.error is not None:
            raise self.error


async def test_plus_asks_the_runner_for_one_more_attempt_of_the_task_under_the_cursor():
    log = log_of(attempt_row(0, 1))
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("down", "plus")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "more", {"n": 1, "tasks": [1]}, "ada")]
        assert "asked the runner to make one more attempt of task-2" in text(app)


async def test_more_of_every_task_wants_to_be_meant_since_it_costs_an_attempt_each():
    log = log_of(attempt_row(0, 1))
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("asterisk")
        assert "again asks for 3 attempts, one more of every task" in text(app)
        await pilot.press("x")
        assert log.posted == [], "a second key of another meaning confirms nothing"
        await pilot.press("asterisk", "asterisk")
        await settle(pilot)
        assert log.posted == [("r4k9tz", "more", {"n": 1}, "ada")]


async def test_a_run_that_is_over_goes_on_in_a_session_of_its_own():
    log = log_of(*(attempt_row(0, n) for n in range(1, 5)), **OVER)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        app.start_session = sessions = Sessions()
        await pilot.press("plus")
        assert "again starts a runner for one more attempt of task-1" in text(app)
        await pilot.press("plus")
        await settle(pilot)
        assert sessions.asked == [{"run": "r4k9tz", "author": "ada", "more": 1, "tasks": ["task-1"]}]
        assert log.posted == []
        assert "a runner works on one more attempt of task-1" in text(app)


async def test_what_hinders_a_session_is_said_in_one_line():
    log = log_of(attempt_row(0, 1), state="interrupted", alive=False)
    async with dashboard(log, "r4k9tz", size=(160, 30)) as (app, pilot):
        app.start_session = Sessions(RunError("the environment has changed\x1b[2J", "undo the change"))
        await pilot.press("space", "space")
        await settle(pilot)
        assert "the environment has changed" in lines(app)[-1]
        assert "\x1b" not in lines(app)[-1]


async def test_a_run_without_a_runner_goes_on_from_the_dashboard():
    log = log_of(attempt_row(0, 1), alive=False)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        app.start_session = sessions = Sessions()
        await pilot.press("space")
        assert "again starts a runner for the attempts without a score" in text(app)
        await pilot.press("space")
        await settle(pilot)
        assert sessions.asked == [{"run": "r4k9tz", "author": "ada", "more": None, "tasks": ()}]


async def test_a_command_that_no_longer_applies_says_what_does():
    log = log_of(*(attempt_row(0, n) for n in range(1, 5)), **OVER)
    async with dashboard(log, "r4k9tz", size=(120, 30)) as (app, pilot):
        for key in ("space", "x", "greater_than_sign", "r"):
            await pilot.press(key)
            assert "the run is finished: there is nothing to control; + runs further attempts" in lines(app)[-1]
        assert log.posted == []


async def test_the_grid_shows_how_many_attempts_each_task_wants():
    log = log_of(attempt_row(0, 1), k=2)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        grown = [task_row(0, k=2), task_row(1, k=5), task_row(2, k=2)]
        log.task_rows = grown
        log.write(run=run_row(n_tasks=3, k=2, n_planned=9, plan_seq=4))
        await settle(pilot)
        rows = [line for line in lines(app) if "task-" in line and "attempt" not in line]
        assert [row.count("⋅") for row in rows] == [1, 5, 2]
        assert "k 2+" in text(app)
        assert "1/9" in text(app)


async def test_a_cell_beyond_what_its_task_wants_says_so():
    log = log_of(attempt_row(0, 1), k=2)
    log.task_rows = [task_row(0, k=2), task_row(1, k=5), task_row(2, k=2)]
    async with dashboard(log, "r4k9tz", size=(140, 30)) as (app, pilot):
        await pilot.press("right", "right")
        await settle(pilot)
        assert "the task wants no such attempt" in text(app)
        assert "attempt 3/2" in lines(app)[-1]
        await pilot.press("home", "enter")
        await settle(pilot)
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert "attempt 2 of 2" in text(app)
        assert "no further attempt" in lines(app)[-1]
