"""What a score is and what can give one."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rollgrid.agent.run import RunOutput


class FingerprintError(Exception):
    """A part of the environment or policy cannot be fingerprinted."""


class MismatchError(Exception):
    """Two results do not come from the same environment, so their rates cannot be compared."""


@dataclass(slots=True)
class Score:
    """The verdict on one run. `value` is in [0, 1]."""

    value: float
    passed: bool
    reason: str | None = None
    detail: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Score.value must be a number in [0, 1], got {type(self.value).__name__}")
        if math.isnan(self.value) or not 0.0 <= self.value <= 1.0:
            raise ValueError(f"Score.value must be in [0, 1], got {self.value!r}")


@runtime_checkable
class Scorer(Protocol):
    """Anything with these two methods can score."""

    async def ascore(self, run: RunOutput, expected: Any) -> Score:
        """Score one completed run. Raising leaves the attempt unscored."""
        ...

    def digest(self) -> str:
        """A stable hash of what decides the score. Raises `FingerprintError` where there is none."""
        ...
