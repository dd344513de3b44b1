"""The door to the dashboard, on a real log in a real terminal; and pictures of it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rollgrid.store.codec import encode
from rollgrid.store.writer import LogWriter
from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.keymap import Keymap
from rollgrid_tui.picture import main as make_picture
from support.dash import make_feed, settle
from support.fake_log import FakeLog, FakeReader, run_row, transcript
from support.log_events import RUN, created, ended, session, started
from support.terminal import Terminal

SHOW = """
import json, sys
from pathlib import Path
from rollgrid_tui.app import run_dashboard
left = run_dashboard(Path(sys.argv[1]), run_id=sys.argv[2] or None)
print("LEFT", json.dumps([left.run_id, left.run_state, left.alive]))
"""


async def write_log(path: Path) -> None:
    async with LogWriter.open_cm(path) as writer:
        writer.append(created(n_tasks=2, k=2))
        writer.append(session())
        writer.append(started(0, 1))
        writer.append(ended(0, 1), encode(transcript("the answer is here")))
        writer.append(started(1, 1))
        writer.append(ended(1, 1, passed=False, reason="it was not there"), encode(transcript()))


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.db"
    asyncio.run(write_log(path))
    return path


def left(terminal: Terminal) -> list[object]:
    line = terminal.output.decode().partition("LEFT ")[2].splitlines()[0]
    return json.loads(line)


def test_the_dashboard_shows_a_real_log_and_tells_what_was_shown_when_it_is_left(log):
    with Terminal("-c", SHOW, str(log), RUN) as terminal:
        terminal.wait_for("arithmetic")
        terminal.wait_for("✓")
        terminal.press("\r")
        terminal.wait_for("the answer is here")
        terminal.press("q")
        assert terminal.wait() == 0
        assert left(terminal) == [RUN, "dead", False]


def test_without_a_log_it_waits_for_one(tmp_path):
    path = tmp_path / "log.db"
    with Terminal("-c", SHOW, str(path), "") as terminal:
        terminal.wait_for("rollgrid demo")
        asyncio.run(write_log(path))
        terminal.wait_for("arithmetic")
        terminal.press("q")
        assert terminal.wait() == 0
        assert left(terminal) == [None, None, False]


def test_the_ascii_flag_and_settings_reach_the_screen(log, tmp_path):
    (tmp_path / "rollgrid.toml").write_text('[dashboard]\nascii = true\ntheme = "light"\n')
    code = f"import os; os.chdir({str(tmp_path)!r})\n{SHOW}"
    with Terminal("-c", code, str(log), RUN) as terminal:
        terminal.wait_for("arithmetic")
        terminal.settle(0.5)
        assert terminal.output.isascii()
        assert b"48;2;251;250;247" in terminal.output


def test_wrong_settings_are_one_line_before_anything_is_drawn(log, tmp_path):
    (tmp_path / "rollgrid.toml").write_text('[dashboard]\ntheme = "pink"\n')
    code = f"import os; os.chdir({str(tmp_path)!r})\n{SHOW}"
    with Terminal("-c", code, str(log), RUN) as terminal:
        assert terminal.wait() == 1
        assert b"\x1b[?1049h" not in terminal.output
        assert b"there is no dashboard theme 'pink'" in terminal.output


def test_the_door_itself_does_not_import_textual():
    code = "import sys, rollgrid_tui.app; print([name for name in sys.modules if name.startswith(('textual', 'rich'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_picture_is_the_screen_itself(log, tmp_path):
    out = tmp_path / "grid.svg"
    arguments = [str(log), "last", str(out), "--columns", "100", "--rows", "20", "--press", "l"]
    assert make_picture(arguments) == 0
    svg = out.read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    for word in ("arithmetic", "t1", "✓"):
        assert word in svg


async def test_the_log_is_closed_before_the_dashboard_ends(monkeypatch):
    log, close = FakeLog([run_row()]), FakeReader.aclose

    async def slowly(reader):
        await asyncio.sleep(0.1)
        await close(reader)

    monkeypatch.setattr(FakeReader, "aclose", slowly)
    async with Dashboard(make_feed(log), keymap=Keymap()).run_test() as pilot:
        await settle(pilot)
        assert log.open_readers == 1
    assert log.open_readers == 0
