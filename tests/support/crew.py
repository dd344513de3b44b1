"""Workers in this process, behind a link that can be cut or be bad: a crew without a cluster."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rollgrid.runner.carrier import Base
from rollgrid.runner.groups import plain_group
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.remote import Crew, LinkLost, LinkTroubled
from rollgrid.runner.remote_worker import Worker


class LocalLink:
    """The way to a worker of this process."""

    def __init__(self, name: str, plan: RunPlan) -> None:
        self.name = name
        self.worker = Worker()
        self.worker.take_on(plan)
        self.is_bad = False
        """Every call gets through, and every answer is lost on the way back, once."""
        self.is_deaf = False
        """Orders are lost; the worker knows nothing of it, and nor does the head."""
        self.n_told = 0
        self._cut: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._lost_an_answer = False

    def cut_off(self, why: str) -> None:
        """Nothing gets through any more. What the worker does then is its own affair."""
        self._cut.set_result(why)

    async def cut(self, why: str = "the node is gone") -> None:
        """The worker is gone, with all that it has."""
        self.cut_off(why)
        await self.worker.close()

    async def tell(self, number: int, data: bytes) -> None:
        self.n_told += 1
        if not self.is_deaf:
            await self._through(self.worker.tell(number, data))

    async def news(self, ack: int) -> bytes:
        return await self._through(self.worker.news(ack))

    async def end(self) -> None:
        await self.worker.close()

    async def _through(self, call):
        asked = asyncio.ensure_future(call)
        try:
            await asyncio.wait({asked, self._cut}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not asked.done():
                asked.cancel()
        if self._cut.done():
            raise LinkLost(self._cut.result())
        if self.is_bad:
            self._lost_an_answer = not self._lost_an_answer
            if self._lost_an_answer:
                raise LinkTroubled("the answer was lost")
        return asked.result()


class LocalCrew:
    """A crew for a plan. `links` are all workers that it ever had, `said` what it told."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.links: list[LocalLink] = []
        self.said: list[str] = []
        self.refuses: Exception | None = None
        """What starting a further worker raises."""
        self.crew: Crew | None = None

    async def hire(self) -> LocalLink:
        if self.refuses is not None:
            raise self.refuses
        link = LocalLink(f"worker {len(self.links) + 1}", self.plan)
        self.links.append(link)
        return link

    def make_carrier(self, base: Base):
        assert self.crew is not None
        return self.crew.board(base)


@asynccontextmanager
async def local_crew(
    plan: RunPlan, n_workers: int = 2, *, refuses: Exception | None = None
) -> AsyncGenerator[LocalCrew]:
    made = LocalCrew(plan)
    made.refuses = refuses
    async with plain_group() as group:
        made.crew = Crew(group, made.hire, n_workers, made.said.append)
        try:
            await made.crew.muster()
            yield made
        finally:
            await made.crew.dismiss()
