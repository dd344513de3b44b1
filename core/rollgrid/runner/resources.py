"""What models hold for the length of a run, given back at its end."""

import gc
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

_YOUNG = 5000


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


@contextmanager
def rarer_collections() -> Generator[None]:
    """The collector of this process looks at young objects less often.

    An attempt makes thousands of objects that are gone with it. Looking at those in flight every 700 of them takes an
    eighth of the processor time; every 5000, it takes two megabytes instead. For a process that is a runner and nothing
    else: in somebody's script it is theirs to say.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _YOUNG) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
