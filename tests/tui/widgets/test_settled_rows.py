"""A run that goes on until it is decided: what is settled stands at the end of its row, and is counted above."""

import unicodedata

import pytest

from rollgrid.analysis import sequential
from rollgrid.store import rows
from rollgrid.store.rows import Settled
from rollgrid_tui.state.run_view import RunView
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from support.dash import dashboard, lines
from support.fake_log import FakeLog, attempt_row, run_row, task_row

SAMPLING = {"ref": "env.py", "sampling": {"max_k": 64}}
SATURATED = Settled("saturated", "saturated: passes more than 80 % of the time", 20.8, 15, 15)
CLOSE = Settled("too close", "too close to call with 64 attempts at most", 0.3, 50, 58)


def log_of(*settled, attempts=(), **run):
    tasks = [task_row(i)._replace(settled=one) for i, one in enumerate(settled)]
    return FakeLog([run_row(k=4, n_tasks=len(tasks), source=SAMPLING, **run)], tasks, attempts)


def grid_lines(app):
    grid = app.screen.query_one(RolloutGrid)
    return [grid.render_line(y).text.rstrip() for y in range(grid.size.height)]


def test_the_store_and_the_analysis_mean_the_same_by_no_claim():
    assert {claim.value for claim in sequential.NO_CLAIMS} == rows.NO_CLAIMS


async def test_a_settled_row_says_so_and_an_open_one_shows_the_zone_as_it_is_seen():
    attempts = [attempt_row(0, n) for n in range(1, 5)] + [attempt_row(2, 1), attempt_row(2, 2, "fail")]
    log = log_of(SATURATED, CLOSE, None, None, attempts=attempts)
    async with dashboard(log, "r4k9tz") as (app, _):
        head, first, second, third, fourth = grid_lines(app)[:5]
        assert head.split()[3:5] == ["rate", "settled"]
        assert "100%  ⊨ saturated" in first
        assert "⊭ too close" in second
        assert "50%    learning" in third
        assert "⊨" not in fourth
        assert "⊨ 1 of 4 settled" in "\n".join(lines(app))


@pytest.mark.parametrize("claim", [one.value for one in sequential.Claim])
async def test_every_claim_has_room_and_is_drawn_one_cell_wide(claim):
    async with dashboard(log_of(Settled(claim, claim, 1.0, 0, 0)), "r4k9tz") as (app, _):
        line = grid_lines(app)[1]
        word = "unknowable" if claim == "out of reach" else claim
        assert word in line
        assert not {c for c in "\n".join(lines(app)) if unicodedata.east_asian_width(c) in "AWF"}


async def test_the_ascii_twin_says_it_too():
    async with dashboard(log_of(SATURATED, CLOSE), "r4k9tz", ascii=True) as (app, _):
        assert "= saturated" in grid_lines(app)[1]
        assert "? too close" in grid_lines(app)[2]
        assert "\n".join(lines(app)).isascii()


async def test_it_is_there_at_80_columns_with_sixty_attempts():
    log = log_of(SATURATED, attempts=[attempt_row(0, n) for n in range(1, 61)])
    async with dashboard(log, "r4k9tz", size=(80, 24)) as (app, _):
        assert "⊨ saturated" in grid_lines(app)[1]


async def test_a_run_of_a_fixed_number_shows_the_zone_as_ever():
    log = FakeLog([run_row(k=4, n_tasks=1)], [task_row(0)], [attempt_row(0, 1)])
    async with dashboard(log, "r4k9tz") as (app, _):
        assert "zone" in grid_lines(app)[0]
        assert "settled" not in "\n".join(lines(app))


async def test_a_hostile_claim_in_the_log_does_no_harm():
    async with dashboard(log_of(Settled("\x1b[31m\u202eevil", "x", 1.0, 0, 0)), "r4k9tz") as (app, _):
        screen = "\n".join(lines(app))
        assert "\x1b" not in screen
        assert "\u202e" not in screen


def test_a_claim_draws_its_row_anew_though_no_attempt_changed():
    view = RunView()
    run = run_row(k=4, n_tasks=2, source=SAMPLING)
    view.apply(run, [task_row(0), task_row(1)], [attempt_row(0, 1)])
    before = view.version(0)
    changes = view.apply(run._replace(plan_seq=9), [task_row(0)._replace(settled=SATURATED), task_row(1)])
    assert changes.rows == {0}
    assert not changes.structure
    assert view.version(0) > before
    header = view.header()
    assert header is not None
    assert header.settled == (1, 2)
