"""The review queue."""

import pytest

from rollgrid.errors import LogError
from rollgrid_tui.keymap import Keymap
from rollgrid_tui.screens.attempt import AttemptScreen
from rollgrid_tui.screens.review import ReviewScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.state.review_view import Item
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from rollgrid_tui.widgets.transcript import TranscriptView
from support.dash import dashboard, lines, settle, text
from support.dash_child import PAYLOAD, hostile_log
from support.fake_log import FakeLog, attempt_row, review_row, run_row, task_row, transcript

OUTCOMES = ("fail", "pass", "fail", "error")
SECRET = "expected 391, got 389"


def log_of(n_tasks=2, outcomes=OUTCOMES, **run):
    rows = [attempt_row(i, n, outcome) for i in range(n_tasks) for n, outcome in enumerate(outcomes, start=1)]
    tasks = [task_row(i, split="train" if i else "test") for i in range(n_tasks)]
    bodies = {(row.task, row.attempt): transcript(score=None) for row in rows}
    return FakeLog([run_row(**{"state": "finished", "alive": False} | run)], tasks, rows, bodies)


def screen(app) -> ReviewScreen:
    assert isinstance(app.screen, ReviewScreen)
    return app.screen


def bar(app, name):
    return app.screen.query_one(f"#{name}", Bar).plain


async def test_the_queue_holds_what_failed_and_shows_the_evidence():
    async with dashboard(log_of(), "r4k9tz", size=(130, 40)) as (app, pilot):
        await pilot.press("R")
        await settle(pilot)
        assert screen(app).items == [Item(0, 1, 1), Item(0, 3, 1), Item(1, 1, 1), Item(1, 3, 1)]
        shown = text(app)
        for part in ("task-1", SECRET, "What is 17 x 23?", "17 x 23 = 389", "expected", "no score is judged yet"):
            assert part in shown
        assert "0 of 4 judged by you" in bar(app, "figures")


async def test_judging_keeps_the_review_and_goes_on_to_the_next():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("R", "a")
        await settle(pilot)
        assert screen(app).item == Item(0, 3, 1)
        await pilot.press("d")
        await settle(pilot)
        assert [(row.attempt, row.verdict, row.passed, row.author) for row in log.review_rows] == [
            (1, "agree", False, "ada"),
            (3, "disagree", True, "ada"),
        ]
        assert bar(app, "figures").startswith("agreement 50% 9-91% n=2   1 disagree")
        assert "2 of 4 judged by you" in bar(app, "figures")


async def test_after_the_last_one_the_cursor_stays_and_the_key_for_the_next_says_so():
    async with dashboard(log_of(1), "r4k9tz") as (app, pilot):
        await pilot.press("R", "p")
        await settle(pilot)
        await pilot.press("f")
        await settle(pilot)
        assert screen(app).item == Item(0, 3, 1)
        await pilot.press("o")
        await settle(pilot)
        assert "you have judged every attempt of this queue" in text(app)


async def test_a_label_and_a_note_are_typed_and_kept():
    log = log_of()
    async with dashboard(log, "r4k9tz", size=(130, 40)) as (app, pilot):
        await pilot.press("R", "l", *"unit", "enter")
        await settle(pilot)
        await pilot.press("w", *"metres", "enter")
        await settle(pilot)
        assert [(row.label, row.note) for row in log.review_rows] == [("unit", None), ("unit", "metres")]
        assert screen(app).item == Item(0, 1, 1)
        assert "ada has no verdict  [unit]" in text(app)
        assert "metres" in text(app)
        await pilot.press("l", "escape")
        await settle(pilot)
        assert len(log.review_rows) == 2
        await pilot.press("j", "l", "u", "right", "enter")
        await settle(pilot)
        assert log.review_rows[-1].label == "unit", "a label in use is offered"


async def test_undo_takes_back_what_was_said_last_and_goes_there():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("R", "a")
        await settle(pilot)
        await pilot.press("u")
        await settle(pilot)
        assert screen(app).item == Item(0, 1, 1)
        assert log.review_rows[0].undone is not None
        assert "0 of 4 judged by you" in bar(app, "figures")
        await pilot.press("u")
        await settle(pilot)
        assert "you have no review here to take back" in text(app)


async def test_the_other_queues_are_all_attempts_and_the_disagreements():
    log = log_of()
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("R", "d")
        await settle(pilot)
        await pilot.press("v")
        await settle(pilot)
        assert len(screen(app).items) == 8
        await pilot.press("v")
        await settle(pilot)
        assert screen(app).items == [Item(0, 1, 1)]
        await pilot.press("v")
        await settle(pilot)
        assert len(screen(app).items) == 4


async def test_the_filter_is_that_of_the_grid_for_one_attempt_at_a_time():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("R", "v", "slash", *"split:train is:error", "enter")
        await settle(pilot)
        assert screen(app).items == [Item(1, 4, 1)]
        await pilot.press("a")
        await settle(pilot)
        assert "it has no score to agree with" in text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert len(screen(app).items) == 8


async def test_blind_mode_shows_nothing_of_the_outcome_until_one_has_judged():
    log = log_of(run_id="r4k9tz")
    log.review_rows = [review_row(i, n, verdict="agree", passed=n == 2) for i in range(2) for n in (1, 2, 3)]
    async with dashboard(log, "r4k9tz", size=(130, 40)) as (app, pilot):
        await pilot.press("R", "B")
        await settle(pilot)
        assert len(screen(app).items) == 6, "what has no score is not in the queue"
        await pilot.press("home")
        await settle(pilot)
        for _ in range(6):
            body = "\n".join(lines(app)[3:-1])
            for giveaway in (SECRET, "✗", "✓", "0.00", "1.00", "agrees", "bea", "outcome", " pass ", " fail "):
                assert giveaway not in body
            assert "17 x 23 = 389" in body
            await pilot.press("right_square_bracket")
            await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        assert "the score is hidden, so say what it deserves" in text(app)
        assert screen(app).item is not None
        await pilot.press("p")
        await settle(pilot)
        mine = log.review_rows[-1]
        assert (mine.passed, mine.author) == (True, "ada")
        assert "bea agrees" in text(app)
        assert "ada " in text(app)


async def test_a_judgement_is_called_blind_only_when_the_score_was_never_seen():
    log = log_of(1, ("fail", "fail"))
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("R", "B")
        await settle(pilot)
        # Its score showed before blind mode began.
        screen(app).table.cursor = Item(0, 1, 1)
        await settle(pilot)
        await pilot.press("f")
        await settle(pilot)
        await pilot.press("o")
        await settle(pilot)
        await pilot.press("f")
        await settle(pilot)
        assert [(row.attempt, row.blind) for row in log.review_rows] == [(1, False), (2, True)]
        await pilot.press("u")
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert log.review_rows[-1].blind is False


async def test_in_blind_mode_no_queue_and_no_filter_tells_the_outcome():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("R", "B", "v")
        await settle(pilot)
        assert "the other queues would give scores away" in text(app)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert "judge it first" in text(app)
        await pilot.press("slash", *"is:fail", "enter")
        await settle(pilot)
        assert len(screen(app).items) == 6
        assert screen(app).state.filter.problem == "is: and zone: would give the score away"


async def test_the_blind_order_is_the_same_for_everyone_and_not_that_of_the_tasks():
    orders = []
    for _ in range(2):
        async with dashboard(log_of(9), "r4k9tz") as (app, pilot):
            await pilot.press("R", "B")
            await settle(pilot)
            orders.append(screen(app).items)
            assert screen(app).item == screen(app).items[0]
    assert orders[0] == orders[1] != sorted(orders[0])


async def test_the_grid_shows_what_people_said_and_the_attempt_who_and_when():
    log = log_of()
    log.review_rows = [
        review_row(0, 1, verdict="agree", passed=False),
        review_row(0, 2, verdict="agree", passed=True),
        review_row(0, 3, verdict="disagree", passed=True, label="unit", note="metres"),
    ]
    async with dashboard(log, "r4k9tz", size=(130, 60)) as (app, pilot):
        row = next(line for line in lines(app) if line.strip().startswith("task-1"))
        assert "⊠ ⊞ ⚑ ⚠" in row
        await pilot.press("right", "right", "enter")
        await settle(pilot)
        assert "bea disagrees: it should pass  [unit]" in text(app)
        assert "metres" in text(app)
        log.review_rows.append(review_row(0, 3, verdict="agree", passed=False, author="cem", seq=9000))
        log.review_rows[-1] = log.review_rows[-1]._replace(touched=9000)
        log.touch()
        await settle(pilot)
        assert "cem agrees" in text(app)


async def test_one_review_draws_one_row_of_the_grid_anew():
    log = log_of(3)
    async with dashboard(log, "r4k9tz") as (app, pilot):
        grid = app.screen.query_one(RolloutGrid)
        before = grid.rows_rendered
        log.review_rows = [review_row(1, 1, verdict="disagree", passed=True)]
        log.touch()
        await settle(pilot)
        assert grid.rows_rendered == before + 1
        asked = len(log.asked)
        await settle(pilot)
        assert set(log.asked[asked:]) <= {"changed", "run"}


async def test_review_opens_on_the_attempt_one_comes_from_and_escape_leads_back():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("down", "right", "enter", "R")
        await settle(pilot)
        assert screen(app).item == Item(1, 2, 1), "it passed, so the queue is that of all attempts"
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, AttemptScreen)
        await pilot.press("R")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert sum(isinstance(each, ReviewScreen) for each in app.screen_stack) == 1
        await pilot.press("tab")
        await settle(pilot)
        assert isinstance(app.screen.focused, TranscriptView)
        await pilot.press("escape", "escape", "escape")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)


async def test_a_contrast_leads_to_the_review_of_its_attempt():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("down", "right", "right", "enter", "c", "R")
        await settle(pilot)
        assert screen(app).item == Item(1, 3, 1)


async def test_another_scoring_is_agreed_with_as_it_is_seen():
    """A person who held a fail for wrong agrees with a later scorer that lets it pass."""
    log = log_of(1, ("pass",))
    log.review_rows = [review_row(0, 1, verdict="disagree", passed=True)]
    async with dashboard(log, "r4k9tz") as (app, pilot):
        assert "⊞" in text(app), "what counts is what it deserves, beside the score that shows"
        await pilot.press("R", "v", "a")
        await settle(pilot)
        assert log.review_rows[-1].passed is True


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ((), ("No attempt has failed.", "v goes on to the next queue")),
        (("v", "v"), ("Nobody disagrees with the scorer.", "d")),
        (("v", "slash", "x", "y", "enter"), ("No attempt of this queue matches the filter.", "Esc takes")),
    ],
)
async def test_an_empty_queue_says_what_would_fill_it(keys, words):
    async with dashboard(log_of(1, ("pass",)), "r4k9tz") as (app, pilot):
        await pilot.press("R", *keys)
        await settle(pilot)
        for word in words:
            assert word in text(app)
        await pilot.press("a", "l", "u", "n", "N", "o", "enter", "tab")
        await settle(pilot)
        assert isinstance(app.screen, ReviewScreen)


async def test_a_run_without_attempts_says_so():
    async with dashboard(FakeLog([run_row()], [task_row(0)]), "r4k9tz") as (app, pilot):
        await pilot.press("R", "v", "B")
        await settle(pilot)
        assert "No attempt has a score yet." in text(app)
        await pilot.press("B")
        await settle(pilot)
        assert "No attempt has ended yet." in text(app)


async def test_a_log_that_cannot_be_written_is_told_and_nothing_is_lost():
    log = log_of()

    async def refuse(*_, **__):
        raise LogError("the log cannot be written: database or disk is full")

    log.review = refuse
    async with dashboard(log, "r4k9tz", size=(120, 24)) as (app, pilot):
        await pilot.press("R", "a")
        await settle(pilot)
        assert "the log cannot be written: database or disk is full" in text(app)
        assert screen(app).item == Item(0, 1, 1)


async def test_keys_of_the_review_screen_can_be_remapped():
    log = log_of()
    async with dashboard(log, "r4k9tz", keymap=Keymap({"review.agree": "f7"})) as (app, pilot):
        await pilot.press("R", "a")
        await settle(pilot)
        assert log.review_rows == []
        await pilot.press("f7")
        await settle(pilot)
        assert log.review_rows[0].verdict == "agree"
        assert "f7" in text(app)


async def test_hostile_text_stays_text_in_every_field():
    log = hostile_log()
    hostile = {"author": PAYLOAD, "label": PAYLOAD, "note": PAYLOAD, "passed": True}
    log.review_rows = [review_row(0, 1, verdict="disagree", **hostile)]
    async with dashboard(log, "r4k9tz", size=(130, 50)) as (app, pilot):
        await pilot.press("R")
        await settle(pilot)
        shown = text(app)
        assert "disagrees" in shown
        await pilot.press("l")
        await settle(pilot)
        await pilot.press("escape", "enter")
        await settle(pilot)
        shown += text(app)
        for forbidden in "\x1b\x07\x9b\u202e\u2066\u200b\x00\ud800":
            assert forbidden not in shown


async def test_a_queue_of_a_large_run_lists_the_first_and_says_how_many_there_are(monkeypatch):
    monkeypatch.setattr("rollgrid_tui.state.review_view.QUEUE_MOST", 3)
    async with dashboard(log_of(), "r4k9tz", size=(120, 24)) as (app, pilot):
        await pilot.press("R")
        await settle(pilot)
        assert len(screen(app).items) == 3
        assert "the first of 4; / narrows them down" in text(app)
