"""The attempt screen."""

from textual.events import Key

from rollgrid_tui.screens.attempt import AttemptScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from rollgrid_tui.widgets.transcript import TranscriptView
from support.dash import dashboard, lines, settle, text
from support.fake_log import FakeLog, attempt_row, run_row, task_row, transcript


def log_of(*attempts, bodies=None, **run):
    tasks = [task_row(i, split="train") for i in range(3)]
    return FakeLog([run_row(**run)], tasks, attempts, {(0, 1): transcript()} if bodies is None else bodies)


def bar(app, name):
    return app.screen.query_one(f"#{name}", Bar).plain


async def test_the_whole_transcript_is_there():
    async with dashboard(log_of(attempt_row(0, 1, "fail")), "r4k9tz", size=(100, 50)) as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        shown = text(app)
        for part in (
            "You are a careful",
            "What is 17",
            "multiply",
            '"a": 17',
            "391",
            "17 x 23 = 389",
            "expected 391",
            "100 in, 20 out",
        ):
            assert part in shown
        assert bar(app, "title") == "task-1  split:train  attempt 1 of 4"
        assert bar(app, "state").startswith("✗ fail 0.00  expected 391, got 389")


async def test_neighbours_are_a_key_away_and_the_grid_follows():
    log = log_of(attempt_row(0, 1), attempt_row(1, 3, "fail"))
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("enter", "right_square_bracket")
        await settle(pilot)
        assert "attempt 2 of 4" in bar(app, "title")
        await pilot.press("left_square_bracket", "left_square_bracket")
        await settle(pilot)
        assert "attempt 1 of 4" in bar(app, "title")
        assert "no further attempt" in text(app)
        await pilot.press("n")
        await settle(pilot)
        assert bar(app, "title").startswith("task-2")
        assert "attempt 3 of 4" in bar(app, "title")
        await pilot.press("right_curly_bracket")
        await settle(pilot)
        assert bar(app, "title").startswith("task-3")
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)
        assert app.screen.query_one(RolloutGrid).cursor == (2, 3)


async def test_an_attempt_that_runs_is_followed_to_its_verdict():
    log = log_of(attempt_row(0, 1, "running"))
    log.snapshots[0, 1] = transcript(partial_text="Let me mul", score=None)
    async with dashboard(log, "r4k9tz", size=(100, 60)) as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        assert "Let me mul" in text(app)
        log.write(attempt_row(0, 1, "fail"))
        await settle(pilot)
        assert "expected 391, got 389" in text(app)
        assert "Let me mul\n" not in text(app)


async def test_an_attempt_that_has_not_begun_shows_its_prompt():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        assert "not started" in bar(app, "state")
        assert "the prompt of task 1" in text(app)


async def test_earlier_takes_can_be_read():
    log = log_of(
        attempt_row(0, 1, "error", superseded="retry", error="HTTP 503: busy", seq=1),
        attempt_row(0, 1, "fail", take=2, seq=2),
    )
    async with dashboard(log, "r4k9tz", size=(100, 50)) as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        assert "take 2 of 2" in bar(app, "title")
        await pilot.press("t")
        await settle(pilot)
        assert "take 1 of 2" in bar(app, "title")
        assert "HTTP 503: busy" in text(app)
        assert "it does not count" in text(app)


async def test_the_answer_is_copied_as_the_model_gave_it():
    answer = "a\tb\x1b[31m"
    log = log_of(attempt_row(0, 1), bodies={(0, 1): transcript(answer)})
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("y")
        assert app.clipboard == answer
        assert "\x1b" not in text(app)


async def test_ten_megabytes_and_forty_thousand_messages_open_and_scroll():
    messages = [{"role": "user" if n % 2 else "assistant", "content": f"message {n}"} for n in range(40_000)]
    messages.append({"role": "assistant", "content": "x" * 10_000_000})
    log = log_of(attempt_row(0, 1), bodies={(0, 1): transcript(messages=messages, tools=[])})
    async with dashboard(log, "r4k9tz") as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        assert "message 0" in text(app)
        layout = app.screen.query_one(TranscriptView).text_layout
        assert layout is not None
        assert layout.chunks_made < 200
        await pilot.press("G")
        await settle(pilot)
        assert "outcome" in text(app)
        assert layout.chunks_made < 400


async def test_escape_and_the_stack_of_screens_never_leave_the_application():
    async with dashboard(log_of(attempt_row(0, 1)), "r4k9tz") as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, AttemptScreen)
        await pilot.press(*["escape"] * 6)
        await pilot.pause()
        assert app.is_running
        assert type(app.screen).__name__ == "RunsScreen"


async def test_a_search_takes_the_keys_of_the_failures_until_it_is_ended():
    log = FakeLog([run_row(n_tasks=1)], [task_row(0)], [attempt_row(0, 1), attempt_row(0, 2, "fail")])
    log.bodies = {(0, 1): transcript("alpha beta alpha gamma"), (0, 2): transcript("alpha")}
    async with dashboard(log, "r4k9tz", size=(110, 30)) as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("slash", *"alpha", "enter")
        assert "1 of 2" in lines(app)[-1]
        await pilot.press("n")
        assert "2 of 2" in lines(app)[-1]
        screen = app.screen
        assert isinstance(screen, AttemptScreen)
        assert screen.cell == (0, 1)
        await pilot.press("right_square_bracket")
        await settle(pilot)
        assert "alpha  1" in lines(app)[-1], "the search goes along to the next attempt"
        await pilot.press("slash", *"zzz")
        assert "is not in this attempt" in lines(app)[-1]
        await pilot.press("escape")
        assert screen.cell == (0, 2)
        await pilot.press("left_square_bracket", "n")
        await settle(pilot)
        assert screen.cell == (0, 2), "without a search the key goes to the next failure"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)


async def test_what_is_typed_in_one_bunch_with_the_key_that_opens_the_search_is_not_lost():
    log = log_of(attempt_row(0, 1), bodies={(0, 1): transcript("alpha beta alpha")})
    async with dashboard(log, "r4k9tz", size=(110, 30)) as (app, pilot):
        await pilot.press("enter")
        await settle(pilot)
        for key in ("slash", *"alpha", "enter"):
            app.post_message(Key(key, "/" if key == "slash" else key if len(key) == 1 else None))
        await settle(pilot)
        view = app.screen.query_one(TranscriptView)
        assert (view.words, view.has_focus) == ("alpha", True)
