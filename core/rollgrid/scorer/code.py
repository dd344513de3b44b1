"""Scores a run with a Python function."""

import asyncio
import decimal
import inspect
import numbers
from collections.abc import Awaitable, Callable
from typing import Any

from rollgrid.agent.run import RunOutput
from rollgrid.scorer.base import Score, is_foreign_bool, unit_value
from rollgrid.scorer.canonical import digest
from rollgrid.scorer.isolated import FunctionRef, call_isolated, close_isolated
from rollgrid.scorer.source import describe_code
from rollgrid.threads import in_thread

ScoreFunction = Callable[[Any, Any], Any]


class CodeScorer:
    """Scores with `fn(run, expected)`, a function or a callable object, sync or async.

    `fn` returns a bool (value 1.0 or 0.0, the threshold plays no part), a number in [0, 1] (`passed` is
    `value >= pass_threshold`), or a `Score`, which is taken as it is. Everything else is an error: None, text, a number
    out of range, NaN. A sync function runs in a thread, so that it never holds up other attempts. It cannot be stopped
    there: one that is still running when its attempt's time is up is left to itself, and the log says so.

    `isolate=True` runs `fn` in a process of its own, which is killed when the attempt's time is up: for a function that
    computes for long, may hang, or may crash the interpreter. It must stand at the top level of a module; the output
    and the expected value are pickled to get there. The process is kept for further attempts, and there are at most as
    many as there are cores. The verdict is the same either way, so this is no part of the digest.

    `run.content` is what the agent answered: text, or an instance of its `output_schema`.
    """

    def __init__(self, fn: ScoreFunction, pass_threshold: float = 0.5, *, isolate: bool = False) -> None:
        if not callable(fn):
            raise TypeError(f"CodeScorer needs a function of (run, expected), got {type(fn).__name__}")
        self.fn = fn
        self.pass_threshold = unit_value(pass_threshold, "pass_threshold")
        self._is_async = _is_async(fn)
        self._ref = FunctionRef.of(fn) if isolate else None

    async def ascore(self, run: RunOutput, expected: Any = None) -> Score:
        """Score one run. Raises what `fn` raises, and `TypeError` or `ValueError` for a result that is no score."""
        if self._ref is not None:
            return self._as_score(await call_isolated(self._ref, run, expected))
        if self._is_async:
            result = self.fn(run, expected)
        else:
            result = await in_thread(f"scorer {_name(self.fn)}", _call, self.fn, run, expected)
        if inspect.isawaitable(result):
            # Also a lambda around an async function, which is only found out when it is called.
            result = await _wait(result)
        return self._as_score(result)

    def score(self, run: RunOutput, expected: Any = None) -> Score:
        """As `ascore`, for scripts without an event loop."""
        if self._ref is not None:
            return asyncio.run(self._score_isolated(run, expected))
        result = _call(self.fn, run, expected)
        if inspect.isawaitable(result):
            result = asyncio.run(_wait(result))
        return self._as_score(result)

    async def _score_isolated(self, run: RunOutput, expected: Any) -> Score:
        try:
            return await self.ascore(run, expected)
        finally:
            await close_isolated()

    def _as_score(self, result: Any) -> Score:
        if isinstance(result, Score):
            return result
        if isinstance(result, bool) or is_foreign_bool(result):
            return Score(1.0 if result else 0.0, bool(result))
        if isinstance(result, (numbers.Real, decimal.Decimal)):
            value = unit_value(result, "the scorer's result")
            return Score(value, value >= self.pass_threshold)
        raise TypeError(
            f"the scorer must return a bool, a number in [0, 1] or a Score, got {type(result).__name__}"
            + (" (a function without a return statement gives None)" if result is None else "")
        )

    def digest(self) -> str:
        """sha256 over what the function is and the threshold. Raises `FingerprintError` where that cannot be told.

        Covered, so that a change of any of it changes the digest:

        - the function's own source text, dedented (comments count; for a lambda only the lambda itself);
        - its default arguments and the values that its closure holds;
        - the module-level names that it uses: constants by value; functions and classes of the same module by their
          source, and what those use in turn; functions, classes and modules of elsewhere by name only;
        - plain values read from another module of yours (`settings.LIMIT`);
        - for a bound method or callable object: its class's source and the object's own state.

        A value that is not data (an open connection, a random generator, an object of a class from elsewhere) cannot be
        hashed and raises. Not covered: the inside of functions imported from other modules, and files or services that
        the function reads.
        """
        return digest(
            {"scorer": "code", "code": describe_code(self.fn), "pass_threshold": self.pass_threshold}, "CodeScorer"
        )


def _call(fn: ScoreFunction, run: RunOutput, expected: Any) -> Any:
    try:
        return fn(run, expected)
    except SystemExit as error:
        # It would end the run, not the attempt.
        raise RuntimeError(f"the scorer called sys.exit({error.code!r})") from error
    except StopIteration as error:
        # It cannot cross the boundary between a thread and a coroutine.
        raise RuntimeError(f"the scorer raised StopIteration: {error}") from error


async def _wait(result: Awaitable[Any]) -> Any:
    try:
        return await result
    except SystemExit as error:
        raise RuntimeError(f"the scorer called sys.exit({error.code!r})") from error


def _name(fn: ScoreFunction) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__


def _is_async(fn: ScoreFunction) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
