"""What a score is and what can give one."""

import decimal
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rollgrid.agent.run import RunOutput

AnyRunOutput = RunOutput
"""The seed library's name for what scorers are given."""


class FingerprintError(Exception):
    """A part of the environment or policy cannot be fingerprinted."""


class MismatchError(Exception):
    """Two results do not come from the same environment, so their rates cannot be compared.

    `parts` tells for each part of the environment (tasks, scorer, prompt, tools, ...) whether it is `same`, `differs`
    or `unknown`; a result that does not say what it is made of leaves everything unknown that cannot be seen in it.
    """

    def __init__(self, message: str, parts: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.parts: dict[str, str] = dict(parts or {})


@dataclass(slots=True)
class Score:
    """The verdict on one run. `value` is in [0, 1]; anything else, NaN included, is an error.

    A number or truth value of another kind (a Decimal, or numpy's) is turned into Python's float or bool.
    """

    value: float
    passed: bool
    reason: str | None = None
    detail: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.value = unit_value(self.value, "Score.value")
        self.passed = truth(self.passed, "Score.passed")
        if self.reason is not None and not isinstance(self.reason, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Score.reason must be text, got {type(self.reason).__name__}")
        if self.detail is not None and not isinstance(self.detail, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Score.detail must be a dict, got {type(self.detail).__name__}")


def as_score(given: object) -> Score:
    """What a scorer gave, checked: a `Score`, or another library's object with the same attributes.

    A `Score` is looked at too, since its fields may have been set after it was made. Raises `TypeError` and
    `ValueError` for everything else: of a bare number nobody knows whether it passes.
    """
    if given is None:
        raise TypeError("the scorer returned no score")
    if not hasattr(given, "value") or not hasattr(given, "passed"):
        raise TypeError(f"ascore() must return a Score, got {type(given).__name__}")
    one: Any = given
    return Score(one.value, one.passed, getattr(one, "reason", None), getattr(one, "detail", None))


def is_foreign_bool(value: object) -> bool:
    """Whether `value` is numpy's truth value. Told by name, so that numpy need not be installed or imported."""
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")


def truth(value: object, what: str) -> bool:
    """`value` as a bool: a bool, numpy's bool, or the number 0 or 1."""
    if isinstance(value, bool):
        return value
    if is_foreign_bool(value) or (isinstance(value, numbers.Real) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{what} must be True or False, got {type(value).__name__}")


def unit_value(value: object, what: str) -> float:
    """`value` as a float in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, decimal.Decimal)):
        raise TypeError(f"{what} must be a number in [0, 1], got {type(value).__name__}")
    try:
        number = float(value)
    except (OverflowError, ValueError):  # beyond every float; a signalling NaN of decimal
        number = math.inf
    if math.isnan(number) or not 0.0 <= number <= 1.0:
        raise ValueError(f"{what} must be in [0, 1], got {number!r}")
    return number


@runtime_checkable
class Scorer(Protocol):
    """Anything with these two methods can score."""

    async def ascore(self, run: RunOutput, expected: Any) -> Score:
        """Score one completed run. Raising leaves the attempt unscored."""
        ...

    def digest(self) -> str:
        """A stable hash of what decides the score. Raises `FingerprintError` where there is none."""
        ...
