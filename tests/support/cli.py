"""The command in child processes: as a pipe sees it, and as a person in a terminal does."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from rollgrid.errors import RollgridError
from rollgrid_tui.cli.runs import read_runs, run_facts

ENVIRONMENT = """\
from pydantic import BaseModel
from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Task

class Answer(BaseModel):
    value: int

def right(run, expected):
    return run.content is not None and run.content.value == expected

print("the user's own words")
env = Environment(
    name="marks",
    tasks=[
        Task(f"Say the number. ANS={{n}}", n, id=f"n{{n}}", metadata={{"split": "odd" if n % 2 else "even"}})
        for n in range({tasks})
    ],
    scorer=CodeScorer(right),
    agent=Agent(model=OpenAIResponses(id="test-model"), output_schema=Answer),
    timeout_seconds=30,
)
"""

PATIENCE = 60.0
"""Seconds that a wait for something that does come may take on a busy machine."""


@dataclass
class Shell:
    """A folder with an environment of its own; nothing of the user's settings reaches the commands run in it."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    started: list["subprocess.Popen[str]"] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder / ".rollgrid" / "log.db"

    def environment(self, tasks: int = 3, name: str = "env.py") -> Path:
        path = self.folder / name
        path.write_text(ENVIRONMENT.format(tasks=tasks), encoding="utf-8")
        return path

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "rollgrid_tui", *args]

    def env(self) -> dict[str, str]:
        ours = ("ROLLGRID_", "OPENAI_", "XDG_", "_ROLLGRID", "COV_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        kept.pop("NO_COLOR", None)
        return {**kept, "HOME": str(self.folder / "home"), "PYTHONFAULTHANDLER": "1", **self.variables}

    def run(self, *args: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            cwd=self.folder,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def start(self, *args: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            self.command(*args),
            cwd=self.folder,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.started.append(child)
        return child

    def clear_away(self) -> None:
        """End whatever a test left running, also when it failed half way."""
        for run in self.runs():
            if run["alive"]:
                os.kill(run["pid"], signal.SIGKILL)
        for child in self.started:
            child.kill()
            child.wait()

    def json(self, *args: str, code: int = 0) -> dict[str, Any]:
        """The object that a command prints as its last line of stdout."""
        done = self.run(*args)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def runs(self) -> list[dict[str, Any]]:
        """What `rollgrid runs --json` lists, read in this process, since a wait looks many times."""
        if not self.log.exists():
            return []
        try:
            return [run_facts(row) for row in asyncio.run(read_runs(self.log, 200))[0]]
        except RollgridError:  # a test put something else there
            return []

    def wait_for_run(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The newest run as soon as the condition holds of it."""
        return wait_for(lambda: next((run for run in self.runs()[:1] if condition(run)), None))


def wait_for(look: Callable[[], Any], every: float = 0.2) -> Any:
    """What `look` gives as soon as it is true."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(every)
    raise AssertionError(f"did not come about within {PATIENCE:.0f} s")


def assert_one_line(done: subprocess.CompletedProcess[str], *words: str, code: int | tuple[int, ...] = 2) -> None:
    """The command failed as promised: an exit code, one line on stderr with these words, no traceback."""
    codes = (code,) if isinstance(code, int) else code
    lines = [line for line in done.stderr.splitlines() if line.startswith("rollgrid: ")]
    said = done.stderr
    assert done.returncode in codes, said
    assert lines, said
    for word in words:
        assert word in lines[-1], said
    assert "Traceback" not in said
    assert "Traceback" not in done.stdout


TMUX = shutil.which("tmux")


class Terminal:
    """A real terminal of a given size, driven and read as a person would."""

    def __init__(self, shell: Shell, columns: int, lines: int) -> None:
        self._socket = f"rollgrid-{uuid4().hex[:12]}"
        self._shell = shell
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(lines), "env", "PS1=$ ", "sh")

    def _tmux(self, *args: str) -> str:
        command = [TMUX or "tmux", "-L", self._socket, *args]
        return subprocess.run(
            command, cwd=self._shell.folder, env=self._shell.env(), capture_output=True, text=True, check=True
        ).stdout

    def type(self, *args: str) -> None:
        """Type a rollgrid command and Enter."""
        self.keys(" ".join(self._shell.command(*args)), "Enter")

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-J")

    def wait_for(self, *words: str) -> str:
        """The screen as soon as all these words are on it."""
        try:
            return wait_for(lambda: s if all(word in (s := self.screen()) for word in words) else None)
        except AssertionError:
            raise AssertionError(f"{words} did not appear on:\n{self.screen()}") from None

    def wait_until_left(self) -> str:
        """The screen as soon as the full-screen program has given the terminal back."""
        wait_for(lambda: self._tmux("display-message", "-p", "#{alternate_on}").strip() == "0")
        return self.screen()

    def close(self) -> None:
        self._tmux("kill-server")


@contextmanager
def terminal(shell: Shell, columns: int = 80, lines: int = 24) -> Generator[Terminal]:
    opened = Terminal(shell, columns, lines)
    try:
        yield opened
    finally:
        opened.close()
