"""What a worker has to tell its head, kept until the head says that it has it."""

import asyncio
import pickle
from collections import deque
from itertools import islice

from rollgrid.runner.remote_wire import Batch, Ended, Late, News
from rollgrid.runner.schedule import Slot

BATCH_BYTES = 4 * 1024 * 1024
BATCH_MESSAGES = 256

HEARTBEAT_SECONDS = 5.0
"""An empty batch is a sign of life, given at this pace."""


class Outbox:
    """The head asks, a batch at a time, so it never gets more than it can take, and a slow head costs no memory here.

    Results are as many as there are attempts in flight, since nothing new starts before they are taken; of snapshots
    only the newest of each attempt is kept. What was told is kept until it is acknowledged: a head that asks again
    after a fault on the way gets the same once more.
    """

    def __init__(self) -> None:
        self._news: deque[News] = deque()
        self._first = 1
        self._live: dict[Slot, bytes] = {}
        self._some = asyncio.Event()

    def put(self, news: News) -> None:
        if isinstance(news, Ended):
            self._live.pop(news.slot, None)
        self._news.append(news)
        self._some.set()

    def put_live(self, slot: Slot, data: bytes) -> None:
        self._live[slot] = data
        self._some.set()

    async def batch(self, ack: int) -> bytes:
        """The next batch for a head that has everything up to number `ack`, as soon as there is anything."""
        while self._news and self._first <= ack:
            self._news.popleft()
            self._first += 1
        if not self._news and not self._live:
            self._some.clear()
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._some.wait()
            except TimeoutError:
                pass
        news, size = list[News](), 0
        for one in islice(self._news, BATCH_MESSAGES):
            size += len(one.body) if isinstance(one, Ended | Late) else 0
            if news and size > BATCH_BYTES:
                break
            news.append(one)
        live: list[tuple[Slot, bytes]] = []
        if len(news) == len(self._news):
            live, self._live = list(self._live.items()), {}
        return pickle.dumps(Batch(self._first, news, live))
