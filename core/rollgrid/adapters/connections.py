"""Connections of other libraries' clients.

A client keeps its connections for the next request, and they belong to the event loop in which they were made. A script
that runs twice with one agent has two loops, one after the other: what the first one left open cannot be used, nor even
closed, in the second. So they are closed while their loop is still there; the client itself stays open.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["keep_to_this_loop"]

_guarded: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Any]] = WeakKeyDictionary()
_guards: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = WeakKeyDictionary()


async def keep_to_this_loop(client: Any) -> None:
    """Close the connections of a client when the running loop ends.

    `client` is one of the generated API clients (`AsyncOpenAI` and its like), which hold an httpx client. One that is
    built differently is left alone.
    """
    loop = asyncio.get_running_loop()
    clients = _guarded.get(loop)
    if clients is None:
        clients = _guarded[loop] = {}
        # The end of a loop finalises the asynchronous generators that were begun in it.
        guard = _guards[loop] = _closed_with_the_loop(clients)
        await anext(guard)
    clients[id(client)] = client


async def _closed_with_the_loop(clients: dict[int, Any]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        for client in clients.values():
            for transport in _transports(client):
                await transport.aclose()


def _transports(client: Any) -> list[Any]:
    http = getattr(client, "_client", None)
    mounted: dict[Any, Any] = getattr(http, "_mounts", None) or {}
    several = [getattr(http, "_transport", None), *mounted.values()]
    # With a pool it opens new connections after having closed its old ones; another transport may be closed for good.
    return [one for one in several if hasattr(one, "_pool") and hasattr(one, "aclose")]
