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

STEADY = 4
"""Threads that are kept. Quick functions, which are most, share them: more would only be in each other's way."""

IMPATIENCE = 0.02
"""A call that no thread has taken on for this long, in seconds, gets one more."""


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
    is_started: bool = False
    is_given_up: bool = False
    is_written_off: bool = False
    """It was given up while it was running, and so was its thread."""

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
    _crew.take_on(job)
    try:
        return await job.outcome
    except asyncio.CancelledError:
        listener = leak_listener.get()
        if _crew.give_up(job) and listener is not None:
            listener(job)
        raise


class _Crew:
    """The threads of this process. Those that are stuck in a call that was given up are no longer part of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._size = 0
        self._idle = 0
        self._waiting = 0

    def take_on(self, job: Job) -> None:
        with self._lock:
            self._waiting += 1
            is_short = self._waiting > self._idle
            grows = is_short and self._size < STEADY
            self._size += grows
        self._jobs.put(job)
        if grows:
            self._start()
        elif is_short:
            job.loop.call_later(IMPATIENCE, self._help, job)

    def _help(self, job: Job) -> None:
        if job.is_started:
            return
        with self._lock:
            self._size += 1
        self._start()
        job.loop.call_later(IMPATIENCE, self._help, job)

    def give_up(self, job: Job) -> bool:
        """Nobody waits for this any more. True when it is running, and stays so."""
        with self._lock:
            job.is_given_up = True
            if not job.is_started or not job.is_running:
                return False
            job.is_written_off = True
            self._size -= 1
            return True

    def _start(self) -> None:
        threading.Thread(target=self._work, name="rollgrid worker", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._size > STEADY and not self._waiting:
                    self._size -= 1
                    return
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
                job.is_started = True
                if job.is_given_up:
                    job.is_over.set()
                    continue
            job.run()
            with self._lock:
                written_off = job.is_written_off
            # What the job holds must not live as long as the thread.
            del job
            if written_off:
                return


_crew = _Crew()
