"""Blocking functions of the user's, run in threads that hold up nothing: neither the event loop nor the exit.

The default executor has a handful of threads, which functions that never return use up one by one, and it waits for
them when the program ends. These threads are daemons, there are as many as are needed, and one that is given up is
left to itself.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MOST_IDLE = 32
"""Idle threads beyond this number end."""


@dataclass(slots=True, eq=False)
class Job:
    """A call in a thread. `what` names it for a person."""

    what: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    loop: asyncio.AbstractEventLoop
    outcome: "asyncio.Future[Any]"
    context: contextvars.Context
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def is_running(self) -> bool:
        return not self.is_over.is_set()

    def run(self) -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = self.context.run(self.function, *self.arguments)
        except StopIteration as error:
            # A future does not take it.
            failure = RuntimeError(f"{self.what} raised StopIteration: {error}")
        except BaseException as error:  # noqa: BLE001 - the caller, who awaits it, is told
            failure = error
        self.is_over.set()
        try:
            self.loop.call_soon_threadsafe(self._tell, result, failure)
        except RuntimeError:
            return  # the loop has ended meanwhile: nobody waits for this any more

    def _tell(self, result: Any, failure: BaseException | None) -> None:
        if self.outcome.done():
            return
        if failure is not None:
            self.outcome.set_exception(failure)
        else:
            self.outcome.set_result(result)


leak_listener: ContextVar[Callable[[Job], None] | None] = ContextVar("leak_listener", default=None)
"""Told of a call whose caller was cancelled while it was running. It may end a moment later, or never."""


async def in_thread(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, computed in a thread. Raises what it raises.

    When the caller is cancelled this returns at once; the function goes on by itself, since Python cannot stop it.
    """
    loop = asyncio.get_running_loop()
    job = Job(what, function, arguments, loop, loop.create_future(), contextvars.copy_context())
    _idle_or_new().jobs.put(job)
    try:
        return await job.outcome
    except asyncio.CancelledError:
        listener = leak_listener.get()
        if job.is_running and listener is not None:
            listener(job)
        raise


class _Worker(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="rollgrid worker", daemon=True)
        self.jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()

    def run(self) -> None:
        while True:
            job = self.jobs.get()
            job.run()
            # What the job holds must not live as long as the thread.
            del job
            with _lock:
                if len(_idle) >= MOST_IDLE:
                    return
                _idle.append(self)


_idle: list[_Worker] = []
_lock = threading.Lock()


def _idle_or_new() -> _Worker:
    with _lock:
        if _idle:
            return _idle.pop()
    worker = _Worker()
    worker.start()
    return worker
