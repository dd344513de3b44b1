"""Clients shared by everything that talks to one endpoint from one event loop.

A client costs some 20 ms to make, nearly all of it an SSL context, and its connections are only of use to the loop that
opened them. So there is one for each loop and endpoint, and it is closed when the loop ends: an async generator that
the loop finalises does that, whoever runs the loop and however it ends.
"""

import asyncio
import inspect
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from rollgrid.errors import ModelError
from rollgrid.masking import remember
from rollgrid.models import _errors

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
PLACEHOLDER_KEY = "no-key-needed"
CONNECTIONS = 10_000
"""More than any run opens: the number of attempts in flight is the limit, not the pool."""
KEEP_ALIVE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Everything that tells one client from another. Two equal endpoints share their connections."""

    base_url: str | None = field(default=None, repr=False)
    api_key: "str | Callable[[], Any] | None" = field(default=None, repr=False)
    organization: str | None = None
    project: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    http_client: Any = None
    client_params: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    @property
    def effective_url(self) -> str:
        """The address that requests go to, without credentials, query or trailing slash."""
        return public_url(self.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)

    def key(self) -> "str | Callable[[], Any]":
        """The key to send. A server of one's own needs none.

        Raises `ModelError` when the official host would be asked without a key, or when there is no usable address.
        """
        if urlsplit(self.effective_url).scheme not in ("http", "https"):
            raise _errors.bad_address(self.effective_url)
        key = self.api_key or os.environ.get("OPENAI_API_KEY")
        if key:
            return _remembering(key) if callable(key) else key
        if urlsplit(self.effective_url).hostname == urlsplit(OPENAI_URL).hostname:
            raise _errors.missing_key()
        return PLACEHOLDER_KEY


def _remembering(provider: Callable[[], Any]) -> Callable[[], Any]:
    """A provider of keys whose keys do not get into what is written."""

    async def provide() -> Any:
        key = provider()
        if inspect.isawaitable(key):
            key = await key
        remember(key)
        return key

    return provide


def public_url(url: str) -> str:
    """An address as it may be shown and fingerprinted."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


@dataclass(slots=True)
class _Pool:
    clients: "dict[Endpoint, AsyncOpenAI]" = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    guard: AsyncGenerator[None, None] | None = None


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()


async def shared_client(endpoint: Endpoint) -> "AsyncOpenAI":
    """The client of this endpoint in the running loop. Raises `ModelError` when it cannot be made."""
    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = _Pool()
        pool.guard = _closed_with_the_loop(pool)
        await anext(pool.guard)
    client = pool.clients.get(endpoint)
    if client is None:
        if "openai" not in sys.modules:
            # About half a second of work that the loop has no time for.
            await asyncio.to_thread(import_module, "openai")
        client = pool.clients.get(endpoint) or _make(endpoint)
        pool.clients[endpoint] = client
    return client


async def close_clients() -> None:
    """Close every shared client of the running loop. The next request opens a new one."""
    pool = _pools.get(asyncio.get_running_loop())
    if pool is not None:
        await _close(pool)


async def _closed_with_the_loop(pool: _Pool) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await _close(pool)


async def _close(pool: _Pool) -> None:
    while pool.clients:
        endpoint, client = pool.clients.popitem()
        # A client that the user made is the user's to close.
        if endpoint.http_client is None:
            await client.close()


def _make(endpoint: Endpoint) -> "AsyncOpenAI":
    import openai

    settings: dict[str, Any] = {"max_retries": 0, **dict(endpoint.client_params)}
    try:
        return openai.AsyncOpenAI(
            api_key=endpoint.key(),
            base_url=endpoint.base_url,
            organization=endpoint.organization,
            project=endpoint.project,
            default_headers=dict(endpoint.headers) or None,
            default_query=dict(endpoint.query) or None,
            http_client=endpoint.http_client
            if endpoint.http_client is not None
            else _http_client(endpoint.effective_url),
            **settings,
        )
    except openai.OpenAIError as error:
        raise _errors.from_exception(error) from error


def _http_client(url: str) -> Any:
    import httpx2
    import openai

    limits = httpx2.Limits(
        max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS, keepalive_expiry=KEEP_ALIVE_SECONDS
    )
    # To a proxy, "this machine" is the proxy's own; what a server here is asked must not leave the machine either.
    how: dict[str, Any] = {"limits": limits, "trust_env": not _is_on_this_machine(url)}
    # The aiohttp backend takes a third of the processor time of the default one; without it the default one serves.
    with suppress(RuntimeError):
        return openai.DefaultAioHttpClient(**how)
    return openai.DefaultAsyncHttpxClient(**how)


def _is_on_this_machine(url: str) -> bool:
    """Whether an `http` address names this machine. With `https` the environment may name the certificates."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "http":
        return False
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def as_items(mapping: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """A mapping as a part of an `Endpoint`."""
    return tuple(sorted(mapping.items())) if mapping else ()


__all__ = ["Endpoint", "ModelError", "as_items", "close_clients", "public_url", "shared_client"]
