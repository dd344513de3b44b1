"""Rate limits: a bucket that refills through the minute, and the headers that tell of it."""

from dataclasses import dataclass


class Bucket:
    """Holds up to `limit` units and gains `limit` a minute. `now` is any clock in seconds, the caller's own."""

    __slots__ = ("_at", "_level", "limit")

    def __init__(self, limit: int, now: float) -> None:
        self.limit = limit
        self._level = float(limit)
        self._at = now

    def level(self, now: float) -> float:
        gained = max(0.0, now - self._at) * self.limit / 60
        self._level = min(float(self.limit), self._level + gained)
        self._at = now
        return self._level

    def take(self, units: int, now: float) -> None:
        """May leave the bucket below zero: what an answer costs is known only afterwards."""
        self._level = self.level(now) - units

    def wait_for(self, units: int, now: float) -> float:
        """Seconds until `units` are there, 0 when they are."""
        return max(0.0, units - self.level(now)) * 60 / self.limit


@dataclass(frozen=True, slots=True)
class Denied:
    """A request over the limit. `wait` is in seconds; None when it can never fit."""

    what: str
    limit: int
    wait: float | None


class Limits:
    """The limits of one spec; 0 is no limit."""

    def __init__(self, rpm: int, tpm: int, now: float) -> None:
        self._requests = Bucket(rpm, now) if rpm else None
        self._tokens = Bucket(tpm, now) if tpm else None

    def admit(self, tokens: int, now: float) -> Denied | None:
        """Take one request of `tokens` input tokens, or say why not; then nothing is taken."""
        if self._tokens is not None and tokens > self._tokens.limit:
            return Denied("tokens", self._tokens.limit, None)
        for what, bucket, units in (("requests", self._requests, 1), ("tokens", self._tokens, tokens)):
            if bucket is not None and (wait := bucket.wait_for(units, now)) > 0:
                return Denied(what, bucket.limit, wait)
        if self._requests is not None:
            self._requests.take(1, now)
        if self._tokens is not None:
            self._tokens.take(tokens, now)
        return None

    def spend(self, tokens: int, now: float) -> None:
        """Charge what an answer cost."""
        if self._tokens is not None:
            self._tokens.take(tokens, now)

    def headers(self, now: float) -> list[tuple[str, str]]:
        out: list[tuple[str, str]] = []
        for what, bucket in (("requests", self._requests), ("tokens", self._tokens)):
            if bucket is not None:
                out.append((f"x-ratelimit-limit-{what}", str(bucket.limit)))
                out.append((f"x-ratelimit-remaining-{what}", str(max(0, int(bucket.level(now))))))
                out.append((f"x-ratelimit-reset-{what}", span(bucket.wait_for(bucket.limit, now))))
        return out


def span(seconds: float) -> str:
    """A time as the headers write it: `20ms`, `1.5s`, `6m0s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{int(rest)}s" if minutes else f"{round(rest, 3):g}s"
