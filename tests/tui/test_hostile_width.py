"""Nothing that the dashboard itself draws has a width that depends on the terminal."""

import unicodedata

from rollgrid_tui.screens.baselines import BaselinesScreen
from rollgrid_tui.screens.diff import DiffScreen
from rollgrid_tui.screens.help import HelpScreen
from rollgrid_tui.screens.review import ReviewScreen
from support.dash import dashboard, lines, settle
from support.fake_log import FakeLog, attempt_row, run_row, task_row, transcript
from support.results import result, task_result


def ambiguous(text):
    return {character for character in text if unicodedata.east_asian_width(character) not in {"N", "Na"}}


async def test_every_screen_is_drawn_with_characters_of_one_width(tmp_path):
    outcomes = ["pass", "fail", "partial", "error", "timeout", "cancelled", "running", "retrying", "superseded"]
    rows = [attempt_row(task, n, outcome) for task in range(3) for n, outcome in enumerate(outcomes, start=1)]
    bodies = {(task, n): transcript() for task in range(3) for n in (1, 2, 3)}
    run = run_row(k=9, state="paused", storm="HTTP 500", model_kind="simulated")
    result(
        task_result("task-1", "++--"), env_fingerprint="v1:aa", about={"model": "m", "model_kind": "simulated"}
    ).save(tmp_path / "a.json")
    log = FakeLog([run], [task_row(n, k=9) for n in range(3)], rows, bodies)
    seen = set()
    async with dashboard(log, "r4k9tz", size=(150, 40), project=tmp_path) as (app, pilot):
        for keys in ("s", "p", "p", "a", "tab", "escape", "escape", "n", "enter", "c", "n", "escape", "escape", "b",
                     "enter", "tab", "escape", "escape", "escape", "R", "escape", "question_mark", "G", "escape",
                     "colon", "escape", "escape"):  # fmt: skip
            await pilot.press(keys)
            await settle(pilot)
            seen.add(type(app.screen))
            for line in lines(app):
                assert not ambiguous(line), f"{ambiguous(line)} on {app.screen} after {keys}: {line!r}"
    assert {BaselinesScreen, DiffScreen, HelpScreen, ReviewScreen} <= seen


async def test_with_ascii_every_screen_is_ascii():
    rows = [attempt_row(0, n, outcome) for n, outcome in enumerate(("pass", "fail", "error", "running"), start=1)]
    log = FakeLog([run_row(storm="x")], [task_row(0)], rows, {(0, 1): transcript(), (0, 2): transcript()})
    async with dashboard(log, "r4k9tz", size=(120, 30), ascii=True) as (app, pilot):
        for key in ("right", "a", "escape", "enter", "c", "escape", "escape", "R", "escape", "question_mark", "escape"):
            await pilot.press(key)
            await settle(pilot)
            assert "\n".join(lines(app)).isascii(), f"{app.screen} after {key}"
