"""Scorings where a run is looked at."""

from rollgrid.store.scorings import RescoredRow, ScoringName
from rollgrid_tui.screens.run import RunScreen
from support.dash import dashboard, lines, settle, text
from support.fake_log import NOW, FakeLog, attempt_row, run_row, task_row, transcript

RUN = "r4k9tz"


def verdict(task: int, attempt: int, passed: bool, reason: str = "because") -> RescoredRow:
    return RescoredRow(task, attempt, 1, passed, float(passed), reason, None, None, None, 0.1, 1)


def log_of(scorings: bool = True) -> FakeLog:
    rows = [attempt_row(task, n, "fail") for task in (0, 1) for n in (1, 2)]
    log = FakeLog(
        [run_row(RUN, k=2, n_tasks=2, state="finished", alive=False, n_started=4)],
        [task_row(0), task_row(1)],
        rows,
        {(1, 2): transcript(score={"value": 0.0, "passed": False, "reason": "own words", "detail": None})},
    )
    if scorings:
        log.scorings[ScoringName(2, "a", "CodeScorer(f)", "ann", NOW)] = [
            verdict(1, 2, True, reason="later words"),
            *(verdict(task, n, False) for task, n in ((0, 1), (0, 2), (1, 1))),
        ]
    return log


async def test_a_run_with_one_scoring_says_nothing_of_it():
    async with dashboard(log_of(scorings=False), RUN) as (app, pilot):
        assert "scor" not in lines(app)[0]
        await pilot.press("S")
        await settle(pilot)
        assert "rollgrid rescore RUN makes another scoring" in text(app)


async def test_the_run_is_shown_as_the_latest_scoring_sees_it_and_back():
    async with dashboard(log_of(), RUN, size=(120, 24)) as (app, pilot):
        assert "own scores, 2 scorings" in text(app)
        assert "0% passed" in text(app)
        await pilot.press("j", "l", "S")
        await settle(pilot)
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)
        assert "scored by latest of 2" in text(app)
        assert "25% passed" in text(app)
        assert app.screen.grid.cursor == (1, 2)
        await settle(pilot)
        assert "later words" in text(app)
        await pilot.press("S")
        await settle(pilot)
        await settle(pilot)
        assert "own scores, 2 scorings" in text(app)
        assert "0% passed" in text(app)


async def test_what_flipped_can_be_filtered_and_the_filter_stays_with_another_scoring():
    async with dashboard(log_of(), RUN) as (app, pilot):
        await pilot.press("S")
        await settle(pilot)
        await pilot.press("slash", *"is:flipped", "enter")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, RunScreen)
        assert screen.view.order == [1]
        assert "hides 1" in text(app)
        await pilot.press("S")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, RunScreen)
        assert screen.view.filter.text == "is:flipped"
        assert screen.view.order == []


async def test_escape_from_a_scoring_leads_to_the_runs_and_the_run_opens_with_its_own_scores():
    async with dashboard(log_of(), RUN) as (app, pilot):
        await pilot.press("S")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert "own scores, 2 scorings" in text(app)


async def test_a_scoring_that_is_made_while_the_run_is_shown_appears():
    log = log_of(scorings=False)
    async with dashboard(log, RUN) as (app, pilot):
        log.scorings[ScoringName(2, "a", "CodeScorer(f)", "ann", NOW)] = []
        log.touch()
        await settle(pilot)
        assert "own scores, 2 scorings" in text(app)
