"""Tests of screens wait for what is to be done, not for the clock."""

import asyncio
import time
from typing import Any

import pytest
import textual.app
import textual.pilot

_ROUNDS = 3
"""A message that was taken out of a queue may put another one into the next."""


async def _until_quiet(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """In the place of `textual._wait.wait_for_idle`, which takes little use of the processor for having nothing to do.

    On a busy machine a process can be kept from working by others, and on an idle one 20 ms a key are lost.
    """
    loop: Any = asyncio.get_running_loop()
    began, quiet = time.monotonic(), 0
    while quiet < _ROUNDS and time.monotonic() - began < max_sleep:
        await asyncio.sleep(0)
        quiet = quiet + 1 if not loop._ready else 0


@pytest.fixture(autouse=True)
def _no_waiting_for_the_clock(monkeypatch: pytest.MonkeyPatch):
    for module in (textual.app, textual.pilot):
        monkeypatch.setattr(module, "wait_for_idle", _until_quiet)
