"""Scores SQL by executing it: the rows count, not the wording.

`expected` is `{"setup": script, "rows": [[...], ...]}`. The script builds a private database in memory; the query that
the model wrote runs there, in a process of its own that can only read, and its rows are compared with the expected
ones. A query that is refused, fails, runs away or returns too much scores 0 with the reason. A fixture that cannot be
built is an error of the environment and leaves the attempt unscored.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from rollgrid.agent.run import RunOutput
from rollgrid.scorer.base import Score
from rollgrid.scorer.canonical import digest
from rollgrid.scorer.sql_process import SqlFixtureError, SqlLimits, run_query

__all__ = ["SqlFixtureError", "SqlLimits", "SqlScorer", "executes_to_expected_rows", "sql_of"]

RULES_VERSION = 1
"""Stands for what is allowed and how rows compare; raised when either changes, since it changes what a score means."""

_SHOWN = 400


class SqlScorer:
    """Runs the answer's SQL on the fixture in `expected` and compares the rows.

    `ordered=False` compares them as a multiset. `float_tolerance` is the absolute difference up to which two numbers
    are equal; without it numbers compare as in Python (`1 == 1.0`).
    """

    def __init__(
        self, *, ordered: bool = True, float_tolerance: float | None = None, limits: SqlLimits | None = None
    ) -> None:
        if float_tolerance is not None and not 0 <= float_tolerance < math.inf:
            raise ValueError(f"float_tolerance must be a number of at least 0, got {float_tolerance!r}")
        self.ordered = ordered
        self.float_tolerance = float_tolerance
        self.limits = limits or SqlLimits()

    async def ascore(self, run: RunOutput, expected: Any) -> Score:
        setup, wanted = _fixture(expected)
        sql = sql_of(run)
        if sql is None:
            why = f": {run.problem}" if run.problem else ""
            return Score(0.0, False, reason=f"the answer holds no query{why}")
        result = await run_query(setup, sql, self.limits)
        if result.rows is None:
            return Score(0.0, False, reason=result.problem)
        rows = result.rows
        passed = self._equal(rows, wanted)
        detail = {"n_rows": len(rows)}
        if passed:
            return Score(1.0, True, reason=f"returned the {len(rows)} expected rows", detail=detail)
        return Score(0.0, False, reason=_difference(rows, wanted), detail=detail)

    def digest(self) -> str:
        """sha256 over the rules' version and every option."""
        parts: dict[str, Any] = {
            "scorer": "sql",
            "rules": RULES_VERSION,
            "ordered": self.ordered,
            "float_tolerance": self.float_tolerance,
            "limits": asdict(self.limits),
        }
        return digest(parts, "SqlScorer")

    def _equal(self, rows: list[list[Any]], wanted: list[list[Any]]) -> bool:
        if len(rows) != len(wanted):
            return False
        if self.ordered:
            return all(self._same_row(row, want) for row, want in zip(rows, wanted, strict=True))
        if self.float_tolerance is None:
            return _counts(rows) == _counts(wanted)
        left = list(rows)
        for want in wanted:
            for i, row in enumerate(left):
                if self._same_row(row, want):
                    del left[i]
                    break
            else:
                return False
        return True

    def _same_row(self, row: list[Any], want: list[Any]) -> bool:
        return len(row) == len(want) and all(
            _same_cell(a, b, self.float_tolerance) for a, b in zip(row, want, strict=True)
        )


async def executes_to_expected_rows(run: RunOutput, expected: Any) -> Score:
    """For `CodeScorer(executes_to_expected_rows)`: the default `SqlScorer`, rows in order and exactly equal."""
    return await SqlScorer().ascore(run, expected)


def sql_of(run: RunOutput) -> str | None:
    """The query in a run's answer: the field `sql` of a typed answer, of a JSON object, or the answer's whole text."""
    content = run.content
    if isinstance(content, str):
        try:
            parsed: Any = json.loads(content)
        except ValueError:
            return content
        content = cast("Any", parsed) if isinstance(parsed, dict) else content
    if isinstance(content, Mapping):
        sql: Any = cast("Mapping[str, Any]", content).get("sql")
    else:
        sql = content if isinstance(content, str) else getattr(content, "sql", None)
    return sql if isinstance(sql, str) else None


def _fixture(expected: Any) -> tuple[str, list[list[Any]]]:
    if not isinstance(expected, Mapping):
        raise TypeError(f"expected must be a mapping with setup and rows, got {type(expected).__name__}")
    fixture = cast("Mapping[str, Any]", expected)
    setup, rows = fixture.get("setup"), fixture.get("rows")
    if not isinstance(setup, str) or not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise TypeError("expected must hold `setup`, a SQL script, and `rows`, a list of rows")
    return setup, [list(row) for row in cast("Sequence[Sequence[Any]]", rows)]


def _same_cell(a: Any, b: Any, tolerance: float | None) -> bool:
    if tolerance is not None and isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= tolerance
    return bool(a == b)


def _counts(rows: list[list[Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)


def _difference(rows: list[list[Any]], wanted: list[list[Any]]) -> str:
    """What came back and where it first goes wrong, in one line of bounded length."""
    if len(rows) != len(wanted):
        where = f"{len(rows)} rows instead of {len(wanted)}"
    else:
        at = next((i for i, (row, want) in enumerate(zip(rows, wanted, strict=True)) if row != want), None)
        where = "another order or value" if at is None else f"row {at + 1} differs"
    shown = repr(rows[:20])
    return f"{where}; returned rows: {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + ' ...'}"
