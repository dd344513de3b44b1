"""The dashboard in a real terminal: the bytes that it writes, and how it leaves."""

import os
import signal

import pytest

from support.dash_child import PAYLOAD
from support.terminal import Terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")

CHILD = ("-m", "support.dash_child")
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l")
"""Main screen, cursor, no mouse reports, no bracketed paste."""


def test_an_idle_screen_writes_nothing():
    with Terminal(*CHILD, "finished") as terminal:
        terminal.wait_for("finished")
        terminal.settle()
        assert terminal.read(3) == b""
        terminal.press("\r")
        terminal.wait_for("careful")
        terminal.settle()
        assert terminal.read(2) == b""
        terminal.press("\x1b\x1b")
        terminal.wait_for("run 1 of 1")
        terminal.settle()
        assert terminal.read(2) == b""


def test_an_empty_log_and_an_open_filter_are_idle_too():
    with Terminal(*CHILD, "empty") as terminal:
        terminal.wait_for("rollgrid demo")
        terminal.settle()
        assert terminal.read(2) == b""
    with Terminal(*CHILD, "finished") as terminal:
        terminal.wait_for("finished")
        terminal.press("/task")
        terminal.settle()
        assert terminal.read(2) == b""


def test_nothing_hostile_reaches_the_terminal_from_any_field():
    with Terminal(*CHILD, "hostile", columns=160, rows=50) as terminal:
        terminal.wait_for("STORM")
        terminal.settle(0.6)
        for keys in ("l", "l", "\r", "G", "h", "g", "\x1b", "h", "\r", "G", "\x1b", "\x1b", "?", "\x1b", "/x[", "\x1b"):
            terminal.press(keys)
            terminal.settle(0.4)
        # On a change of screen textual asks for the default mouse pointer, in a sequence that ends in BEL.
        output = terminal.output.replace(b"\x1b]22;default\x07", b"")
        assert rb"\x1b]52;c;ZXZpbA==\x07" in output
        for payload in (b"\x1b]52", b"\x1b]0;", b"\x1b[6n", b"\x07", b"\x00", b"\xc2\x9b"):
            assert payload not in output, payload
        for character in PAYLOAD:
            if ord(character) > 0x7F and not 0xD800 <= ord(character) <= 0xDFFF:
                assert character.encode() not in output, hex(ord(character))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order_with_the_terminal_as_it_was(number):
    with Terminal(*CHILD, "running") as terminal:
        terminal.wait_for("running")
        terminal.signal(number)
        assert terminal.wait() == 0
        for mode in RESTORED:
            assert mode in terminal.output[-400:]
        assert terminal.attributes() == terminal.before


def test_q_leaves_the_terminal_as_it_was():
    with Terminal(*CHILD, "running") as terminal:
        terminal.wait_for("running")
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.attributes() == terminal.before
        for mode in RESTORED:
            assert mode in terminal.output[-400:]


def test_a_lost_connection_ends_it():
    with Terminal(*CHILD, "running") as terminal:
        terminal.wait_for("running")
        terminal.hang_up()
        terminal.signal(signal.SIGHUP)
        terminal.process.wait(20)


def test_a_terminal_that_is_gone_ends_it_without_any_signal():
    with Terminal(*CHILD, "running") as terminal:
        terminal.wait_for("running")
        terminal.hang_up()
        terminal.process.wait(20)


def test_a_terminal_that_is_gone_ends_it_though_hangups_are_ignored():
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from support.dash_child import main as m; m('{}')"
    )
    with Terminal("-c", code.format("running")) as terminal:
        terminal.wait_for("running")
        terminal.hang_up()
        terminal.process.wait(20)


def test_no_color_writes_no_colour():
    with Terminal(*CHILD, "finished", NO_COLOR="1") as terminal:
        terminal.wait_for("finished")
        terminal.settle()
        assert b"\x1b[38;" not in terminal.output
        assert b"\x1b[48;" not in terminal.output
        for colour in range(30, 38):
            assert f"\x1b[{colour}m".encode() not in terminal.output


def test_the_linux_console_gets_ascii_in_its_own_colours():
    with Terminal(*CHILD, "finished", TERM="linux", COLORTERM="") as terminal:
        terminal.wait_for("finished")
        terminal.settle()
        assert terminal.output.isascii()
        assert b"\x1b[38;2;" not in terminal.output


def test_ctrl_l_draws_all_of_it_anew_and_a_resize_leaves_nothing_behind():
    with Terminal(*CHILD, "finished", columns=120, rows=36) as terminal:
        terminal.wait_for("tool result")
        terminal.settle(0.6)
        shown = terminal.screen()
        terminal.resize(120, 36)  # Forgets what was drawn: an emulator that saw nothing of it yet.
        terminal.press("\x0c")
        terminal.settle(0.6)
        assert terminal.screen() == shown
        terminal.resize(80, 24)
        terminal.settle(0.6)
        small = terminal.screen()
        assert "task-3" in small
        terminal.press("\x0c")
        terminal.settle(0.6)
        assert terminal.screen() == small
