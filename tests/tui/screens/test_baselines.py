"""The baselines screen, the diff panes, and what is shown when two runs cannot be compared."""

import pytest

from rollgrid_tui.screens.baselines import BaselinesScreen
from rollgrid_tui.screens.diff import DiffScreen
from rollgrid_tui.screens.mismatch import MismatchScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.widgets.side_by_side import SideBySideView
from support.dash import dashboard, settle, text
from support.dash_child import PAYLOAD
from support.fake_log import FakeLog, attempt_row, run_row, task_row, transcript
from support.results import attempt, result, run_output, task_result

SAME = "v1:aa"


def passes(answer):
    return attempt("+", run_output(answer, prompt="What is 17 x 23?"))


def baseline(**fields):
    tasks = (
        task_result("task-1", [passes("17 x 23 = 391"), *"+++++++"]),
        task_result("task-2", "++++----"),
        task_result("gone", "++"),
    )
    return result(*tasks, **({"env_fingerprint": SAME, "about": {"model": "gpt-old"}} | fields))


def log_of(**run):
    rows = [attempt_row(0, n, "fail") for n in range(1, 9)] + [attempt_row(1, n) for n in range(1, 9)]
    return FakeLog([run_row(k=8, **run)], [task_row(i) for i in range(3)], rows, {(0, 1): transcript()})


@pytest.fixture
def project(tmp_path):
    (tmp_path / "baselines").mkdir()
    baseline().save(tmp_path / "baselines" / "good.json")
    return tmp_path


async def open_diff(pilot):
    await pilot.press("b")
    await settle(pilot)
    await pilot.press("enter")
    await settle(pilot)
    await settle(pilot)


async def test_b_lists_the_baselines_with_whether_they_match_the_run(project):
    baseline(env_fingerprint="v1:other", env_name="other").save(project / "other.json")
    async with dashboard(log_of(), "r4k9tz", size=(140, 24), project=project) as (app, pilot):
        await pilot.press("b")
        await settle(pilot)
        assert isinstance(app.screen, BaselinesScreen)
        rows = {line.split()[0]: line for line in text(app).splitlines() if ".json" in line}
        assert rows["baselines/good.json"].split()[-1] == "same"
        assert rows["other.json"].split()[-1] == "differs"
        for part in ("arithmetic", "gpt-old", "78%", "18"):
            assert part in rows["baselines/good.json"]
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)


async def test_no_baseline_says_how_to_make_one(tmp_path):
    async with dashboard(log_of(), "r4k9tz", project=tmp_path) as (app, pilot):
        await pilot.press("b")
        await settle(pilot)
        assert "rollgrid baseline save r4k9tz baselines/NAME.json" in text(app)
        await pilot.press("enter", "j", "R")
        await settle(pilot)
        assert isinstance(app.screen, BaselinesScreen)


async def test_without_a_run_there_is_nothing_to_compare_with(project):
    async with dashboard(log_of(), size=(120, 24), project=project) as (app, pilot):
        await pilot.press("b")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert "open a run first" in text(app)


async def test_the_diff_shows_tasks_by_regression_with_verdicts(project):
    async with dashboard(log_of(), "r4k9tz", size=(160, 30), project=project) as (app, pilot):
        await open_diff(pilot)
        assert isinstance(app.screen, DiffScreen)
        assert [line.id for line in app.screen.lines] == ["task-1", "task-2", "task-3", "gone"]
        shown = text(app)
        for part in ("8/8", "0/8", "-100", "regressed", "+50", "75% -> 50%", "2 tasks on both sides", "only baseline"):
            assert part in shown


async def test_the_right_pane_shows_one_that_passed_beside_one_that_fails_now(project):
    async with dashboard(log_of(), "r4k9tz", size=(200, 40), project=project) as (app, pilot):
        await open_diff(pilot)
        view = app.screen.query_one(SideBySideView)
        assert view.names == ("baseline 1, passed", "current 1, failed")
        assert "17 x 23 = 391" in text(app)
        assert "17 x 23 = 389" in text(app)
        await pilot.press("right_square_bracket")
        await settle(pilot)
        assert view.names == ("baseline 2, passed", "current 2, failed")
        await pilot.press("right_curly_bracket", "o", "right_square_bracket")
        await settle(pilot)
        assert view.names == ("baseline 2, passed", "current 2, passed")
        assert "by number" in text(app)


async def test_tab_goes_between_the_panes_on_a_small_screen_too(project):
    async with dashboard(log_of(), "r4k9tz", size=(80, 24), project=project) as (app, pilot):
        await open_diff(pilot)
        assert "regressed" in text(app)
        await pilot.press("tab")
        await settle(pilot)
        assert "baseline 1, passed" in text(app)
        await pilot.press("n", "g", "j", "escape")
        await settle(pilot)
        assert isinstance(app.screen, DiffScreen)
        assert "regressed" in text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, BaselinesScreen)


async def test_new_results_of_a_live_run_are_compared(project, monkeypatch):
    monkeypatch.setattr("rollgrid_tui.screens.diff.LOOK_SECONDS", 0.01)
    log = log_of()
    async with dashboard(log, "r4k9tz", size=(160, 30), project=project) as (app, pilot):
        await open_diff(pilot)
        log.write(*(attempt_row(0, n) for n in range(1, 9)))
        for _ in range(50):
            await settle(pilot)
            if "75% -> 100%" in text(app):
                break
        assert "75% -> 100%" in text(app)


def grid_row(app, task):
    return next(line.split() for line in text(app).splitlines() if line.split()[:1] == [task])


async def test_space_shows_the_differences_in_the_grid_live_and_takes_them_away(project):
    log = log_of()
    async with dashboard(log, "r4k9tz", size=(90, 24), project=project) as (app, pilot):
        assert "delta" not in text(app)
        await pilot.press("b")
        await settle(pilot)
        await pilot.press("space")
        await settle(pilot)
        assert "the grid shows the differences to baselines/good.json" in text(app)
        assert "* baselines/good.json" in text(app).replace("*  ", "* ")
        await pilot.press("escape")
        await settle(pilot)
        assert "-100" in grid_row(app, "task-1")
        assert "+50" in grid_row(app, "task-2")
        log.write(*(attempt_row(0, n) for n in range(1, 5)))
        await settle(pilot)
        assert "-50" in grid_row(app, "task-1")
        await pilot.press("s", "s", "s")
        await settle(pilot)
        assert "by delta" in text(app)
        await pilot.press("b")
        await settle(pilot)
        await pilot.press("space", "escape")
        await settle(pilot)
        assert " delta " not in text(app).partition("task-1")[0]


async def test_a_baseline_of_another_environment_is_not_set_and_says_why(project):
    baseline(env_fingerprint="v1:x").save(project / "baselines" / "good.json")
    async with dashboard(log_of(), "r4k9tz", size=(120, 24), project=project) as (app, pilot):
        await pilot.press("b")
        await settle(pilot)
        await pilot.press("B")
        await settle(pilot)
        assert "it comes from another environment" in text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert "delta" not in text(app)


async def test_a_baseline_named_at_the_start_shows_once_the_run_is_read(project):
    file = project / "baselines" / "good.json"
    async with dashboard(log_of(), "r4k9tz", size=(90, 24), project=project, baseline=file) as (app, pilot):
        for _ in range(50):
            await settle(pilot)
            if "delta" in text(app):
                break
        assert "-100" in grid_row(app, "task-1")


async def test_a_baseline_named_at_the_start_that_does_not_fit_says_so(project):
    file = project / "none.json"
    async with dashboard(log_of(), "r4k9tz", size=(120, 24), project=project, baseline=file) as (app, pilot):
        for _ in range(50):
            await settle(pilot)
            if "no differences are shown" in text(app):
                break
        assert "no differences are shown: " in text(app)


async def test_a_mismatch_is_explained_part_by_part_and_offers_the_prompts(project):
    tasks = {"tasks": "t1", "scorer": "s1", "prompt": "p1"}
    baseline(env_fingerprint="v1:x", fingerprint_parts=tasks).save(project / "baselines" / "good.json")
    current = baseline(env_fingerprint=SAME, fingerprint_parts=tasks | {"prompt": "p2"})
    async with dashboard(log_of(), "r4k9tz", size=(120, 40), project=project) as (app, pilot):
        app.load_run = lambda log, run_id: current
        await open_diff(pilot)
        assert isinstance(app.screen, MismatchScreen)
        shown = text(app)
        assert "differs   prompt" in shown
        assert "same      scorer" in shown
        assert "unknown   tools" in shown
        await pilot.press("p")
        await settle(pilot)
        shown = text(app)
        assert "no judgement of better or worse" in shown
        assert "improved" not in shown
        assert "regressed" not in shown
        await pilot.press("e")
        await settle(pilot)
        assert "part by part" in text(app)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, BaselinesScreen)


async def test_a_file_that_is_gone_or_broken_is_one_line(project):
    (project / "bad.json").write_text('{"format_version": 1, "task_results"')
    async with dashboard(log_of(), "r4k9tz", size=(120, 24), project=project) as (app, pilot):
        await pilot.press("b")
        await settle(pilot)
        await pilot.press("G")
        await settle(pilot)
        assert "the file is cut off at line 1" in text(app)
        (project / "baselines" / "good.json").unlink()
        await pilot.press("g", "enter")
        await settle(pilot)
        assert "No such file" in text(app)
        assert isinstance(app.screen, BaselinesScreen)


async def test_nothing_hostile_of_a_baseline_is_drawn(tmp_path):
    bad = PAYLOAD.replace("\ud800", "")
    hostile = attempt("-", run_output(bad, prompt=bad, system=bad))
    made = result(
        task_result("task-1", [hostile]),
        task_result(bad, [hostile]),
        env_name=bad,
        env_fingerprint=SAME,
        about={"model": bad},
    )
    made.save(tmp_path / "evil\u202e\x1b[2J.json")
    log = log_of()
    log.bodies[0, 1] = transcript(PAYLOAD)
    async with dashboard(log, "r4k9tz", size=(160, 40), project=tmp_path) as (app, pilot):
        await pilot.press("b")
        await settle(pilot)
        seen = text(app)
        assert r"\u202e" in seen
        await pilot.press("enter")
        await settle(pilot)
        await settle(pilot)
        seen += text(app)
        assert isinstance(app.screen, DiffScreen)
        await pilot.press("escape")
        await settle(pilot)
        log.write(run=run_row(k=8, env_fingerprint="v1:other"))
        app.load_run = lambda log, run_id: made
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        seen += text(app)
        assert r"\x1b]52" in seen
        assert all(ord(character) not in {0x1B, 0x9B, 0x202E, 0x2066, 0x200B, 0, 7} for character in seen)
