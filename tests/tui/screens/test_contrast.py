"""A failing attempt beside a passing one."""

from rollgrid_tui.screens.attempt import AttemptScreen
from rollgrid_tui.screens.contrast import ContrastScreen
from rollgrid_tui.state.side_by_side import Span
from rollgrid_tui.widgets.side_by_side import SideBySideView, wrapped
from support.dash import dashboard, lines, settle, text
from support.dash_child import PAYLOAD, hostile_log
from support.fake_log import FakeLog, attempt_row, run_row, task_row, transcript


def log_of():
    rows = [attempt_row(0, 1, "fail"), attempt_row(0, 2), attempt_row(0, 3), attempt_row(1, 1, "fail")]
    right = {"value": 1.0, "passed": True, "reason": None, "detail": None}
    bodies = {
        (0, 1): transcript("17 x 23 = 389"),
        (0, 2): transcript("17 x 23 = 391", score=right),
        (0, 3): transcript("17 times 23 is 391", score=right),
        (1, 1): transcript(),
    }
    return FakeLog([run_row()], [task_row(i) for i in range(2)], rows, bodies)


async def open_contrast(pilot, *keys):
    await pilot.press(*keys, "enter")
    await settle(pilot)
    await pilot.press("c")
    await settle(pilot)


async def test_c_puts_a_passing_attempt_of_the_task_beside_this_failing_one():
    async with dashboard(log_of(), "r4k9tz", size=(120, 40)) as (app, pilot):
        await open_contrast(pilot)
        assert isinstance(app.screen, ContrastScreen)
        shown = text(app)
        for part in (
            "attempt 1, failed",
            "attempt 2, passed",
            "17 x 23 = 389",
            "17 x 23 = 391",
            "expected 391, got 389",
        ):
            assert part in shown
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, AttemptScreen)


async def test_it_opens_at_the_first_difference_and_n_goes_on_from_there():
    async with dashboard(log_of(), "r4k9tz", size=(120, 12)) as (app, pilot):
        await open_contrast(pilot)
        view = app.screen.query_one(SideBySideView)
        first = view.sides.first_difference
        assert first == 4
        assert view.scroll_offset.y == min(view._starts[first], view.max_scroll_y)
        await pilot.press("g", "n")
        await pilot.pause()
        assert view.scroll_offset.y == min(view._starts[first], view.max_scroll_y)
        await pilot.press("G", "n")
        await pilot.pause()
        assert "no further difference" in text(app)


async def test_the_failing_attempt_stands_on_the_left_from_whichever_one_comes():
    async with dashboard(log_of(), "r4k9tz", size=(120, 40)) as (app, pilot):
        await open_contrast(pilot, "l")
        assert app.screen.query_one(SideBySideView).names == ("attempt 1, failed", "attempt 2, passed")


async def test_another_attempt_to_compare_with_is_a_key_away():
    async with dashboard(log_of(), "r4k9tz", size=(120, 40)) as (app, pilot):
        await open_contrast(pilot)
        await pilot.press("right_square_bracket")
        await settle(pilot)
        assert "17 times 23 is 391" in text(app)
        await pilot.press("right_square_bracket")
        await settle(pilot)
        assert "attempt 2, passed" in text(app)


async def test_without_an_opposite_outcome_it_says_so():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await open_contrast(pilot, "j")
        assert "No attempt of this task has passed to compare with; + asks for one more." in text(app)
        await pilot.press("n", "right_square_bracket", "j", "G")
        await pilot.pause()
        assert "there is no other attempt to compare with" in text(app)


async def test_an_attempt_that_has_not_ended_says_so():
    async with dashboard(log_of(), "r4k9tz") as (app, pilot):
        await open_contrast(pilot, "j", "l")
        assert "This attempt has not ended yet." in text(app)


async def test_on_a_narrow_screen_they_stand_one_above_the_other():
    async with dashboard(log_of(), "r4k9tz", size=(60, 40)) as (app, pilot):
        await open_contrast(pilot)
        shown = lines(app)
        one = next(y for y, line in enumerate(shown) if "389" in line)
        assert any("17 x 23 = 391" in line for line in shown[one + 1 :])
        assert all(len(line) <= 60 for line in shown)


async def test_nothing_hostile_is_drawn_and_columns_hold():
    log = hostile_log()
    log.attempt_rows = [attempt_row(0, 1, "fail", reason=PAYLOAD), attempt_row(0, 2, reason=PAYLOAD)]
    log.bodies[0, 2] = transcript("e\u0301" * 50 + "日本語 👩‍👩‍👧 " * 20)
    async with dashboard(log, "r4k9tz", size=(120, 50)) as (app, pilot):
        await open_contrast(pilot)
        assert r"\x1b]52" in text(app)
        assert all(ord(character) not in {0x1B, 0x9B, 0x202E, 0x2066, 0x200B, 0, 7} for character in text(app))


def test_wrapped_spans_keep_every_character_that_is_no_break():
    spans = (Span("the same words ", False), Span("other\n\nwords of some length", True), Span(" end", False))
    rows = wrapped(spans, 12, True)
    assert "".join("".join(text for _, text in row[1:]) for row in rows).replace(" ", "") == "".join(
        span.text for span in spans
    ).replace(" ", "").replace("\n", "")
    assert all(sum(len(text) for _, text in row) <= 14 for row in rows)
    assert {text.strip() for row in rows for look, text in row if look == "changed"} >= {"other"}
