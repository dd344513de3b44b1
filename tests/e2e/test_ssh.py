"""The dashboard over a real SSH connection, and every byte that it sends."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.cli import TMUX, Shell, wait_for
from support.server import ServerProcess
from support.ssh import INSTALLED, SshRefusedError, SshServer, ssh_server
from support.terminal import Terminal

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not INSTALLED, reason="needs sshd, ssh and ssh-keygen: apt-get install openssh-server"),
]

BYTES_A_SECOND = 12 * 1024
"""What a run of fifty attempts a second may send on 120x40."""

K = 24


@pytest.fixture
def ssh(shell: Shell, api: ServerProcess, tmp_path: Path) -> Iterator[SshServer]:
    folder = tmp_path / "ssh"
    folder.mkdir()
    shell.variables["OPENAI_BASE_URL"] = api.url_for("p=0.6,lat=400,jitter=200")
    variables = {**shell.variables, "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    try:
        with ssh_server(folder, {**variables, "COLORTERM": "truecolor"}) as server:
            yield server
    except SshRefusedError as refused:
        pytest.skip(f"the SSH server lets nobody in here: {refused}")


def command(shell: Shell, *arguments: str) -> str:
    return shlex.join(shell.command(*arguments))


def told(program: str) -> str:
    """`program` as a remote command that leaves its process id in a file."""
    return f"sh -c {shlex.quote(f'echo $$ > dashboard.pid; exec {program}')}"


def read_until(screen: Terminal, condition: Callable[[], Any]) -> bytes:
    """What comes over the connection until the condition holds."""
    got = b""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "did not come about"
        got += screen.read(0.2)
    return got


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.skipif(TMUX is None, reason="needs tmux")
def test_a_run_started_in_tmux_outlives_the_connection_and_is_steered_from_the_next(shell: Shell, ssh: SshServer):
    shell.environment(tasks=8)
    socket = f"rollgrid-{uuid4().hex[:12]}"
    tmux = f"tmux -L {socket} -f /dev/null"

    def pane(*words: str) -> str:
        """The screen inside tmux as soon as it shows these words."""
        look = f"{tmux} capture-pane -p -t work"
        return wait_for(lambda: s if all(word in (s := ssh.run(look, shell.folder).stdout) for word in words) else None)

    try:
        with ssh.terminal(f"{tmux} new-session -s work sh", shell.folder) as first:
            first.press(command(shell, "run", "env.py", "-k", str(K), "-c", "2") + "\r")
            pane("marks", "n7", "running")
            run_id = shell.runs()[0]["run_id"]
            first.process.kill()
            first.process.wait()
        wait_for(lambda: not ssh.run(f"{tmux} list-clients", shell.folder).stdout)
        left = shell.runs()[0]
        assert left["alive"]
        shell.wait_for_run(lambda run: run["n_ended"] > left["n_ended"])

        with ssh.terminal(f"{tmux} attach -t work", shell.folder) as second:
            second.wait_for("n7")
            second.press(" ")
            shell.wait_for_run(lambda run: run["state"] == "paused")
            pane("paused")
            second.press(" ")
            shell.wait_for_run(lambda run: run["state"] == "running")
            second.press("q")
            pane(f"Run {run_id} goes on")
        left = shell.runs()[0]
        assert left["alive"]
        shell.wait_for_run(lambda run: run["n_ended"] > left["n_ended"])
    finally:
        ssh.run(f"{tmux} kill-server", shell.folder)


def test_a_connection_that_drops_ends_the_dashboard_and_not_the_run(shell: Shell, ssh: SshServer):
    shell.environment(tasks=8)
    with ssh.terminal(told(command(shell, "run", "env.py", "-k", str(K), "-c", "2")), shell.folder) as screen:
        screen.wait_for("at once")
        dashboard = int((shell.folder / "dashboard.pid").read_text())
        assert not is_gone(dashboard)
        screen.process.kill()
        screen.process.wait()
    wait_for(lambda: is_gone(dashboard))
    left = shell.runs()[0]
    assert left["alive"]
    shell.wait_for_run(lambda run: run["n_ended"] > left["n_ended"])


def test_a_busy_run_sends_little_and_a_finished_one_nothing(shell: Shell, ssh: SshServer):
    shell.environment(tasks=30)
    run_id = shell.run("run", "env.py", "-k", "16", "-c", "25", "--detach").stdout.strip()
    shell.wait_for_run(lambda run: run["n_ended"] > 0)
    with ssh.terminal(command(shell, "watch", run_id), shell.folder) as screen:
        screen.wait_for("at once")
        screen.read(1)
        began, first = time.monotonic(), shell.runs()[0]
        sent = read_until(screen, lambda: shell.runs()[0]["n_ended"] >= first["n_ended"] + 250)
        seconds = time.monotonic() - began
        assert len(sent) < BYTES_A_SECOND * seconds, f"{len(sent) / seconds:.0f} bytes a second"
        assert len(sent) > 250, "something was shown meanwhile"

        shell.wait_for_run(lambda run: run["state"] == "finished")
        screen.wait_for("finished")
        screen.settle()
        assert screen.read(10) == b"", "an idle screen sends nothing"
        screen.press("q")
        assert screen.wait() == 0


def test_the_dashboard_knows_that_it_is_far_away(shell: Shell, ssh: SshServer):
    code = "from rollgrid_tui.settings import Settings; print(Settings.load().fps)"
    assert ssh.run(shlex.join([sys.executable, "-c", code]), shell.folder).stdout.strip() == "4.0"
