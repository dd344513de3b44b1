"""What a server's headers say about its rate limits, and how much of them is left. Pure: the clock is the caller's.

Servers in the manner of OpenAI send `x-ratelimit-limit-requests`, `x-ratelimit-remaining-requests` and
`x-ratelimit-reset-requests`, and the same for tokens. `reset` is the time until nothing of the limit is used up any
more; it is taken as a bucket that refills evenly, which `(limit - remaining) / reset` gives the pace of.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 86400.0


def parse_span(text: str) -> float | None:
    """Seconds out of `20ms`, `1.5s`, `6m0s`, `1h2m`, or a bare number; None for anything else."""
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            return None
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return min(seconds, _LONGEST) if seconds >= 0 else None


@dataclass(slots=True)
class Bucket:
    """`level` units were left at `at`, and `pace` come back each second, up to `limit`."""

    limit: float
    level: float
    at: float
    pace: float

    def left(self, now: float) -> float:
        return min(self.limit, self.level + self.pace * max(0.0, now - self.at))

    def wait_for(self, units: float, now: float) -> float:
        """Seconds until `units` are there, 0 when they are. More than the whole is waited for as the whole."""
        missing = min(units, self.limit) - self.left(now)
        # What the sum of many small floats lacks is no missing request.
        return missing / self.pace if missing > 1e-6 else 0.0


class RateLimits:
    """The limits of one model at one endpoint, as far as its answers told of any.

    Calls in flight may or may not be counted in what the server says is left, so each of them is taken off again:
    that keeps a small reserve and never asks for too much.
    """

    def __init__(self) -> None:
        self._requests: Bucket | None = None
        self._tokens: Bucket | None = None
        self._tokens_of_a_call = 0.0

    def told(self, headers: Mapping[str, str], now: float) -> None:
        """Take in the headers of an answer."""
        self._requests = _bucket(headers, "requests", now, self._requests)
        self._tokens = _bucket(headers, "tokens", now, self._tokens)

    def used(self, tokens: int) -> None:
        """A call took this many tokens, in and out; the next one is expected to take about as many."""
        known = self._tokens_of_a_call
        self._tokens_of_a_call = tokens if not known else known + 0.2 * (tokens - known)

    def wait_seconds(self, in_flight: int, now: float) -> float:
        """How long until one more call fits, with this many in flight."""
        waits = [0.0]
        if self._requests is not None:
            waits.append(self._requests.wait_for(in_flight + 1, now))
        if self._tokens is not None:
            waits.append(self._tokens.wait_for((in_flight + 1) * max(1.0, self._tokens_of_a_call), now))
        return max(waits)


def _bucket(headers: Mapping[str, str], what: str, now: float, known: Bucket | None) -> Bucket | None:
    limit = _number(headers.get(f"x-ratelimit-limit-{what}"))
    left = _number(headers.get(f"x-ratelimit-remaining-{what}"))
    if left is None or (limit is None and known is None):
        return known
    if limit is None and known is not None:
        limit = known.limit
    if not limit or limit < 1:
        return known
    reset = parse_span(headers.get(f"x-ratelimit-reset-{what}") or "")
    used = limit - left
    pace = used / reset if reset and used > 0 else (known.pace if known is not None else limit / 60)
    return Bucket(limit, left, now, pace)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
