"""`rollgrid history`: an environment over its runs."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rollgrid.store.events import AttemptRescored, Event, ScoringEnded, ScoringStarted
from rollgrid.store.writer import LogWriter
from rollgrid_tui.cli import root
from rollgrid_tui.cli.common import Settings
from support.log_events import created, ended


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten runs of two tasks, of which the first breaks with the sixth run."""
    for name in [name for name in os.environ if name.startswith("ROLLGRID_")]:
        monkeypatch.delenv(name)
    (tmp_path / "rollgrid.toml").touch()
    monkeypatch.chdir(tmp_path)
    events: list[Event] = []
    for run in range(10):
        events.append(created(f"run{run:03}", k=8))
        for task in (0, 1):
            for attempt in range(1, 9):
                passed = task == 1 or run < 5 or attempt < 3
                events.append(ended(task, attempt, passed=passed, run_id=f"run{run:03}"))
    asyncio.run(_write(tmp_path / ".rollgrid" / "log.db", events))
    return tmp_path


async def _write(path: Path, events: list[Event]) -> None:
    async with LogWriter.open_cm(path) as writer:
        for event in events:
            writer.append(event)


def said(capsys: Any, *args: str, code: int = 0) -> str:
    capsys.readouterr()
    assert root.run_cli(args, Settings()) == code
    told = capsys.readouterr()
    return told.out if code == 0 else told.err


def test_drift_is_seen_overall_and_by_task(log, capsys):
    text = said(capsys, "history", "arithmetic", "--ascii")
    assert text.isascii()
    assert "changed overall: 100.0 % -> 62.5 %, -37.5 points from run run005 on" in text
    lines = text.splitlines()
    first = next(line for line in lines if line.startswith("t1 "))
    assert "99999>22222" in first
    assert "-75.0 from run005" in first
    assert "9999999999" in next(line for line in lines if line.startswith("t2 "))


def test_a_task_has_a_line_for_each_run(log, capsys):
    text = said(capsys, "history", "arithmetic", "--task", "t1", "--ascii")
    assert sum("run0" in line for line in text.splitlines() if "changed" not in line) == 10
    assert "changed: 100.0 % -> 25.0 %" in text
    assert "no change by more than chance in 10 comparable runs" in said(
        capsys, "history", "arithmetic", "--task", "t2"
    )


def test_programs_get_counts_intervals_and_changes(log, capsys):
    told = json.loads(said(capsys, "history", "arithmetic", "--json", "-n", "8"))
    assert [run["run_id"] for run in told["runs"]] == [f"run{n:03}" for n in range(2, 10)]
    assert [change["run_id"] for change in told["changes"]] == ["run005"]
    (only,) = json.loads(said(capsys, "history", "arithmetic", "--json", "--task", "t2"))["tasks"]
    assert only["changes"] == []


def test_runs_can_be_seen_with_their_latest_scoring(log, capsys):
    place = {"run_id": "run009", "at": 1.0, "scoring": "s"}
    start = {"scorer": "CodeScorer(f)", "digest": "d", "env_fingerprint": "env-2", "author": "a", "host": "h"}
    events: list[Event] = []
    events.append(ScoringStarted(**place, **start))
    for task in (0, 1):
        for attempt in range(1, 9):
            where = {"task": task, "attempt": attempt, "take": 1, "duration_seconds": 0.0}
            events.append(AttemptRescored(**place, **where, passed=True, value=1.0))
    events.append(ScoringEnded(**place))
    asyncio.run(_write(log / ".rollgrid" / "log.db", events))
    own, later = (
        json.loads(said(capsys, "history", "arithmetic", "--json", *more))["runs"][-1] for more in ((), ("--rescored",))
    )
    assert (own["n_passed"], own["scoring"], own["series"]) == (10, 1, 0)
    assert (later["n_passed"], later["scoring"], later["series"]) == (16, 2, 1)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("nothing",), "no run of an environment 'nothing'"),
        (("arithmetic", "--task", "t9"), "no run of arithmetic has a task 't9'. There are t1, t2."),
        (("arithmetic", "--log", "none.db"), "there is no log at"),
    ],
)
def test_what_is_not_there_is_one_line(log, capsys, args, told):
    text = said(capsys, "history", *args, code=2)
    assert told in text
    assert text.count("\n") == 1
