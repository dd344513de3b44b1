"""What models hold for the length of a run, given back at its end."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def closing_resources() -> AsyncGenerator[None]:
    """Close the shared HTTP clients, scorer and embedded model processes of this event loop at the end.

    Only modules that were imported can hold anything, so this imports none.
    """
    try:
        yield
    finally:
        if "rollgrid.models._client" in sys.modules:
            from rollgrid.models._client import close_clients

            await close_clients()
        if "rollgrid.scorer.isolated" in sys.modules:
            from rollgrid.scorer.isolated import close_isolated

            await close_isolated()
        if "rollgrid.models.local.process" in sys.modules:
            from rollgrid.models.local.process import close_local_models

            await close_local_models()
