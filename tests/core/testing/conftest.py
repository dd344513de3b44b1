"""A server per test and clients of the real openai package on it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack

import pytest
from openai import AsyncOpenAI

from rollgrid.testing import SimulatedServer
from support.server import running_server

Connect = Callable[..., AsyncOpenAI]


@pytest.fixture
async def server() -> AsyncGenerator[SimulatedServer, None]:
    async with running_server(record=64) as running:
        yield running


@pytest.fixture
async def connect(server: SimulatedServer) -> AsyncGenerator[Connect, None]:
    """`connect(spec)` gives a client whose requests behave as the spec says."""
    async with AsyncExitStack() as stack:
        made: list[AsyncOpenAI] = []

        def connected(spec: str = "", **options: object) -> AsyncOpenAI:
            settings = {"max_retries": 0, "timeout": 30.0, **options}
            client = AsyncOpenAI(base_url=server.url_for(spec), api_key="none", **settings)
            made.append(client)
            stack.push_async_callback(client.close)
            return client

        yield connected
