"""The pictures in the documentation are taken by the dashboard, of what it shows."""

import importlib.util
from pathlib import Path

import pytest

from rollgrid_tui.actions import BY_ID
from rollgrid_tui.picture import export_svg
from support.dash import make_feed
from support.fake_log import FakeLog, attempt_row, run_row, task_row, transcript

DOCS = Path(__file__).parents[2] / "docs"


def script():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_log():
    rows = [
        attempt_row(task, n, outcome) for task in range(3) for n, outcome in ((1, "pass"), (2, "fail"), (3, "error"))
    ]
    bodies = {(task, n): transcript() for task in range(3) for n in (1, 2)}
    return FakeLog([run_row(state="finished", alive=False)], [task_row(n) for n in range(3)], rows, bodies)


@pytest.mark.parametrize("picture", script().PICTURES, ids=lambda picture: picture.name)
async def test_every_picture_is_of_a_screen_with_something_on_it(picture):
    keys = [BY_ID[action].keys[0] for action in picture.actions]
    svg = await export_svg(make_feed(a_log()), "r4k9tz", size=(picture.columns, picture.rows), keys=keys)
    assert svg.startswith("<svg")
    words = {
        "live-grid": "attempt&#160;2&#160;of&#160;4",
        "attempt": "tool&#160;call",
        "contrast": "attempt&#160;2,&#160;failed",
        "alerts": "what&#160;to&#160;do",
        "diff": "baseline",
    }
    assert words[picture.name] in svg


def test_the_documentation_shows_every_picture_that_is_made():
    pages = "".join(page.read_text(encoding="utf-8") for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"])
    for picture in script().PICTURES:
        assert (DOCS / f"{picture.name}.svg").is_file()
        assert f"{picture.name}.svg" in pages
