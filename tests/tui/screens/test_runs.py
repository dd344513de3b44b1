"""The list of runs, help, palette, and leaving."""

from rollgrid.errors import LogError
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.screens.runs import RunsScreen
from rollgrid_tui.widgets.runs_list import RunsList
from support.dash import Clock, dashboard, lines, settle, text
from support.fake_log import NOW, FakeLog, attempt_row, run_row, task_row


def log_of(*runs):
    return FakeLog(runs or [run_row()], [task_row(i) for i in range(3)], [attempt_row(0, 1)])


async def test_a_run_is_a_line_with_what_one_asks_first():
    log = log_of(run_row(n_ended=10, n_scored=8, n_passed=6, cost=0.12, created_at=NOW - 7200))
    async with dashboard(log, size=(140, 24)) as (app, _):
        line = lines(app)[3]
        for part in ("r4k9tz", "running", "quickstart", "gpt-5.4-mini", "4", "10/12", "75%", "1", "2", "$0.12", "2h"):
            assert part in line.split()


async def test_a_narrow_list_tells_of_the_run_under_the_cursor_what_it_has_no_columns_for():
    first = run_row(n_ended=10, n_scored=8, n_passed=6, cost=0.12, n_planned=15, created_at=NOW - 7200)
    async with dashboard(log_of(first, run_row("aaa", created_at=NOW - 9000))) as (app, pilot):
        assert "4+" in lines(app)[3].split()
        assert lines(app)[-1].lstrip().startswith("run 1 of 2  75% 41-93% n=8  1 learning  2 unscored  $0.12")
        await pilot.press("j")
        assert lines(app)[-1].lstrip().startswith("run 2 of 2")


async def test_enter_opens_a_run_and_escape_comes_back_to_it():
    async with dashboard(log_of(run_row("aaa"), run_row("bbb", created_at=NOW - 500))) as (app, pilot):
        await pilot.press("j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)
        assert app.feed.run_id == "bbb"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, RunsScreen)
        assert app.screen.query_one(RunsList).cursor == "bbb"


async def test_the_list_is_not_read_while_a_run_is_shown():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (_, pilot):
        log.asked.clear()
        log.touch()
        await settle(pilot)
        assert "runs" not in log.asked


async def test_a_run_that_starts_elsewhere_shows_up_on_top_and_the_cursor_stays():
    log = log_of(run_row("aaa", state="finished", alive=False))
    clock = Clock()
    async with dashboard(log, clock=clock) as (app, pilot):
        log.run_rows.append(run_row("bbb"))
        log.touch()
        clock.now += 2
        await settle(pilot)
        assert lines(app)[3].split()[0] == "bbb"
        assert app.screen.query_one(RunsList).cursor == "aaa"


async def test_an_empty_log_says_what_would_fill_it():
    async with dashboard(FakeLog()) as (app, pilot):
        assert "rollgrid demo" in text(app)
        assert "rollgrid run ENV" in text(app)
        await pilot.press("enter", "j", "G")
        assert isinstance(app.screen, RunsScreen)


async def test_a_log_that_cannot_be_read_says_why():
    log = log_of()
    log.broken = LogError("the log was written by a newer version of rollgrid")
    async with dashboard(log) as (app, _):
        assert "the log was written by a newer version of rollgrid" in text(app)


async def test_hostile_names_of_runs_do_no_harm():
    log = log_of(run_row(env_name="\x1b]0;pwn\x07\u202e[b]", model="m\x9b2J\u200b", stopped_early="\x1b"))
    async with dashboard(log, size=(160, 24)) as (app, pilot):
        assert r"\x1b]0;pwn" in text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert not {"\x1b", "\x9b", "\u202e", "\u200b", "\x07"} & set(text(app))


async def test_help_lists_every_key_of_the_screen_and_the_glyphs():
    async with dashboard(log_of(), "r4k9tz", size=(120, 60)) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        shown = text(app)
        for part in (
            "The next failed attempt",
            "Sort by position",
            "Quit the dashboard; a run goes on",
            "timed out, unscored",
            "zone:learning",
        ):
            assert part in shown
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)


async def test_the_palette_reaches_an_action_by_its_name():
    log = log_of()
    async with dashboard(log, "r4k9tz", size=(100, 40)) as (app, pilot):
        await pilot.press("colon")
        await pilot.pause(0.2)
        await pilot.press(*"sort")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await pilot.pause(0.3)
        assert isinstance(app.screen, RunScreen)
        assert app.screen.view.sort.value == "zone"


async def test_q_quits_from_every_screen():
    for keys in ((), ("enter",), ("enter", "enter")):
        async with dashboard(log_of()) as (app, pilot):
            await pilot.press(*keys)
            await settle(pilot)
            await pilot.press("q")
            await pilot.pause()
            assert not app.is_running


async def test_the_theme_can_be_changed():
    async with dashboard(log_of()) as (app, pilot):
        await app.run_action("next_theme")
        await pilot.pause()
        assert app.theme == "rollgrid-light"
