"""The history screen: an environment over its runs."""

import pytest

from rollgrid.analysis.history import history
from rollgrid.errors import RunError
from rollgrid_tui.screens.history import HistoryScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.screens.runs import RunsScreen
from support.dash import dashboard, lines, settle, text
from support.fake_log import FakeLog, run_row, task_row
from support.past import drift, past_run


def log_of() -> FakeLog:
    return FakeLog([run_row("run11", k=8, state="finished", alive=False)], [task_row(0)], [])


async def opened(app, pilot, told):
    """With the history of the run under the cursor."""
    asked = []

    async def load(path, env_name):
        asked.append(env_name)
        if isinstance(told, Exception):
            raise told
        return told

    app.load_history = load
    await pilot.press("H")
    await settle(pilot)
    await pilot.pause()
    assert isinstance(app.screen, HistoryScreen)
    return asked


async def test_the_environment_of_a_run_is_looked_at_over_its_runs():
    async with dashboard(log_of()) as (app, pilot):
        assert await opened(app, pilot, drift()) == ["quickstart"]
        shown = lines(app)
        assert "history  quickstart" in shown[0]
        assert "12 runs, 4 tasks" in shown[0]
        row = next(line for line in shown if line.startswith(" sum-two-digits"))
        assert "⣿⣿|⣿⣿⣿⣿>⣤⣤⣤:⣤⣤⣤" in row
        assert "-75 from run06" in row
        assert "| other environment  > changed by more than chance  : another policy" in text(app)


async def test_the_cursor_chooses_whose_runs_are_shown():
    async with dashboard(log_of()) as (app, pilot):
        await opened(app, pilot, drift())
        assert "50% -> 69% from run09 on, p " in text(app)
        await pilot.press("j")
        await settle(pilot)
        assert "100% -> 25% from run06 on, p <0.0001, same policy: drift" in text(app)
        assert any("run11" in line and "2/8" in line for line in lines(app))


async def test_a_run_is_opened_from_its_line_and_escape_leads_back():
    async with dashboard(log_of()) as (app, pilot):
        await opened(app, pilot, drift())
        await pilot.press("tab")
        await settle(pilot)
        assert "run 12 of 12" in text(app)
        await pilot.press("k", "k")
        await settle(pilot)
        assert "another policy: gpt-5.4-mini -> gpt-5.4" in text(app)
        await pilot.press("j", "j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)
        assert app.screen.run_id == "run11"
        await pilot.press("escape")
        assert isinstance(app.screen, HistoryScreen)
        await pilot.press("escape", "escape")
        assert isinstance(app.screen, RunsScreen)


async def test_ascii_marks_where_the_terminal_has_no_others():
    async with dashboard(log_of(), ascii=True) as (app, pilot):
        await opened(app, pilot, drift())
        assert "99|9999>222:222" in text(app)
        assert all(character.isascii() or character in "日本語の要約" for character in text(app))


async def test_one_run_is_no_plural():
    async with dashboard(log_of(), size=(80, 24)) as (app, pilot):
        await opened(app, pilot, history("quickstart", [past_run(0, {"capital-of-france": (8, 8)})]))
        assert "1 run, 1 task" in text(app)


async def test_side_by_side_where_there_is_room():
    async with dashboard(log_of(), size=(160, 40)) as (app, pilot):
        await opened(app, pilot, drift())
        screen = app.screen
        assert isinstance(screen, HistoryScreen)
        tasks, runs = screen.tasks.region, screen.runs.region
        assert tasks.right <= runs.x


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (RunError("no run of it", "make one"), "no run of it"),
        (history("arithmetic", []), "No run of this environment has a score yet."),
    ],
)
async def test_nothing_to_show_says_why(told, said):
    async with dashboard(log_of()) as (app, pilot):
        await opened(app, pilot, told)
        assert said in text(app)
        await pilot.press("tab", "enter", "j", "escape", "escape")
        assert isinstance(app.screen, RunsScreen)


async def test_made_up_answers_are_called_so():
    async with dashboard(log_of()) as (app, pilot):
        await opened(app, pilot, drift(simulated=True))
        assert "SIMULATED" in text(app)


async def test_one_run_is_a_history_too():
    async with dashboard(log_of()) as (app, pilot):
        await opened(app, pilot, history("arithmetic", [past_run(0, {"t1": (4, 8)})]))
        assert "no change by more than chance in 1 comparable run" in text(app)


async def test_a_history_can_be_read_again():
    async with dashboard(log_of()) as (app, pilot):
        asked = await opened(app, pilot, drift())
        await pilot.press("R")
        await settle(pilot)
        assert len(asked) == 2
