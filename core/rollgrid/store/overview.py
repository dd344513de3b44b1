"""A run at a glance: one row a task, summed up by SQLite, for whoever opens a run of a hundred thousand attempts.

Reading every attempt of such a run takes most of a second; its sums take a tenth of that, and say all that a grid
shows.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

LATELY = 60.0
"""Seconds before the newest end of an attempt that count as lately."""


class TaskSum(NamedTuple):
    """The takes of a task that count, or the newest where none does, in sums.

    `marks` has a letter for each attempt that was started: P passed, F failed, `~` failed with part of the score,
    E error, T timeout, C cancelled, `>` running, R waiting to try again, S superseded. The sums are those of takes that
    ended and were not superseded; of all takes for `tokens`, `cost` (US dollars), `n_priced` and `retries`.
    """

    task: int
    marks: Mapping[int, str]
    n_ended: int
    value: float
    seconds: float
    n_completed: int
    tokens: int
    cost: float
    n_priced: int
    retries: int


class Overview(NamedTuple):
    """`seq` is the last change that is surely in it; `ended_lately` are times of the last minute of the run."""

    seq: int
    tasks: list[TaskSum]
    ended_lately: list[float]


class Query(Protocol):
    async def __call__(self, statement: str, *arguments: Any) -> list[Any]: ...


_SUMS = """
SELECT printf('%d|%s|%d|%!.17g|%!.17g|%d|%d|%!.17g|%d|%d', task, group_concat(attempt || CASE
  WHEN superseded IS NOT NULL THEN 'S' WHEN phase = 'retrying' THEN 'R' WHEN phase <> 'ended' THEN '>'
  WHEN passed IS NULL THEN CASE WHEN stop_reason = 'timeout' THEN 'T'
    WHEN stop_reason IN ('cancelled', 'paused') THEN 'C' ELSE 'E' END
  WHEN passed THEN 'P' WHEN value THEN '~' ELSE 'F' END, ' '),
total(superseded IS NULL AND phase = 'ended'),
total(value) FILTER (WHERE superseded IS NULL AND phase = 'ended'),
total(duration_seconds) FILTER (WHERE superseded IS NULL AND phase = 'ended' AND stop_reason = 'completed'),
count(duration_seconds) FILTER (WHERE superseded IS NULL AND phase = 'ended' AND stop_reason = 'completed'),
sum(input_tokens + output_tokens), total(cost), count(cost), sum(retries)) AS line, max(take) AS takes
"""
_SINGLE_TAKES = f"{_SUMS} FROM attempt WHERE run_id = ? GROUP BY task"
# Of several takes of an attempt the row with the greatest weight is the one that the other columns are taken from.
_MANY_TAKES = f"""{_SUMS} FROM (
  SELECT task, attempt, take, phase, stop_reason, passed, value, superseded, duration_seconds, input_tokens,
  output_tokens, cost, retries, max((superseded IS NULL) * {1 << 32} + take)
  FROM attempt WHERE run_id = ? GROUP BY task, attempt
) GROUP BY task"""
# One row with a line a task: between two rows SQLite asks for Python's lock, which takes it five milliseconds each time
# while something else is computed, so that a thousand rows would take as long as all else together.
_AS_ONE = "SELECT group_concat(line, char(10)), max(takes) FROM ({})"
_LATELY = f"""
SELECT ended_at FROM attempt WHERE run_id = ? AND ended_at > (
  SELECT max(ended_at) - {LATELY} FROM attempt WHERE run_id = ?
) ORDER BY ended_at
"""


async def read_overview(query: Query, run_id: str, *, lately: bool) -> Overview:
    """`query` runs a statement on the log and gives its rows. Without `lately` those times are left out."""
    # First what it is sure to hold: an attempt that changes meanwhile is told of again by whoever asks for changes.
    seq = (await query("SELECT max(seq) FROM attempt WHERE run_id = ?", run_id))[0][0] or 0
    ((lines, takes),) = await query(_AS_ONE.format(_SINGLE_TAKES), run_id)
    if takes is not None and takes > 1:
        ((lines, takes),) = await query(_AS_ONE.format(_MANY_TAKES), run_id)
    times = await query(_LATELY, run_id, run_id) if lately else []
    return Overview(seq, [_task_sum(line) for line in lines.split("\n")] if lines else [], [row[0] for row in times])


def _task_sum(line: str) -> TaskSum:
    task, said, ended, value, seconds, completed, tokens, cost, priced, retries = line.split("|")
    marks = {int(one[:-1]): one[-1] for one in said.split()}
    return TaskSum(
        int(task),
        marks,
        int(ended),
        float(value),
        float(seconds),
        int(completed),
        int(tokens),
        float(cost),
        int(priced),
        int(retries),
    )
