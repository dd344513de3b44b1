"""A server per test and clients of the real openai package on it."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from rollgrid.testing import SimulatedServer
from support.server import running_server

Connect = Callable[..., AsyncOpenAI]


@pytest.fixture
async def server() -> AsyncGenerator[SimulatedServer, None]:
    async with running_server(record=64) as running:
        yield running


@pytest.fixture
async def connect(server: SimulatedServer) -> AsyncGenerator[Connect, None]:
    """`connect(spec)` gives a client whose requests behave as the spec says; all share one pool of connections."""
    # Nothing is encrypted here, and reading the certificates would be most of the time of these tests.
    async with DefaultAsyncHttpxClient(verify=False) as pool:

        def connected(spec: str = "", **options: Any) -> AsyncOpenAI:
            settings = {"max_retries": 0, "timeout": 30.0, **options}
            return AsyncOpenAI(base_url=server.url_for(spec), api_key="none", http_client=pool, **settings)

        yield connected
