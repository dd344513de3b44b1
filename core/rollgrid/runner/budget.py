"""What a run may spend, over all of its sessions. Pure: no clock, no I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

Verdict = Literal["start", "wait", "stop"]

FIRST_WAVE = 4
"""Attempts that start before anybody knows what one of them takes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """US dollars, tokens in and out, seconds during which the run was not paused. None: no limit."""

    max_cost: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"{name} must be above 0, got {value}")

    def __bool__(self) -> bool:
        return (self.max_cost, self.max_tokens, self.max_seconds) != (None, None, None)

    def over(self, earlier: Self) -> Self:
        """These limits, and for what they leave open those of an earlier session."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return type(self)(**{**asdict(earlier), **given})

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        tokens = data.get("max_tokens")
        return cls(data.get("max_cost"), None if tokens is None else int(tokens), data.get("max_seconds"))


@dataclass(frozen=True, slots=True)
class Spent:
    """What was paid, or is expected to be: for one attempt or for many."""

    cost: float = 0.0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Seen:
    n: int = 0
    cost: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def add(self, spent: Spent) -> None:
        self.n += 1
        self.cost += spent.cost
        self.tokens += spent.tokens
        self.seconds += spent.seconds

    def mean(self) -> Spent:
        return Spent(self.cost / self.n, round(self.tokens / self.n), self.seconds / self.n)


@dataclass(slots=True)
class Budget:
    """Says before each attempt whether the limits leave room for it.

    An attempt is expected to take what those of its task took on average, or else those of all tasks; one in flight at
    least what it has taken already. An attempt that ended without a token (a refusal, say) teaches nothing. Until one
    has ended that does, at most `FIRST_WAVE` are in flight.
    """

    limits: Limits
    spent: Spent = field(default_factory=Spent)
    """Ended attempts, superseded ones included. Its `seconds` are not used: the time of the run is asked for."""
    _by_task: dict[int, _Seen] = field(default_factory=dict[int, _Seen])
    _all: _Seen = field(default_factory=_Seen)

    def ended(self, task: int, attempt: Spent) -> None:
        """Take in an attempt that is over: it was paid for."""
        self.pay(attempt)
        self.learn(task, attempt)

    def pay(self, what: Spent) -> None:
        """Take in something that was paid for and is no whole attempt."""
        self.spent = Spent(self.spent.cost + what.cost, self.spent.tokens + what.tokens)

    def learn(self, task: int, attempt: Spent) -> None:
        """Take in what an attempt took that is paid for already, for the forecast only."""
        if attempt.tokens:
            self._by_task.setdefault(task, _Seen()).add(attempt)
            self._all.add(attempt)

    def expected(self, task: int) -> Spent:
        seen = self._by_task.get(task, self._all)
        return seen.mean() if seen.n else Spent()

    def verdict(self, task: int, in_flight: Iterable[tuple[int, Spent]], active_seconds: float) -> tuple[Verdict, str]:
        """Whether one more attempt of `task` may start, and why not.

        `in_flight` are tasks with what their attempts have taken so far. `wait`: what is in flight may turn out to
        take less than expected. `stop`: nothing can change the answer.
        """
        limits = self.limits
        if not limits:
            return "start", ""
        flying = list(in_flight)
        next_one = self.expected(task)
        if limits.max_seconds is not None and active_seconds + next_one.seconds > limits.max_seconds:
            return "stop", f"time: {active_seconds:.0f} s of {limits.max_seconds:.0f} s are used"
        cost, tokens = self._forecast(flying)
        why = None
        if limits.max_cost is not None and self._is_over(cost, next_one.cost, limits.max_cost):
            why = f"cost: ${self.spent.cost:.4f} of ${limits.max_cost:g} is spent"
        elif limits.max_tokens is not None and self._is_over(tokens, next_one.tokens, limits.max_tokens):
            why = f"tokens: {self.spent.tokens:,} of {limits.max_tokens:,} are used"
        if why is not None:
            return ("wait" if flying else "stop"), why
        if self._all.n == 0 and len(flying) >= FIRST_WAVE and (limits.max_cost or limits.max_tokens):
            return "wait", "the first attempts show what one takes"
        return "start", ""

    def _is_over(self, forecast: float, next_one: float, limit: float) -> bool:
        return forecast + next_one > limit or forecast >= limit

    def _forecast(self, flying: list[tuple[int, Spent]]) -> tuple[float, int]:
        """Cost and tokens once everything in flight has ended."""
        cost, tokens = self.spent.cost, self.spent.tokens
        for task, so_far in flying:
            expected = self.expected(task)
            cost += max(expected.cost, so_far.cost)
            tokens += max(expected.tokens, so_far.tokens)
        return cost, tokens
