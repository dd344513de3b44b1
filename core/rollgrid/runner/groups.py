"""A task group that raises what its body raises."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def plain_group() -> AsyncGenerator[asyncio.TaskGroup]:
    """As `asyncio.TaskGroup`, but a single exception comes out as itself: callers tell errors by their class."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as several:
        only, *others = several.exceptions
        if others:
            raise
        raise only from only.__cause__
