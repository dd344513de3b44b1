"""The grid line by line, and how much of it is drawn when something changes."""

import unicodedata

import pytest

from rollgrid_tui.keymap import Keymap
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from support.dash import Clock, dashboard, lines, settle
from support.fake_log import FakeLog, attempt_row, run_row, task_row

OUTCOMES = ["pass", "fail", "partial", "error", "timeout", "cancelled", "running", "retrying", "superseded"]


def log_of(*attempts, n=3, k=4, **run):
    return FakeLog([run_row(k=k, n_tasks=n, **run)], [task_row(i) for i in range(n)], attempts)


def grid_lines(app):
    grid = app.screen.query_one(RolloutGrid)
    return [grid.render_line(y).text.rstrip() for y in range(grid.size.height)]


async def test_a_row_reads_label_cells_passes_rate_zone_and_interval():
    log = log_of(attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(0, 3, "running"), attempt_row(2, 1, "error"))
    async with dashboard(log, "r4k9tz") as (app, _):
        assert grid_lines(app)[:4] == [
            "task    1         pass  rate  zone        interval        time  tokens",
            "task-1  ✓ ✗ ◔ ⋅    1/2   50%  learning    ⠤⠶⠶⠶⠶⠶⡇⠶⠶⠶⠶⠤    2.0s     360",
            "task-2  ⋅ ⋅ ⋅ ⋅      -     -              ⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤       -       -",
            "task-3  ⚠ ⋅ ⋅ ⋅      -     -  unmeasured  ⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤       -     120",
        ]


@pytest.mark.parametrize(("ascii", "cells"), [(False, "✓ ✗ ◒ ⚠ ◷ ⊘ ◔ ◌ ▪ ⋅"), (True, "+ x % ! T - o r s .")])
async def test_every_state_has_a_glyph_of_its_own(ascii, cells):
    log = log_of(*(attempt_row(0, n, outcome) for n, outcome in enumerate(OUTCOMES, 1)), n=1, k=10)
    async with dashboard(log, "r4k9tz", ascii=ascii) as (app, _):
        assert cells in grid_lines(app)[1]


async def test_ascii_screens_are_ascii():
    log = log_of(*(attempt_row(0, n, outcome) for n, outcome in enumerate(OUTCOMES, 1)), n=1, k=10)
    async with dashboard(log, "r4k9tz", ascii=True, size=(140, 30)) as (app, pilot):
        assert "\n".join(lines(app)).isascii()
        await pilot.press("question_mark")
        await pilot.pause()
        assert "\n".join(lines(app)).isascii()


@pytest.mark.parametrize("keys", [(), ("question_mark",), ("enter",), ("escape",), ("slash",), ("colon",)])
async def test_no_character_is_drawn_two_cells_wide_by_some_terminals(keys):
    log = log_of(*(attempt_row(0, n, outcome) for n, outcome in enumerate(OUTCOMES, 1)), n=30, k=10)
    async with dashboard(log, "r4k9tz", size=(140, 20)) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause(0.3)
        screen = "\n".join(lines(app))
        assert {character for character in screen if unicodedata.east_asian_width(character) in "AWF"} == set()


async def test_a_change_draws_only_the_rows_that_changed():
    log = log_of(n=15, k=8)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        drawn = grid.rows_rendered
        log.write(attempt_row(3, 1), attempt_row(9, 2, "running"))
        await settle(pilot)
        assert grid.rows_rendered - drawn == 2
        assert "✓" in grid_lines(app)[4]


async def test_sixty_tasks_can_all_be_seen_on_twenty_four_rows():
    async with dashboard(log_of(n=60, k=8), "r4k9tz", size=(80, 24)) as (app, pilot):
        seen: set[str] = set()
        for _ in range(60):
            seen |= {line.split()[0] for line in grid_lines(app) if line.startswith("task-")}
            await pilot.press("j")
        await pilot.pause()
        seen |= {line.split()[0] for line in grid_lines(app) if line.startswith("task-")}
    assert seen == {f"task-{n}" for n in range(1, 61)}


async def test_rows_out_of_sight_are_not_drawn():
    log = log_of(n=500, k=8)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        # Once when it appears, once when its styles are settled.
        assert grid.rows_rendered <= 2 * grid.size.height
        drawn = grid.rows_rendered
        log.write(*(attempt_row(n, 1) for n in range(100, 400)))
        await settle(pilot)
        assert grid.rows_rendered == drawn


async def test_moving_the_cursor_draws_the_two_rows_it_left_and_entered():
    log = log_of(n=15, k=8)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        drawn = grid.rows_rendered
        await pilot.press("j")
        await pilot.pause()
        assert grid.rows_rendered - drawn == 2
        await pilot.press("l")
        await pilot.pause()
        assert grid.rows_rendered - drawn == 3


async def test_an_unchanged_log_draws_nothing():
    clock = Clock()
    log = log_of(attempt_row(0, 1), n=15, k=8)
    async with dashboard(log, "r4k9tz", clock=clock) as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        drawn = grid.rows_rendered
        log.touch()
        await settle(pilot)
        assert grid.rows_rendered == drawn


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        ("j", (1, 1)),
        ("jjk", (1, 1)),
        ("llh", (0, 2)),
        ("h", (0, 1)),
        ("G", (199, 1)),
        ("Gg", (0, 1)),
        (["end"], (0, 8)),
        (["end", "home"], (0, 1)),
        (["pagedown"], (18, 1)),
        (["pagedown", "pageup"], (0, 1)),
        (["down", "right"], (1, 2)),
    ],
)
async def test_the_cursor_moves_by_cell(keys, cursor):
    async with dashboard(log_of(n=200, k=8), "r4k9tz") as (app, pilot):
        await pilot.press(*keys)
        assert app.screen.query_one(RolloutGrid).cursor == cursor


async def test_the_cursor_stays_with_its_task_when_rows_are_sorted():
    log = log_of(attempt_row(2, 1, "error"))
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("j", "j")
        await pilot.press("s", "s", "s")
        grid = app.screen.query_one(RolloutGrid)
        assert grid.view.order == [2, 0, 1]
        assert grid.cursor == (2, 1)


async def test_only_the_cells_scroll_sideways():
    log = log_of(*(attempt_row(0, n, "pass" if n < 60 else "fail") for n in range(1, 65)), k=64)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        before = grid_lines(app)
        await pilot.press("end")
        after = grid_lines(app)
        assert before[1].startswith("task-1")
        assert after[1].startswith("task-1")
        assert "✗" not in before[1]
        assert "✓✗✗✗✗✗  " in after[1]
        assert before[1][-20:] == after[1][-20:]
        assert "64" in after[0]


async def test_hostile_ids_do_no_harm_to_the_columns():
    hostile = [
        "\x1b[2J\x1b]52;c;eA==\x07",
        "a\u202eb\u2066",
        "日本語のタスク名",
        "👨‍👩‍👧🇩🇪",
        "[b]x[/INST]",
        "e" + "\u0301" * 50,
        "\ud800\x00",
        "a\tb\nc",
    ]
    log = FakeLog(
        [run_row(n_tasks=8)], [task_row(i, id) for i, id in enumerate(hostile)], [attempt_row(i, 1) for i in range(8)]
    )
    async with dashboard(log, "r4k9tz") as (app, _):
        grid = app.screen.query_one(RolloutGrid)
        strips = [grid.render_line(y) for y in range(9)]
        assert {strip.cell_length for strip in strips} == {grid.scrollable_size.width}
        starts = {strip.crop(grid._shape.cells_start, grid._shape.cells_start + 1).text for strip in strips[1:]}
        assert starts == {"✓"}
        screen = "".join(strip.text for strip in strips)
        assert not {unicodedata.category(character) for character in screen} & {"Cc", "Cf", "Cs"}
        assert "[b]x[/INST]" in screen


async def test_an_empty_grid_says_why_and_what_to_do():
    async with dashboard(log_of(n=0), "r4k9tz") as (app, _):
        assert "no tasks yet" in "\n".join(lines(app))
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("slash", *"zzz", "enter")
        await pilot.pause()
        assert "No task matches this filter. Esc takes it away." in "\n".join(lines(app))
        await pilot.press("escape")
        await pilot.pause()
        assert "task-3" in "\n".join(lines(app))


async def test_a_click_moves_the_cursor_and_a_second_one_opens():
    async with dashboard(log_of(attempt_row(1, 2)), "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        await pilot.click(RolloutGrid, offset=(grid._shape.cells_start + 1 + 2, 2))
        assert grid.cursor == (1, 2)
        await pilot.click(RolloutGrid, offset=(grid._shape.cells_start + 1 + 2, 2), times=2)
        await pilot.pause()
        assert type(app.screen).__name__ == "AttemptScreen"


async def test_keys_can_be_remapped():
    async with dashboard(log_of(n=9), "r4k9tz", keymap=Keymap({"grid.down": "w"})) as (app, pilot):
        await pilot.press("w", "j")
        assert app.screen.query_one(RolloutGrid).cursor == (1, 1)
        await pilot.press("question_mark")
        await pilot.pause()
        assert any(line.split()[:1] == ["w"] and "The task below" in line for line in lines(app))
