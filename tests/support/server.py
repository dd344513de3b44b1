"""The simulated server for tests: in this process, or in a child."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from rollgrid.testing import SimulatedServer


@asynccontextmanager
async def running_server(spec: str = "", **kw: Any) -> AsyncGenerator[SimulatedServer, None]:
    """A server on the test's own event loop. Keywords are those of `SimulatedServer`."""
    async with SimulatedServer(spec, **kw) as server:
        yield server


async def stats_when(server: SimulatedServer, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The server's figures once `holds` says so of them; the test's own timeout bounds the wait."""
    while not holds(stats := server.stats()):  # noqa: ASYNC110 - it happens in the kernel and in other programs
        await asyncio.sleep(0.005)
    return stats


@dataclass(frozen=True)
class ServerProcess:
    """A server in a child process. `base_url` ends in /v1; the calls block, so not from a running event loop."""

    base_url: str
    pid: int

    def url_for(self, spec: str) -> str:
        """A base URL whose requests behave as `spec` says."""
        return self.base_url.removesuffix("v1") + f"{spec}/v1"

    def stats(self) -> dict[str, Any]:
        return self._call("stats", "GET")

    def reset(self) -> None:
        self._call("reset", "POST")

    def _call(self, route: str, method: str) -> dict[str, Any]:
        url = self.base_url.removesuffix("v1") + route
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as answer:
            return json.loads(answer.read())


@contextmanager
def server_process(spec: str = "", *, port: int = 0, life: float = 600) -> Generator[ServerProcess, None, None]:
    """A server in a child process, which ends with the block, or with this process however that ends."""
    command = [sys.executable, "-m", "rollgrid.testing", "--port", str(port), "--spec", spec, "--life", str(life)]
    with subprocess.Popen([*command, "--until-eof"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            word, _, url = child.stdout.readline().strip().partition(" ")
            if word != "ready":
                raise RuntimeError(f"the server did not start: exit code {child.wait(10)}")
            yield ServerProcess(url, child.pid)
        finally:
            child.terminate()
            child.wait(10)
