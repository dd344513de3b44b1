import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from rollgrid.threads import STEADY, Job, in_thread, leak_listener


async def test_the_result_comes_back_and_so_does_what_is_raised():
    assert await in_thread("adding", lambda a, b: a + b, 1, 2) == 3
    with pytest.raises(ZeroDivisionError):
        await in_thread("dividing", lambda: 1 / 0)
    with pytest.raises(RuntimeError, match="seeking raised StopIteration"):
        await in_thread("seeking", lambda: next(iter([])))


async def test_functions_that_never_return_do_not_use_the_threads_up():
    never, started = threading.Event(), []

    def hang():
        started.append(1)
        never.wait()

    calls = [asyncio.create_task(in_thread("hanging", hang)) for _ in range(60)]
    while len(started) < 60:  # noqa: ASYNC110 - it happens in threads
        await asyncio.sleep(0.005)
    assert await in_thread("adding", lambda: 1) == 1
    for call in calls:
        call.cancel()
    done, _ = await asyncio.wait(calls)
    assert all(call.cancelled() for call in done)
    never.set()


async def test_a_call_that_was_given_up_is_told_of_and_one_that_ended_is_not():
    told: list[Job] = []
    leak_listener.set(told.append)
    let_go, started = threading.Event(), threading.Event()

    def slow():
        started.set()
        let_go.wait()

    call = asyncio.create_task(in_thread("the scorer right", slow))
    while not started.is_set():  # noqa: ASYNC110 - it happens in a thread
        await asyncio.sleep(0.005)
    call.cancel()
    await asyncio.wait([call])
    assert [job.what for job in told] == ["the scorer right"]
    assert told[0].is_running
    let_go.set()
    assert told[0].is_over.wait(5)
    await in_thread("adding", lambda: 1)
    assert len(told) == 1


async def test_context_variables_are_there():
    name = contextvars.ContextVar("name", default="nobody")
    name.set("ada")
    assert await in_thread("asking", name.get) == "ada"


def test_a_function_that_never_returns_does_not_hold_up_the_exit():
    program = """
import asyncio, threading
from rollgrid.threads import in_thread

async def main():
    call = asyncio.create_task(in_thread("hanging", threading.Event().wait))
    await asyncio.sleep(0.1)
    call.cancel()
    await asyncio.wait([call])

asyncio.run(main())
print("over")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


async def test_quick_functions_share_a_few_threads():
    names = await asyncio.gather(*(in_thread("naming", threading.get_ident) for _ in range(200)))
    assert len(set(names)) <= STEADY


async def test_a_call_that_is_cancelled_before_a_thread_takes_it_on_is_never_made():
    never, made = threading.Event(), []
    hanging = [asyncio.create_task(in_thread("hanging", never.wait)) for _ in range(STEADY)]
    await asyncio.sleep(0)
    late = asyncio.create_task(in_thread("late", made.append, 1))
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.wait([late])
    never.set()
    await asyncio.gather(*hanging)
    assert await in_thread("adding", lambda: 1) == 1
    assert made == []


async def test_threads_that_are_stuck_are_replaced():
    never = threading.Event()
    for _ in range(3):
        stuck = [asyncio.create_task(in_thread("hanging", never.wait)) for _ in range(STEADY)]
        await asyncio.sleep(0.05)
        for call in stuck:
            call.cancel()
        await asyncio.wait(stuck)
        names = await asyncio.gather(*(in_thread("naming", threading.get_ident) for _ in range(20)))
        assert len(set(names)) <= STEADY
    never.set()
