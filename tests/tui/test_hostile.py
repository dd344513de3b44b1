"""Text that attacks the terminal, in every field of a real log and of baseline files, on every screen."""

import importlib
import os
import pkgutil
import re
from pathlib import Path

import pytest
from textual import events
from textual.screen import Screen

from rollgrid.store.commands import post_command
from rollgrid.store.reader import LogReader
from rollgrid_tui import screens
from rollgrid_tui.actions import BY_ID
from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.feed import Feed
from rollgrid_tui.keymap import Keymap
from support.dash import lines, settle
from support.hostile import PAYLOAD, PAYLOADS, RUN, forbidden, write_project
from support.terminal import Terminal

JOURNEY = (
    *("runs.open", "grid.right", "grid.right", "grid.down", "run.pane", "run.pane", "run.sort", "run.filter", "paste"),
    *("escape", "run.retry", "control.alerts", "list.down", "alerts.switch_pane", "transcript.bottom", "escape"),
    *("alerts.retry", "list.open", "transcript.bottom", "attempt.take", "attempt.next_failure", "attempt.back"),
    *("alerts.back", "grid.first_attempt", "grid.open", "transcript.bottom", "attempt.contrast", "contrast.next"),
    *("contrast.back", "attempt.back", "app.baselines", "list.down", "list.down", "list.top", "baselines.set"),
    *("list.open", "list.down", "diff.switch_pane", "diff.next", "escape", "diff.back", "list.down", "list.open"),
    *("mismatch.parts", "transcript.bottom", "mismatch.prompts", "transcript.bottom", "mismatch.back"),
    *("baselines.back", "control.review", "list.down", "review.label", "paste", "enter", "review.note", "paste"),
    *("enter", "review.which", "review.filter", "paste", "escape", "review.blind", "review.back", "app.help"),
    *("transcript.bottom", "escape", "app.commands", "paste", "escape", "run.back"),
    *("runs.history", "list.down", "history.switch_pane", "list.down", "history.back", "history.back"),
)
"""What a person might do: names of actions, keys, and pasting."""


def screen_classes() -> set[type[Screen]]:
    """The screens that there are, without those that others are made of."""
    modules = [
        importlib.import_module(f"rollgrid_tui.screens.{one.name}") for one in pkgutil.iter_modules(screens.__path__)
    ]
    found = {
        one for module in modules for one in vars(module).values() if isinstance(one, type) and issubclass(one, Screen)
    }
    ours = {one for one in found if one.__module__.startswith("rollgrid_tui.")}
    return {one for one in ours if not any(other is not one and issubclass(other, one) for other in ours)}


def keys_of(step: str) -> str:
    return BY_ID[step].keys[0] if "." in step else step


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write_project(folder)
    return folder


async def test_no_screen_draws_a_character_that_acts_on_a_terminal(project):
    feed = Feed(project / "log.db", open_reader=LogReader.open, post_command=post_command, author=PAYLOAD, fps=50)
    app = Dashboard(feed, keymap=Keymap(), project=project)
    visited: set[type] = set()
    async with app.run_test(size=(160, 40)) as pilot:
        await settle(pilot)
        for step in JOURNEY:
            if step == "paste":
                app.post_message(events.Paste(PAYLOAD))
                await pilot.pause()
            else:
                await pilot.press(keys_of(step))
            await settle(pilot)
            visited.add(type(app.screen))
            for line in lines(app):
                assert not forbidden(line), f"{forbidden(line)} on {app.screen} after {step}: {line!r}"
    assert app.failure is None
    missed = {one.__name__ for one in screen_classes()} - {one.__name__ for one in visited}
    assert not missed, f"the journey leads past {missed}"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_no_payload_reaches_a_terminal_in_any_byte(project):
    sequences = {"escape": "\x1b", "enter": "\r", "up": "\x1b[A", "down": "\x1b[B", "tab": "\t", "space": " "}
    sequences |= {"left": "\x1b[D", "right": "\x1b[C", "home": "\x1b[H", "end": "\x1b[F", "slash": "/", "colon": ":"}
    sequences |= {"question_mark": "?", "f1": "\x1bOP", "pagedown": "\x1b[6~", "pageup": "\x1b[5~"}
    sequences |= {"paste": f"\x1b[200~{PAYLOADS['markup']}{PAYLOADS['bidi']}\x1b[201~"}
    with Terminal(
        *("-m", "rollgrid_tui", "watch", RUN, "--log", str(project / "log.db")), columns=80, rows=24, HOME=str(project)
    ) as terminal:
        terminal.wait_for("STORM")
        for step in JOURNEY:
            key = keys_of(step)
            assert key in sequences or len(key) == 1, f"no byte sequence for {key}"
            terminal.press(sequences.get(key, key))
            terminal.settle(0.12)
        output = terminal.output
        assert b"\x1b]52" not in output, "only copying may set the clipboard, and nothing was copied"
    # What textual itself writes: modes, queries of the terminal's abilities, the mouse pointer, and our own drawing.
    rest = re.sub(rb"\x1b\[[?>=<]?[0-9;:]*\$?[A-Za-z]|\x1b\]22;[a-z]+\x07|\x1b[=>]|\n", b"", output)
    assert b"\x1b" not in rest, rest[rest.index(b"\x1b") :][:80]
    assert not forbidden(rest.decode()), forbidden(rest.decode())
    assert b"\\x1b]52;c;ZXZpbA==\\x07" in rest, "the payload was there to see"
    for name in ("question", "screen"):
        assert PAYLOADS[name].encode() not in output.split(b"STORM", 1)[1], name


def test_the_payload_holds_all_that_is_promised():
    for character in "\x1b\x9b\x9d\u202e\u2066\u200b\x00\x07\ud800\t\r\n[":
        assert character in PAYLOAD
