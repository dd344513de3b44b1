"""Work that goes on although its attempt is over: tasks that ignore their cancellation, functions in threads."""

import asyncio
import time
from collections.abc import Callable

from rollgrid.runner.attempt import Abandoned
from rollgrid.runner.facts import ended_event
from rollgrid.runner.plan import RunPlan
from rollgrid.runner.schedule import Slot
from rollgrid.runner.sink import EventSink
from rollgrid.runner.transcript import transcript_of
from rollgrid.store.codec import encode
from rollgrid.store.events import AttemptEnded, Notice
from rollgrid.threads import Job

OnLate = Callable[[Slot, float, AttemptEnded, bytes], None]
"""Told of a take that ended for a second time: which one, when it had started, the end and its transcript."""

GRACE_SECONDS = 2.0
"""A function in a thread that runs on for longer than this is reported."""


class Leftovers:
    """Keeps track of them, and tells the log of each once."""

    def __init__(self, plan: RunPlan, sink: EventSink, on_late: OnLate) -> None:
        self.tasks: dict[asyncio.Task[None], Abandoned] = {}
        self._plan = plan
        self._sink = sink
        self._on_late = on_late
        self._jobs: list[tuple[float, Slot, Job]] = []
        self._is_over = False

    def given_up(self, slot: Slot, job: Job) -> None:
        """The attempt has ended while a function of it was running in a thread."""
        self._jobs.append((time.monotonic() + GRACE_SECONDS, slot, job))

    def tick(self, now: float) -> None:
        """Report the functions that have not ended in their grace."""
        due = [entry for entry in self._jobs if entry[0] <= now]
        if due:
            self._jobs = [entry for entry in self._jobs if entry[0] > now]
            self._report(due)

    def _report(self, due: list[tuple[float, Slot, Job]]) -> None:
        for _, slot, job in due:
            if job.is_running:
                self._notice(f"{job.what} of {self._name(slot)} ignores its time limit and still runs in a thread")

    def abandoned(self, slot: Slot, started_at: float, work: "asyncio.Task[None]", left: Abandoned) -> None:
        """The attempt has ended without this task, which was cancelled and goes on."""
        self.tasks[work] = left
        self._notice(f"{self._name(slot)} ignores its cancellation and was left behind")
        work.add_done_callback(lambda done: self._late(slot, started_at, done))

    def _late(self, slot: Slot, started_at: float, work: "asyncio.Task[None]") -> None:
        """Tell what an abandoned attempt brought after all."""
        left = self.tasks.pop(work)
        if work.cancelled() or work.exception() is not None or self._is_over:
            return
        result = left.late_result(time.time() - started_at)
        event = ended_event(self._plan.run_id, time.time(), slot, result).model_copy(update=left.late_usage())
        self._on_late(slot, started_at, event, encode(transcript_of(result.run)))

    async def part(self) -> None:
        """Give abandoned tasks one last chance to end, then leave them; report the functions that still run."""
        for work in self.tasks:
            work.cancel()
        if self.tasks:
            await asyncio.wait(set(self.tasks), timeout=1.0)
        self._report(self._jobs)
        self._jobs = []
        # The event loop may go on for long, and so may what was left; but the log of this run is closed.
        self._is_over = True

    def _name(self, slot: Slot) -> str:
        return f"attempt {slot.attempt} of {self._plan.tasks[slot.task].id}"

    def _notice(self, text: str) -> None:
        self._sink.append(Notice(run_id=self._plan.run_id, at=time.time(), level="warning", text=text))
