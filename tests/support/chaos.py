"""A run that is hit again and again by what happens to runs, at moments that nobody chose."""

import asyncio
import contextlib
import os
import pty
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from rollgrid.errors import LogError, RunError
from rollgrid.store.commands import post_command
from rollgrid.store.reader import LogReader
from rollgrid.testing import SimulatedServer
from support.cli import PATIENCE, Shell

ENVIRONMENT = """\
from pydantic import BaseModel
from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Task

class Answer(BaseModel):
    value: int

def right(run, expected):
    return run.content is not None and run.content.value == expected

env = Environment(
    name="chaos",
    tasks=[Task(f"Say the number. ANS={{n}}", n, id=f"n{{n}}") for n in range(10, 10 + {tasks})],
    scorer=CodeScorer(right),
    agent=Agent(model=OpenAIResponses(id="chaos-model", base_url="{url}", timeout=3), output_schema=Answer),
    timeout_seconds=6,
)
"""
"""All numbers have two digits, so that every reply that is no fault has the same number of tokens."""

FAULTS = ("e429", "e500", "hang", "drop", "trunc", "malformed", "refusal", "incomplete", "cutstream", "failed")
CONCURRENCY = 4


class Server:
    """The model API, in a thread of this process. Each `restart` has faults of its own and is a short outage."""

    def __init__(self) -> None:
        self.served: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: SimulatedServer | None = None
        self._port = 0
        self.restart("p=1")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def restart(self, spec: str) -> None:
        self._do(self._restart(spec))

    def close(self) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _restart(self, spec: str) -> None:
        await self._end()
        self._server = await SimulatedServer(spec, port=self._port).__aenter__()
        self._port = int(self._server.base_url.split(":")[2].split("/")[0])

    async def _end(self) -> None:
        if self._server is not None:
            await self._server.__aexit__(None, None, None)
            self.served.update(self._server.stats()["kinds"])
            self._server = None


@dataclass
class Chaos:
    """Drives one run to its end. What is done, and when, comes from `seed` alone; what it meets is the machine's."""

    shell: Shell
    seed: int
    tasks: int
    k: int
    server: Server = field(default_factory=Server)
    done: Counter[str] = field(default_factory=Counter)
    at_risk: int = 0
    """Replies that may have been paid for and lost: those in flight at each kill, outage or lock."""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._runner: subprocess.Popen[str] | None = None
        self._dashboard: subprocess.Popen[bytes] | None = None
        self._terminal: int | None = None
        self.shell.variables |= {"OPENAI_API_KEY": "chaos", "ROLLGRID_MAX_RETRIES": "2"}
        (self.shell.folder / "env.py").write_text(ENVIRONMENT.format(tasks=self.tasks, url=self.server.url))

    # -- what happens

    def rage(self, seconds: float) -> None:
        """Let things happen for this long, or until the run has ended in spite of them."""
        deadline = time.monotonic() + seconds
        self._new_weather()
        while time.monotonic() < deadline:
            self._make_sure_that_it_runs()
            time.sleep(self._chance.uniform(0.1, 1.5))
            happening = self._chance.choices(
                [self._kill_runner, self._new_weather, self._watch, self._kill_dashboard, self._steer, self._lock],
                weights=[5, 3, 2, 2, 2, 1],
            )[0]
            happening()
            if self._is_complete():
                break
        self._kill_runner()
        self._kill_dashboard()

    def finish(self) -> dict[str, Any]:
        """Good weather; resume until every attempt has its score. Gives the run as `rollgrid runs` lists it."""
        self.server.restart("p=1")
        for _ in range(5):
            run = self._run()
            if run is not None and run["state"] == "finished" and run["n_scored"] == self.tasks * self.k:
                return run
            self._start(["--headless"], wait=True)
        raise AssertionError(f"not finished: {self._run()}")

    def close(self) -> None:
        self._kill_dashboard()
        self.server.close()

    def story(self) -> str:
        served = ", ".join(f"{kind} {n}" for kind, n in sorted(self.server.served.items()))
        return f"seed {self.seed}; did: {dict(self.done)}; the server gave: {served}"

    def _new_weather(self) -> None:
        """Other faults, each with a share of its own, after a moment without any server."""
        shares = {name: self._chance.choice([0, 0.02, 0.05, 0.1]) for name in FAULTS}
        shares["hang"] = min(shares["hang"], 0.03)
        shares[self._chance.choice(["e429", "e500", "drop"])] = self._chance.choice([0.05, 0.05, 0.3, 1])
        seed = self._chance.randrange(10**6)
        spec = ",".join(f"{name}={share:g}" for name, share in shares.items() if share)
        self.at_risk += CONCURRENCY
        self.server.restart(f"p=1,lat=100,jitter=200,seed={seed},ra=50ms" + (f",{spec}" if spec else ""))
        self.done["weather"] += 1

    def _make_sure_that_it_runs(self) -> None:
        run = self._run()
        if run is not None and run["alive"]:
            if run["state"] == "paused":
                self._command(run, "resume")
            return
        self._reap()
        self._start([self._chance.choice(["--headless", "--detach"])], wait=False)

    def _kill_runner(self) -> None:
        """At any moment of its life: while it starts, works, writes or ends."""
        run = self._run()
        if run is not None and run["alive"]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(run["pid"], signal.SIGKILL)
                self.at_risk += CONCURRENCY
                self.done["kill"] += 1
        self._reap()

    def _watch(self) -> None:
        """A dashboard in a terminal of its own."""
        if self._run() is None or self._dashboard is not None:
            return
        self._terminal, slave = pty.openpty()
        self._dashboard = subprocess.Popen(
            self.shell.command("watch", "last"),
            cwd=self.shell.folder,
            env={**self.shell.env(), "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        threading.Thread(target=_drain, args=(self._terminal,), daemon=True).start()
        self.done["watch"] += 1

    def _kill_dashboard(self) -> None:
        if self._dashboard is None:
            return
        self._dashboard.kill()
        self._dashboard.wait()
        self._dashboard, self._terminal = None, None
        self.done["kill dashboard"] += 1

    def _steer(self) -> None:
        run = self._run()
        if run is not None and run["alive"]:
            self._command(run, self._chance.choice(["pause", "retry", "concurrency"]))

    def _command(self, run: dict[str, Any], name: str) -> None:
        args = {"concurrency": {"limit": self._chance.randint(1, CONCURRENCY)}, "retry": {"task": 0, "attempt": 1}}
        with contextlib.suppress(LogError, RunError):
            asyncio.run(post_command(self.shell.log, run["run_id"], name, args.get(name, {}), "chaos"))
            self.at_risk += name == "retry"
            self.done[name] += 1

    def _lock(self) -> None:
        """Somebody's transaction keeps everybody from writing for a while."""
        if not self.shell.log.exists():
            return
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(self.shell.log, timeout=1)) as one:
            one.execute("BEGIN IMMEDIATE")
            time.sleep(self._chance.uniform(0.1, 2.0))
            one.rollback()
            self.done["lock"] += 1

    # -- the run

    def _run(self) -> dict[str, Any] | None:
        with contextlib.suppress(LogError):
            return next(iter(self.shell.runs()), None)
        return None

    def _is_complete(self) -> bool:
        run = self._run()
        return run is not None and run["state"] == "finished" and run["n_scored"] == self.tasks * self.k

    def _start(self, how: list[str], *, wait: bool) -> None:
        run = self._run()
        if run is None:
            command = ["run", "env.py", "-k", str(self.k), "-c", str(CONCURRENCY)]
        else:
            command = ["resume", run["run_id"], "-c", str(CONCURRENCY)]
        self._runner = self.shell.start(*command, *how)
        self.done["start"] += 1
        if wait:
            self._runner.wait(PATIENCE)
            return
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._runner.poll() is None:
            run = self._run()
            if run is not None and run["alive"]:
                return
            time.sleep(0.1)

    def _reap(self) -> None:
        """The command that started the runner: the runner itself when headless."""
        if self._runner is not None:
            self._runner.kill()
            self._runner.wait()
            self._runner = None


def _drain(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(descriptor, 65536):
            pass
    os.close(descriptor)


async def takes_of(shell: Shell, run_id: str) -> list[Any]:
    reader = await LogReader.open(shell.log)
    try:
        return await reader.attempts(run_id)
    finally:
        await reader.aclose()
