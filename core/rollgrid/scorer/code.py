"""Scores a run with a Python function."""

import asyncio
import inspect
import numbers
from collections.abc import Awaitable, Callable
from typing import Any

from rollgrid.agent.run import RunOutput
from rollgrid.scorer.base import Score, is_foreign_bool, unit_value
from rollgrid.scorer.canonical import digest
from rollgrid.scorer.source import describe_code

ScoreFunction = Callable[[Any, Any], Any]


class CodeScorer:
    """Scores with `fn(run, expected)`, a function or a callable object, sync or async.

    `fn` returns a bool (value 1.0 or 0.0, the threshold plays no part), a number in [0, 1] (`passed` is
    `value >= pass_threshold`), or a `Score`, which is taken as it is. Everything else is an error: None, text, a number
    out of range, NaN. A sync function runs in a thread, so that it never holds up other attempts; it cannot be stopped
    there, so a scorer that may hang should watch a deadline of its own.

    `run.content` is what the agent answered: text, or an instance of its `output_schema`.
    """

    def __init__(self, fn: ScoreFunction, pass_threshold: float = 0.5) -> None:
        if not callable(fn):
            raise TypeError(f"CodeScorer needs a function of (run, expected), got {type(fn).__name__}")
        self.fn = fn
        self.pass_threshold = unit_value(pass_threshold, "pass_threshold")
        self._is_async = _is_async(fn)

    async def ascore(self, run: RunOutput, expected: Any = None) -> Score:
        """Score one run. Raises what `fn` raises, and `TypeError` or `ValueError` for a result that is no score."""
        result = self.fn(run, expected) if self._is_async else await asyncio.to_thread(_call, self.fn, run, expected)
        if inspect.isawaitable(result):
            # Also a lambda around an async function, which is only found out when it is called.
            result = await _wait(result)
        return self._as_score(result)

    def score(self, run: RunOutput, expected: Any = None) -> Score:
        """As `ascore`, for scripts without an event loop."""
        result = _call(self.fn, run, expected)
        if inspect.isawaitable(result):
            result = asyncio.run(_wait(result))
        return self._as_score(result)

    def _as_score(self, result: Any) -> Score:
        if isinstance(result, Score):
            return result
        if isinstance(result, bool) or is_foreign_bool(result):
            return Score(1.0 if result else 0.0, bool(result))
        if isinstance(result, numbers.Real):
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


def _is_async(fn: ScoreFunction) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
