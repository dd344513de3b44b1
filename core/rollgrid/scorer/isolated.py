"""Runs a scorer's function in a process of its own, which can be killed.

A thread cannot be stopped, and one that computes without end takes its share of the processor for as long as the
program lives. A process is killed with the attempt that gave up on it, and a fresh one takes its place.
"""

import asyncio
import contextlib
import inspect
import os
import pickle
import signal
import sys
import weakref
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollgrid.scorer.isolated_worker import HEADER, IN_WORKER


class IsolatedScorerError(Exception):
    """The scorer's process died, or could not be given what it needs."""


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """Where another process finds a function: `file` is that of the module, for one that has no name to import."""

    module: str
    name: str
    file: str | None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "FunctionRef":
        """Raises `TypeError` for a function that another process cannot find."""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        if not inspect.isfunction(function) or "<" in name:
            raise TypeError(f"isolate=True needs a function at the top level of a module, which {name} is not")
        module = function.__module__
        file = getattr(sys.modules.get(module), "__file__", None)
        return cls(module, name, str(Path(file).resolve()) if file else None)


async def call_isolated(ref: FunctionRef, run: Any, expected: Any) -> Any:
    """The function's result. Raises an exception of the name and text that it raised, or `IsolatedScorerError`.

    When the caller is cancelled the process is killed, and is gone when this returns.
    """
    try:
        request = pickle.dumps((run, expected))
    except Exception as error:
        raise IsolatedScorerError(f"the output cannot be sent to the scorer's process: {error}") from error
    pool = _pool_of(ref)
    async with pool.slots:
        worker = pool.idle.pop() if pool.idle else await _Worker.start(ref)
        try:
            answer = await worker.ask(request)
        except BaseException:
            await worker.end()
            raise
        pool.idle.append(worker)
    return _result(answer)


async def close_isolated() -> None:
    """End the idle processes of the running loop."""
    for pool in _pools.pop(asyncio.get_running_loop(), {}).values():
        while pool.idle:
            await pool.idle.pop().end()


@dataclass(slots=True)
class _Pool:
    # As many at a time as there are cores: what is isolated is there to compute.
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(max(1, os.cpu_count() or 1)))
    idle: "list[_Worker]" = field(default_factory=list["_Worker"])


_pools: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[FunctionRef, _Pool]]" = weakref.WeakKeyDictionary()


def _pool_of(ref: FunctionRef) -> _Pool:
    return _pools.setdefault(asyncio.get_running_loop(), {}).setdefault(ref, _Pool())


class _Worker:
    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, ref: FunctionRef) -> "_Worker":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "rollgrid.scorer.isolated_worker",
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, IN_WORKER: "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
        )
        worker = cls(process)
        try:
            await worker.ask(pickle.dumps((ref.module, ref.name, ref.file)))
        except BaseException:
            await worker.end()
            raise
        return worker

    async def ask(self, request: bytes) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(HEADER.pack(len(request)) + request)
            await stdin.drain()
            (size,) = HEADER.unpack(await stdout.readexactly(HEADER.size))
            answer: dict[str, Any] = pickle.loads(await stdout.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await self._process.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise IsolatedScorerError(f"the scorer's process ended with {how}") from error
        if "fault" in answer:
            raise IsolatedScorerError(answer["fault"])
        return answer

    async def end(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended in this moment
                os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        await asyncio.shield(self._process.wait())


def _result(answer: dict[str, Any]) -> Any:
    if "error" not in answer:
        return answer["result"]
    name, text = answer["error"]
    # The exception's own class may not be here, or not be made from one text; its name is what counts.
    raise type(str(name), (Exception,), {})(text)
