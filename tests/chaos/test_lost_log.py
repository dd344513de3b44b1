"""A runner process whose log fails it, as the person at the terminal sees it."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollgrid.store import schema
from support.cli import Shell, assert_one_line, wait_for
from support.fire import can_mount, fill, small_disk
from support.log_events import query
from support.server import ServerProcess, server_process

pytestmark = pytest.mark.e2e

TASKS, K = 3, 4


@pytest.fixture
def api() -> Iterator[ServerProcess]:
    with server_process("p=1,lat=300") as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, api: ServerProcess) -> Iterator[Shell]:
    (tmp_path / "rollgrid.toml").touch()
    (tmp_path / "spare").mkdir()
    variables = {"OPENAI_BASE_URL": api.base_url, "OPENAI_API_KEY": "none", "TMPDIR": str(tmp_path / "spare")}
    opened = Shell(tmp_path, variables)
    opened.environment(tasks=TASKS)
    yield opened
    opened.clear_away()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if not can_mount():
        pytest.skip("only root may mount a small disk")
    try:
        with small_disk(tmp_path / ".rollgrid", 2 * 1024 * 1024):
            yield tmp_path / ".rollgrid"
    except PermissionError:
        pytest.skip("mounting is not allowed here")


def start(shell: Shell, err: Path) -> "subprocess.Popen[str]":
    with err.open("w") as file:
        child = subprocess.Popen(
            shell.command("run", "env.py", "-k", str(K), "-c", "2", "--headless"),
            cwd=shell.folder,
            env=shell.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            text=True,
        )
    shell.started.append(child)
    return child


def test_a_full_disk_costs_nothing_that_was_paid_for(shell: Shell, disk: Path, api: ServerProcess) -> None:
    err = shell.folder / "spare" / "err"
    child = start(shell, err)
    shell.wait_for_run(lambda run: run["n_ended"] >= 3)
    filler = fill(disk)
    wait_for(lambda: "nothing more is started until it can be" in err.read_text())
    child.send_signal(signal.SIGINT)
    wait_for(lambda: "waiting for it with" in err.read_text())
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 2
    said = err.read_text().splitlines()[-1]
    assert said.startswith("rollgrid: ")
    assert "lacks the end of this session with" in said
    (kept,) = (shell.folder / "spare").glob("*.rescue")
    assert str(kept) in said
    assert "Traceback" not in err.read_text()

    filler.unlink()
    shutil.move(kept, disk / kept.name)
    told = shell.json("resume", "last", "--headless", "--json")
    assert (told["state"], told["summary"]["n_scored"]) == ("finished", TASKS * K)
    assert api.stats()["kinds"] == {"ok": TASKS * K}, "every answer was paid for once"
    assert not list(disk.glob("*.rescue"))


def test_a_disk_that_gets_room_again_is_all_that_a_run_needs(shell: Shell, disk: Path, api: ServerProcess) -> None:
    err = shell.folder / "spare" / "err"
    child = start(shell, err)
    shell.wait_for_run(lambda run: run["n_ended"] >= 3)
    filler = fill(disk)
    wait_for(lambda: "nothing more is started until it can be" in err.read_text())
    filler.unlink()
    assert child.wait(60) == 0
    assert shell.runs()[0]["n_scored"] == TASKS * K
    assert api.stats()["kinds"] == {"ok": TASKS * K}


def test_a_log_that_is_deleted_under_a_run_is_there_again_with_everything(shell: Shell, api: ServerProcess) -> None:
    err = shell.folder / "spare" / "err"
    child = start(shell, err)
    shell.wait_for_run(lambda run: run["n_ended"] >= 3)
    shutil.rmtree(shell.folder / ".rollgrid")
    assert child.wait(60) == 0
    assert "has been written anew" in err.read_text()
    assert shell.runs()[0]["n_scored"] == TASKS * K
    assert api.stats()["kinds"] == {"ok": TASKS * K}


def test_a_stopped_runner_keeps_its_run(shell: Shell) -> None:
    """Ctrl-Z is no death: a second runner would pay for the same attempts."""
    child = start(shell, shell.folder / "spare" / "err")
    run = shell.wait_for_run(lambda run: run["n_ended"] >= 1)
    child.send_signal(signal.SIGSTOP)
    try:
        with contextlib.closing(sqlite3.connect(shell.log, isolation_level=None)) as log:
            assert log.execute("UPDATE lease SET heartbeat_at = heartbeat_at - 3600").rowcount == 1
        assert_one_line(shell.run("resume", "last", "--headless"), str(run["pid"]))
    finally:
        os.kill(child.pid, signal.SIGCONT)
    assert child.wait(60) == 0


def test_a_newer_log_is_refused_by_every_command_and_left_alone(shell: Shell) -> None:
    assert shell.run("run", "env.py", "-k", "1", "--headless").returncode == 0
    query(shell.log, f"PRAGMA user_version = {schema.VERSION + 1}")
    before = shell.log.read_bytes()
    for args in (["runs"], ["show", "last"], ["run", "env.py", "--headless"], ["resume", "last", "--detach"]):
        assert_one_line(shell.run(*args), "newer rollgrid")
    assert shell.log.read_bytes() == before
