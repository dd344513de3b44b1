"""A real SSH server on loopback, and connections to it from a terminal."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.terminal import Terminal

SSHD = shutil.which("sshd", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))
SSH = shutil.which("ssh")
KEYGEN = shutil.which("ssh-keygen")
INSTALLED = bool(SSHD and SSH and KEYGEN)

SERVER = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PermitUserEnvironment no
"""
PRIVILEGE_SEPARATION = Path("/run/sshd")
"""An empty folder that sshd wants to see when root starts it."""


class SshRefusedError(Exception):
    """The server is there and lets this account not in; the message is the server's own."""


@dataclass(frozen=True)
class SshServer:
    """Connections land as the user who started it, with `variables` set."""

    folder: Path
    port: int
    variables: Mapping[str, str]

    def arguments(self, *options: str) -> list[str]:
        """What follows `ssh`, up to the remote command."""
        settings = {
            "IdentityFile": f"{self.folder}/client_key",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "no",
            "LogLevel": "ERROR",
            "Compression": "no",
            "EscapeChar": "none",
        }
        named = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
        user = getpass.getuser()
        return ["-F", os.devnull, *named, "-p", str(self.port), *options, f"{user}@127.0.0.1"]

    def remote(self, command: str, cwd: Path) -> str:
        """`command` as the far end's shell gets it: with our variables, in `cwd`."""
        variables = " ".join(f"{name}={_quoted(value)}" for name, value in self.variables.items())
        return f"cd {_quoted(str(cwd))} && exec env {variables} {command}"

    def run(self, command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Without a terminal, to its end."""
        assert SSH is not None
        return subprocess.run(
            [SSH, *self.arguments("-n"), self.remote(command, cwd)], capture_output=True, text=True, timeout=60
        )

    def terminal(self, command: str, cwd: Path, columns: int = 120, rows: int = 40) -> Terminal:
        """A person's terminal, connected. What it has read is what came over the connection, byte for byte."""
        assert SSH is not None
        arguments = [*self.arguments("-tt"), self.remote(command, cwd)]
        return Terminal(*arguments, program=SSH, columns=columns, rows=rows)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@contextmanager
def ssh_server(folder: Path, variables: Mapping[str, str]) -> Generator[SshServer]:
    """An sshd of our own for the length of the block, with keys made for it. It touches no setting of the machine."""
    assert SSHD is not None
    assert KEYGEN is not None
    for name in ("host_key", "client_key"):
        command = [KEYGEN, "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(folder / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "sshd_config"
    config.write_text(SERVER.format(port=port, folder=folder))
    made = os.geteuid() == 0 and not PRIVILEGE_SEPARATION.exists()
    if made:
        PRIVILEGE_SEPARATION.mkdir(mode=0o755)
    log = folder / "sshd.log"
    with log.open("wb") as file, subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=file) as daemon:
        try:
            server = SshServer(folder, port, variables)
            _wait_until_it_listens(server, daemon, log)
            said = server.run("true", folder)
            if said.returncode != 0:
                raise SshRefusedError(log.read_text(errors="replace")[-2000:] + said.stderr)
            yield server
        finally:
            daemon.terminate()
            daemon.wait(10)
            if made:
                PRIVILEGE_SEPARATION.rmdir()


def _wait_until_it_listens(server: SshServer, daemon: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), 1).close()
            return
        except OSError:
            if daemon.poll() is not None or time.monotonic() > end:
                raise SshRefusedError(log.read_text(errors="replace")[-2000:]) from None
            time.sleep(0.05)
