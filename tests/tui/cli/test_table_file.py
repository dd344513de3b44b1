"""A run as a table."""

import csv
import io

from rollgrid.environments import AttemptResult, EnvironmentRunResult, StopReason, Task
from rollgrid.environments.result import TaskResult
from rollgrid.scorer import Score
from rollgrid_tui.cli.table_file import csv_bytes


def rows(*attempts: AttemptResult) -> list[dict[str, str]]:
    result = EnvironmentRunResult(
        env_name="marks",
        k=len(attempts),
        env_fingerprint=None,
        policy_fingerprint=None,
        task_results=(TaskResult(Task("q", id="t", metadata={"split": "odd"}), attempts),),
        duration_seconds=1.0,
        stopped_early=None,
    )
    return list(csv.DictReader(io.StringIO(csv_bytes(result).decode(), newline="")))


def test_an_unscored_attempt_has_no_value() -> None:
    (row,) = rows(AttemptResult(None, None, StopReason.error, 0.5, "401", error_type="ModelError"))
    assert (row["outcome"], row["passed"], row["value"], row["error"]) == ("unscored", "", "", "401")
    assert (row["metadata.split"], row["duration_seconds"]) == ("odd", "0.5")


def test_text_that_a_spreadsheet_would_calculate_stays_text() -> None:
    (row,) = rows(AttemptResult(None, Score(0.0, False, "=HYPERLINK(1)"), StopReason.completed, 0.5))
    assert row["reason"] == "'=HYPERLINK(1)"
    assert row["value"] == "0.0"


def test_text_that_utf8_cannot_hold_is_escaped() -> None:
    (row,) = rows(AttemptResult(None, Score(1.0, True, "a\ud800\nb"), StopReason.completed, 0.5))
    assert row["reason"] == "a\\ud800\nb"
