"""Pictures of whole screens, compared with what they looked like when somebody last looked at them.

Renew them with `pytest tests/tui/snapshots --snapshot-update` on the versions named below, and look at each.
"""

import sys
from importlib.metadata import version

import pytest

from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.keymap import Keymap
from support.dash import make_feed, settle
from support.fake_log import NOW, FakeLog, attempt_row, review_row, run_row, task_row, transcript
from support.past import drift
from support.results import attempt, result, run_output, task_result

BASELINE = ((3, 11), "8.2.8")

pytestmark = pytest.mark.skipif(
    (sys.version_info[:2], version("textual")) != BASELINE,
    reason="snapshots are compared on Python 3.11 with textual 8.2.8 only; elsewhere they differ in trifles",
)

TASKS = ["sum-two-digits", "capital-of-france", "reverse-a-string", "date-arithmetic", "日本語の要約", "sql-group-by"]
OUTCOMES = [
    "pass pass fail pass pass partial running pending",
    "pass pass pass pass pass pass pass pass",
    "fail fail partial fail fail fail retrying pending",
    "pass error pass timeout fail pass running pending",
    "fail pass fail pass cancelled pass pass pending",
    "superseded superseded pending pending pending pending pending pending",
]


def live_log(**run) -> FakeLog:
    rows = [
        attempt_row(task, n, outcome, ended_at=NOW - 60 + n * 5)
        if outcome not in {"running", "retrying"}
        else attempt_row(task, n, outcome)
        for task, outcomes in enumerate(OUTCOMES)
        for n, outcome in enumerate(outcomes.split(), 1)
        if outcome != "pending"
    ]
    tasks = [task_row(i, id, split="train" if i % 2 else "validation") for i, id in enumerate(TASKS)]
    right = {"value": 1.0, "passed": True, "reason": None, "detail": None}
    bodies = {
        (row.task, row.attempt): transcript("17 x 23 = 391", score=right) if row.passed else transcript()
        for row in rows
    }
    return FakeLog([run_row(k=8, n_tasks=6, concurrency=8, **run)], tasks, rows, bodies)


def runs_log() -> FakeLog:
    done = {"n_ended": 48, "n_scored": 46, "cost": 0.21, "alive": False}
    return FakeLog(
        [
            run_row("k4t9zr", n_ended=20, n_scored=19, n_passed=11, n_tasks=6, k=8),
            run_row("b7mxq2", state="finished", n_passed=40, created_at=NOW - 4000, **done),
            run_row(
                "d3wzkp", state="stopped", stopped_early="error-storm", n_passed=2, created_at=NOW - 90_000, **done
            ),
            run_row("p9qrtx", n_passed=20, created_at=NOW - 200_000, **done),
            run_row(
                "w2vvnm", state="finished", model="simulated/steady", model_kind="simulated", n_passed=30, **done
            )._replace(created_at=NOW - 300_000),
        ]
    )


def storm_log() -> FakeLog:
    log = live_log(storm="AuthenticationError 401: Incorrect API key provided", state="paused")
    signature = "AuthenticationError 401: Incorrect API key provided"
    text = "HTTP 401: Incorrect API key provided: sk-...x7. You can find your API key in your account."
    log.write(
        *(
            attempt_row(task, 7, "error", status=401, error=text, error_signature=signature)._replace(
                ended_at=NOW + task
            )
            for task in range(5)
        ),
        attempt_row(5, 3, "error", status=429, error="HTTP 429: slow down", error_signature="RateLimitError 429"),
    )
    return log


def reviewed_log() -> FakeLog:
    """Two people reviewed it, and do not always agree."""
    log = live_log()
    log.review_rows = [
        review_row(0, 3, verdict="agree", passed=False, author="ada", seq=1),
        review_row(0, 6, verdict="disagree", passed=True, author="bea", seq=2, label="rounding", note="391 is in it."),
        review_row(1, 1, verdict="agree", passed=True, author="bea", seq=3, blind=True),
        review_row(1, 2, verdict="agree", passed=True, author="bea", seq=4),
        review_row(2, 1, verdict="disagree", passed=True, author="ada", seq=5),
        review_row(2, 1, verdict="agree", passed=False, author="bea", seq=6),
        review_row(4, 1, passed=None, author="bea", seq=7, label="translation"),
    ]
    return log


SCREENS = {
    "review_80x24": (reviewed_log(), "r4k9tz", (80, 24), ("l", "l", "l", "l", "l", "R"), {}),
    "review_200x50": (reviewed_log(), "r4k9tz", (200, 50), ("l", "l", "l", "l", "l", "R"), {"theme_name": "light"}),
    "review_80x24_blind": (reviewed_log(), "r4k9tz", (80, 24), ("R", "B"), {}),
    "review_80x24_label": (reviewed_log(), "r4k9tz", (80, 24), ("R", "l", "t"), {}),
    "review_80x24_ascii": (
        reviewed_log(),
        "r4k9tz",
        (80, 24),
        ("R", "v"),
        {"ascii": True, "theme_name": "terminal"},
    ),
    "review_empty_80x24": (runs_log(), "k4t9zr", (80, 24), ("R",), {}),
    "run_reviewed_80x24": (reviewed_log(), "r4k9tz", (80, 24), (), {}),
    "baselines_80x24": (live_log(), "r4k9tz", (80, 24), ("b",), {}),
    "baselines_200x50": (live_log(), "r4k9tz", (200, 50), ("b", "j"), {"theme_name": "light"}),
    "diff_80x24": (live_log(), "r4k9tz", (80, 24), ("b", "settle", "enter"), {}),
    "diff_80x24_attempts": (live_log(), "r4k9tz", (80, 24), ("b", "settle", "enter", "settle", "tab"), {}),
    "diff_200x50": (live_log(), "r4k9tz", (200, 50), ("b", "settle", "enter", "settle", "j"), {"theme_name": "light"}),
    "contrast_80x24": (live_log(), "r4k9tz", (80, 24), ("n", "enter", "c"), {}),
    "contrast_200x50": (live_log(), "r4k9tz", (200, 50), ("n", "enter", "c"), {"theme_name": "light"}),
    "alerts_80x24": (storm_log(), "r4k9tz", (80, 24), ("a",), {}),
    "alerts_200x50": (storm_log(), "r4k9tz", (200, 50), ("a", "j"), {"theme_name": "light"}),
    "alerts_empty_80x24": (runs_log(), "k4t9zr", (80, 24), ("a",), {}),
    "run_80x24": (live_log(), "r4k9tz", (80, 24), (), {}),
    "run_120x36": (live_log(), "r4k9tz", (120, 36), ("l", "l"), {}),
    "run_200x60_light": (live_log(), "r4k9tz", (200, 60), ("l", "l"), {"theme_name": "light"}),
    "run_80x24_ascii_terminal_colours": (
        live_log(),
        "r4k9tz",
        (80, 24),
        ("j",),
        {"ascii": True, "theme_name": "terminal"},
    ),
    "run_80x24_pane": (live_log(), "r4k9tz", (80, 24), ("n", "p"), {}),
    "run_storm": (
        live_log(storm="AuthenticationError 401: Incorrect API key provided", state="paused"),
        "r4k9tz",
        (120, 24),
        (),
        {},
    ),
    "run_simulated": (live_log(model_kind="simulated", model="simulated/steady"), "r4k9tz", (80, 24), (), {}),
    "attempt_100x40": (live_log(), "r4k9tz", (100, 40), ("n", "enter"), {}),
    "runs_120x24": (runs_log(), None, (120, 24), ("j",), {}),
    "history_80x24": (runs_log(), None, (80, 24), ("H", "settle", "j"), {}),
    "history_80x24_ascii_runs": (runs_log(), None, (80, 24), ("H", "settle", "j", "tab"), {"ascii": True}),
    "history_200x50": (runs_log(), None, (200, 50), ("H", "settle"), {"theme_name": "light"}),
    "runs_empty_80x24": (FakeLog(), None, (80, 24), (), {}),
    "help_80x24": (live_log(), "r4k9tz", (80, 24), ("question_mark",), {}),
    "palette_80x24": (live_log(), "r4k9tz", (80, 24), ("colon",), {}),
}


def save_baselines(folder) -> None:
    """One that matches the run, and one that does not."""
    answer = run_output("17 x 23 = 391", prompt="What is 17 x 23?", system="You are a careful calculator.")
    tasks = [
        task_result(TASKS[0], [attempt("+", answer) for _ in range(8)]),
        task_result(TASKS[1], "++++++++"),
        task_result(TASKS[2], "++++++++"),
        task_result(TASKS[3], "++--!!++"),
        task_result("no-longer-there", "++++"),
    ]
    facts = {"about": {"model": "gpt-5.4", "created_at": NOW}, "env_name": "quickstart"}
    result(*tasks, env_fingerprint="v1:aa", **facts).save(folder / "main.json")
    result(*tasks, env_fingerprint="v1:bb", fingerprint_parts={"prompt": "p"}, **facts).save(folder / "old-prompt.json")


async def load_drift(path, env_name):
    return drift(env_name)


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_looks_as_it_did(snap_compare, name, monkeypatch, tmp_path):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("rollgrid_tui.screens.baselines.date", lambda at: "2023-11-14")
    save_baselines(tmp_path)
    log, run_id, size, keys, options = SCREENS[name]

    async def drive(pilot):
        await settle(pilot)
        for key in keys:
            await (settle(pilot) if key == "settle" else pilot.press(key))
        await settle(pilot)
        await settle(pilot)
        await pilot.pause(0.3)

    feed = make_feed(log)
    feed.shown_path = "~/project/.rollgrid/log.db"
    app = Dashboard(feed, keymap=Keymap(), run_id=run_id, project=tmp_path, **options)
    app.load_history = load_drift
    # Days begin elsewhere at other times.
    monkeypatch.setattr("rollgrid_tui.state.history_view.when", lambda at: "11-14 12:00")
    monkeypatch.setattr("rollgrid_tui.state.review_book.when", lambda at: "2023-11-14 12:00")
    # The folder of a test has another name each time.
    monkeypatch.setattr("rollgrid_tui.screens.baselines.shown_folder", lambda path: "~/project")
    assert snap_compare(app, terminal_size=size, run_before=drive)
