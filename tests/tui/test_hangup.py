"""What happens when the terminal is gone."""

import os
import pty
import threading

import pytest

from rollgrid_tui.hangup import HANGUP_EXIT, HangupWatch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")


def watch_of(slave, told, ended):
    return HangupWatch([slave], lambda: told.append("left"), end=lambda code: ended.set() or told.append(code), grace=0)


def test_a_hangup_asks_the_application_to_leave_and_ends_the_process_whatever_it_does():
    master, slave = pty.openpty()
    told, ended = [], threading.Event()
    watch = watch_of(slave, told, ended)
    watch.start()
    os.close(master)
    assert ended.wait(10)
    watch._thread.join(10)
    assert told == ["left", HANGUP_EXIT]
    watch.stop()
    os.close(slave)


def test_what_is_typed_and_a_stop_end_nothing():
    master, slave = pty.openpty()
    told, ended = [], threading.Event()
    watch = watch_of(slave, told, ended)
    watch.start()
    os.write(master, b"typed\n")
    watch.stop()
    watch._thread.join(10)
    assert not watch._thread.is_alive()
    assert told == []
    os.close(master)
    os.close(slave)


def test_an_application_that_cannot_leave_is_ended_all_the_same():
    master, slave = pty.openpty()
    ended = threading.Event()

    def leave():
        raise RuntimeError("the loop is closed")

    watch = HangupWatch([slave], leave, end=lambda code: ended.set(), grace=0)
    watch.start()
    os.close(master)
    assert ended.wait(10)
    watch._thread.join(10)
    watch.stop()
    os.close(slave)
