"""What the attempts at one task gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.task import Task
from rollgrid.scorer.base import Score

__all__ = ["Attempts", "AttemptsOf", "TaskResult", "mean", "share"]


class Attempts(NamedTuple):
    """How many attempts there are, how many have a score, and how many of these passed."""

    n_attempts: int
    n_scored: int
    n_passed: int


class AttemptsOf(Protocol):
    """The attempts of one task where they lie: in the log, or in a large file."""

    @property
    def counts(self) -> Attempts: ...

    def values(self) -> list[float]:
        """The score values in attempt order."""
        ...

    def read(self) -> tuple[AttemptResult, ...]:
        """The attempts, made anew at each call, without their transcripts."""
        ...


@dataclass(repr=False)
class TaskResult:
    """One task's attempts, in attempt order.

    Unscored attempts (errors, timeouts, failed scorers) are in `n_unscored` and in no rate: a timeout is no wrong
    answer.
    """

    task: Task
    attempts: tuple[AttemptResult, ...]

    @classmethod
    def stored(cls, task: Task, source: AttemptsOf) -> Self:
        """A task whose attempts are read when they are first asked for. The counts are known without them."""
        one = cls.__new__(cls)
        one.task = task
        one.__dict__["_source"] = source
        return one

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Only called for what is not set: `attempts` of a stored task, the first time.
            source = self.__dict__.get("_source")
            if name != "attempts" or source is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.attempts = source.read()
            return self.attempts

    def read_attempts(self) -> Sequence[AttemptResult]:
        """As `attempts`, without keeping what had to be read: for going through a large result once."""
        source = self._unread
        return self.attempts if source is None else source.read()

    @property
    def _unread(self) -> AttemptsOf | None:
        """Where the attempts lie, while they are not in memory."""
        return None if "attempts" in self.__dict__ else self.__dict__.get("_source")

    @property
    def scores(self) -> list[Score]:
        """The scores there are, in attempt order."""
        return [attempt.score for attempt in self.attempts if attempt.score is not None]

    @property
    def values(self) -> list[float]:
        """The values of the scores, in attempt order."""
        source = self._unread
        return [score.value for score in self.scores] if source is None else source.values()

    @property
    def n_attempts(self) -> int:
        source = self._unread
        return len(self.attempts) if source is None else source.counts.n_attempts

    @property
    def n_scored(self) -> int:
        source = self._unread
        if source is not None:
            return source.counts.n_scored
        return sum(attempt.score is not None for attempt in self.attempts)

    @property
    def n_unscored(self) -> int:
        return self.n_attempts - self.n_scored

    @property
    def n_passed(self) -> int:
        source = self._unread
        return sum(attempt.passed for attempt in self.attempts) if source is None else source.counts.n_passed

    @property
    def pass_rate(self) -> float | None:
        """Passed over scored attempts; None when nothing is scored."""
        return share(self.n_passed, self.n_scored)

    @property
    def mean_value(self) -> float | None:
        """Mean score value over scored attempts; None when nothing is scored."""
        return mean(self.values)

    @property
    def in_learning_zone(self) -> bool:
        """Whether some scored attempts passed and some did not."""
        return 0 < self.n_passed < self.n_scored

    def __repr__(self) -> str:
        # Not every attempt: asyncio makes the text of whatever a main task returned, and throws it away.
        return f"TaskResult({self.task.id!r}, {self.n_passed} of {self.n_scored} scored passed, n={self.n_attempts})"


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
