"""Making a failed model call again: which failures, how often, how long to wait."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from rollgrid.errors import ModelError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

MAX_RETRIES_VARIABLE = "ROLLGRID_MAX_RETRIES"
RETRY_AFTER_CAP = 120.0
"""A server that asks for a longer wait than this, in seconds, is asked again after this."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Up to `max_retries` further tries. The wait before try n is about `base * 2**(n-1)` seconds, at most `cap`.

    Half of the wait is random, so that calls that failed together do not come back together. A server that says how
    long to wait is obeyed instead.
    """

    max_retries: int = 5
    base: float = 0.5
    cap: float = 30.0

    def __post_init__(self) -> None:
        if self.max_retries < 0 or self.base < 0 or self.cap < 0:
            raise ValueError(f"a retry policy holds no negative number, got {self}")

    @classmethod
    def default(cls) -> "RetryPolicy":
        """The policy of models that set none: five retries, or as many as the environment variable says."""
        text = os.environ.get(MAX_RETRIES_VARIABLE, "").strip()
        if not text:
            return _DEFAULT
        if not text.isdecimal():
            raise ValueError(f"{MAX_RETRIES_VARIABLE} must be a whole number, got {text!r}")
        return cls(max_retries=int(text))

    def wait_seconds(self, n: int, retry_after: float | None) -> float:
        """The wait before retry `n` (from 1)."""
        if retry_after is not None and retry_after > 0:
            asked = min(retry_after, RETRY_AFTER_CAP)
            return asked + random.uniform(0.0, min(1.0, asked / 10))
        # 2**60 is out of reach of any cap, and beyond it floats overflow.
        backoff = min(self.cap, self.base * 2.0 ** min(n - 1, 60))
        return backoff * random.uniform(0.5, 1.0)


_DEFAULT = RetryPolicy()


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """A model call failed and is made again after `wait_seconds`."""

    n: int
    limit: int
    wait_seconds: float
    reason: str
    status: int | None = None


async def call_with_retries(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    on_retry: Callable[[RetryNotice], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Call until it succeeds, fails for good or has had its retries; then its `ModelError` is raised.

    A call that succeeds at once, which is nearly all of them, costs nothing extra: the machinery of retrying is only
    brought in by a failure.
    """
    try:
        return await call()
    except ModelError as error:
        if not error.retryable or policy.max_retries == 0:
            raise
        first = error
    import tenacity

    failures = [first]

    async def attempt() -> T:
        # The call that has just failed counts as the first attempt.
        if failures:
            raise failures.pop()
        return await call()

    def wait(state: "RetryCallState") -> float:
        return policy.wait_seconds(state.attempt_number, _error(state).retry_after)

    def tell(state: "RetryCallState") -> None:
        if on_retry is not None:
            error = _error(state)
            seconds = state.next_action.sleep if state.next_action is not None else 0.0
            on_retry(RetryNotice(state.attempt_number, policy.max_retries, seconds, str(error), error.status))

    retrying = tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(policy.max_retries + 1),
        wait=wait,
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
        before_sleep=tell,
        sleep=sleep,
        reraise=True,
    )
    return await retrying(attempt)


def _error(state: "RetryCallState") -> ModelError:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, ModelError):
        raise TypeError(f"only a ModelError is retried, got {type(error).__name__}")
    return error


def parse_retry_after(milliseconds: str | None, value: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait from the headers `retry-after-ms` and `retry-after` (seconds or an HTTP date); None: no wish."""
    for text, unit in ((milliseconds, 1000.0), (value, 1.0)):
        if text is None:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            continue
        # NaN and infinity parse as floats, and are no time to wait.
        return min(max(seconds, 0.0), RETRY_AFTER_CAP) if seconds == seconds else None
    if value is None:
        return None
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return min(max((when - (now or datetime.now(UTC))).total_seconds(), 0.0), RETRY_AFTER_CAP)
