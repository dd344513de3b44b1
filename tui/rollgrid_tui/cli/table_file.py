"""A run as a table for spreadsheets and data frames: one row an attempt, without prompts and answers."""

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollgrid.environments import EnvironmentRunResult
    from rollgrid.environments.attempt import AttemptResult

COLUMNS = (
    "env",
    "task",
    "attempt",
    "take",
    "outcome",
    "passed",
    "value",
    "reason",
    "stop_reason",
    "error_type",
    "error",
    "duration_seconds",
    "input_tokens",
    "output_tokens",
    "cost",
    "model",
    "model_kind",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that starts so is a formula to a spreadsheet, and the text may be a model's."""


def csv_bytes(result: "EnvironmentRunResult") -> bytes:
    """UTF-8 with a header line; metadata follows in columns of its own, `metadata.KEY`. A missing value is empty."""
    keys = sorted({str(key) for one in result.task_results for key in one.task.metadata})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"metadata.{key}" for key in keys)])
    for one in result.task_results:
        metadata = {str(key): value for key, value in one.task.metadata.items()}
        for number, attempt in enumerate(one.read_attempts(), start=1):
            facts = {"env": result.env_name, "task": one.task.id, **_facts(attempt, number)}
            facts |= {key: result.about.get(key) for key in ("model", "model_kind")}
            writer.writerow(
                [plain_cell(facts[name]) for name in COLUMNS] + [plain_cell(metadata.get(key)) for key in keys]
            )
    return out.getvalue().encode("utf-8", "backslashreplace")


def _facts(attempt: "AttemptResult", number: int) -> dict[str, Any]:
    score, usage = attempt.score, attempt.usage
    return {
        "attempt": attempt.index or number,
        "take": attempt.take,
        "outcome": "unscored" if score is None else "pass" if score.passed else "fail",
        "passed": None if score is None else int(score.passed),
        "value": None if score is None else score.value,
        "reason": None if score is None else score.reason,
        "stop_reason": attempt.stop_reason.value,
        "error_type": attempt.error_type,
        "error": attempt.error,
        "duration_seconds": attempt.duration_seconds,
        "input_tokens": None if usage is None else usage.input_tokens,
        "output_tokens": None if usage is None else usage.output_tokens,
        "cost": None if usage is None else usage.cost,
    }


def plain_cell(value: Any) -> Any:
    """A value as a cell that no spreadsheet takes for a formula."""
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
