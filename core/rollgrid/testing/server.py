"""The server that speaks the OpenAI APIs without a model behind it."""

import asyncio
import ipaddress
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from rollgrid.errors import RollgridError
from rollgrid.testing.answers import Oracle
from rollgrid.testing.backend import Backend, Recorded
from rollgrid.testing.connection import Connection
from rollgrid.testing.spec import Spec, parse_spec

_BACKLOG = 4096


class SimulatedServer:
    """Speaks Responses and Chat Completions, JSON and event streams, and behaves as its spec says.

    An async context manager; `base_url` is what an OpenAI client is given. `spec` holds the defaults, which a request
    can override by URL path, query or model name (see docs/simulate.md). `answers(prompt, n, passed)` gives the text of
    the n-th answer (from 0) to a prompt. `record` keeps the last N requests. Listens on loopback only unless
    `allow_remote` is set: there is no authentication.
    """

    def __init__(
        self,
        spec: str | Spec = "",
        host: str = "127.0.0.1",
        port: int = 0,
        answers: Oracle | None = None,
        *,
        record: int = 0,
        allow_remote: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not allow_remote and not _is_loopback(host):
            raise RollgridError(
                f"refusing to listen on {host}: it is no loopback address",
                "the server has no authentication; allow remote connections explicitly if that is what you want",
            )
        self.spec = spec if isinstance(spec, Spec) else parse_spec(spec)
        self.host = host
        self.port = port
        self._backend = Backend(self.spec, answers, record, clock)
        self._peers: set[Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        """The URL for an OpenAI client, ending in /v1."""
        return self.url_for("")

    def url_for(self, spec: str) -> str:
        """A base URL whose requests behave as `spec` says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{spec}/v1" if spec else f"http://{host}:{self.port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The recorded bodies, oldest first."""
        return [recorded.body for recorded in self._backend.recorded]

    @property
    def recorded(self) -> list[Recorded]:
        """The recorded requests with their headers, oldest first."""
        return list(self._backend.recorded)

    def stats(self) -> dict[str, Any]:
        """Counts since start or reset: requests, kinds of replies, in flight now and at most, connections, bytes."""
        return self._backend.stats()

    def reset(self) -> None:
        """Forget counts, draws, limits and recordings, and start the clock of outages anew."""
        self._backend.reset()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self._backend, self._peers, loop), self.host, self.port, backlog=_BACKLOG
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise RollgridError(f"cannot listen on {self.host}:{self.port}: {why}", "choose another port") from error
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def aclose(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is None:
            return
        self._backend.closed = True
        self._server.close()
        for peer in tuple(self._peers):
            peer.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)  # an aborted transport tells its protocol in the next turn of the loop
        self._server = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def serve(
    spec: str | Spec = "",
    host: str = "127.0.0.1",
    port: int = 0,
    answers: Oracle | None = None,
    *,
    life: float | None = None,
    allow_remote: bool = False,
    on_ready: Callable[[SimulatedServer], None] | None = None,
) -> None:
    """Serve until cancelled, or for `life` seconds. `on_ready` is called once connections are accepted.

    Raises `RollgridError` for a bad spec, a host that is not loopback, or a port that is taken.
    """
    async with SimulatedServer(spec, host, port, answers, allow_remote=allow_remote) as server:
        if on_ready is not None:
            on_ready(server)
        with suppress(TimeoutError):
            async with asyncio.timeout(life):
                await asyncio.Event().wait()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
