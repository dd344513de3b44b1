"""What a run gave: per task, and as a whole."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rollgrid.environments.task_result import TaskResult, mean, share

if TYPE_CHECKING:
    from rollgrid.analysis.estimators import RunStatistics
    from rollgrid.environments.diff import EnvironmentDiff

__all__ = ["EnvironmentRunResult", "TaskResult"]


@dataclass(repr=False)
class EnvironmentRunResult:
    """The result of one run of an environment.

    `stopped_early` is None for a run that went through, else the rule or person that ended it (`error-storm`,
    `interrupted`, ...). `fingerprint_parts` are the digests of what the environment fingerprint is made of; `about`
    holds further facts (model, run id, versions) that are kept with a saved file and enter no figure.
    """

    env_name: str
    k: int
    env_fingerprint: str | None
    policy_fingerprint: str | None
    task_results: tuple[TaskResult, ...]
    duration_seconds: float
    stopped_early: str | None = None
    fingerprint_parts: Mapping[str, str] = field(default_factory=dict[str, str])
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def n_attempts(self) -> int:
        return sum(one.n_attempts for one in self.task_results)

    @property
    def n_scored(self) -> int:
        return sum(one.n_scored for one in self.task_results)

    @property
    def n_unscored(self) -> int:
        return sum(one.n_unscored for one in self.task_results)

    @property
    def n_passed(self) -> int:
        return sum(one.n_passed for one in self.task_results)

    @property
    def pass_rate(self) -> float | None:
        """Passed over scored attempts of all tasks together; None when nothing is scored."""
        return share(self.n_passed, self.n_scored)

    @property
    def mean_value(self) -> float | None:
        """Mean score value over the scored attempts of all tasks together; None when nothing is scored."""
        return mean([value for one in self.task_results for value in one.values])

    def summary(self) -> dict[str, Any]:
        """The figures for programs. The keys are frozen: none is added, renamed or dropped."""
        return {
            "env": self.env_name,
            "k": self.k,
            "n_tasks": len(self.task_results),
            "n_attempts": self.n_attempts,
            "n_scored": self.n_scored,
            "n_unscored": self.n_unscored,
            "pass_rate": self.pass_rate,
            "mean_value": self.mean_value,
            "env_fingerprint": self.env_fingerprint,
            "policy_fingerprint": self.policy_fingerprint,
            "stopped_early": self.stopped_early,
            "tasks": [
                {
                    "id": one.task.id,
                    "pass_rate": one.pass_rate,
                    "mean_value": one.mean_value,
                    "n_unscored": one.n_unscored,
                    "learning_zone": one.in_learning_zone,
                }
                for one in self.task_results
            ],
        }

    def statistics(self, confidence: float = 0.95) -> "RunStatistics":
        """How surely the figures are known: intervals, pass@j and pass^j, bounds for what is unscored, quantiles.

        `to_dict()` of what comes back is JSON-ready, `str()` is a table. Raises `ValueError` for a confidence outside
        (0, 1).
        """
        from rollgrid.analysis.estimators import statistics

        return statistics(self, confidence)

    def learning_zone(self) -> "EnvironmentRunResult":
        """The same run with only the tasks in the learning zone: some attempts passed and some did not."""
        return replace(self, task_results=tuple(one for one in self.task_results if one.in_learning_zone))

    def errors(self) -> dict[str, list[str]]:
        """The error texts of each task that has any, by task id, in attempt order."""
        found = {
            str(one.task.id): [attempt.error for attempt in one.read_attempts() if attempt.error]
            for one in self.task_results
        }
        return {known: texts for known, texts in found.items() if texts}

    def task_result(self, task_id: str) -> TaskResult:
        """The result of one task. Raises `KeyError`, naming the ids there are."""
        for one in self.task_results:
            if str(one.task.id) == task_id:
                return one
        known = [str(one.task.id) for one in self.task_results]
        more = f" and {len(known) - 20} more" if len(known) > 20 else ""
        raise KeyError(f"no task with the id {task_id!r}; there are {', '.join(known[:20])}{more}")

    # -- comparison -------------------------------------------------------------------------------------------------

    def env_matches(self, other: Any) -> bool:
        """Whether `other`, a result or an environment, has the same environment fingerprint. None matches nothing."""
        from rollgrid.environments.fingerprint import fingerprint_of, same_fingerprint

        return same_fingerprint(self.env_fingerprint, fingerprint_of(other))

    def diff(self, baseline: "EnvironmentRunResult") -> "EnvironmentDiff":
        """What moved since `baseline`, task by task.

        Raises `MismatchError`, which says what differs, unless both come from the same environment; two different ones
        are looked at side by side with `compare_prompts`.
        """
        from rollgrid.environments.diff import diff_results

        return diff_results(self, baseline)

    # -- files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write a baseline file, readable by its owner only: it holds prompts and answers.

        The file is complete or the old one stays as it was. Raises `BaselineError` for a value that JSON cannot hold,
        naming its task and field, and `OSError` when the file cannot be written.
        """
        from rollgrid.environments.baseline import save_result

        save_result(self, path)

    async def asave(self, path: str | Path) -> None:
        """As `save`, off the event loop."""
        await asyncio.to_thread(self.save, path)

    @classmethod
    def load(cls, path: str | Path) -> "EnvironmentRunResult":
        """Read a baseline file, also one of the seed library. Raises `BaselineError` in one line for anything else."""
        from rollgrid.environments.baseline import load_result

        return load_result(path)

    @classmethod
    async def aload(cls, path: str | Path) -> "EnvironmentRunResult":
        """As `load`, off the event loop."""
        return await asyncio.to_thread(cls.load, path)

    @classmethod
    def from_log(cls, path: str | Path, run_id: str) -> "EnvironmentRunResult":
        """A run out of the log. Attempts and transcripts are read when they are asked for."""
        from rollgrid.environments.from_log import result_from_log

        return result_from_log(Path(path), run_id)

    # -- text for people --------------------------------------------------------------------------------------------

    def print_report(
        self,
        only: Literal["failed", "all"] = "failed",
        attempts: int | None = None,
        *,
        console: Any = None,
    ) -> None:
        """Print the evidence under the grid: verdict, reason, tools, answer and tokens of each attempt.

        `only="failed"` shows what a person looks into: failed and unscored attempts. `attempts` is the most that are
        shown of one task. `console`, if given, is a rich Console to print on. The format is for people and may change.
        """
        from rollgrid.environments.report import report_lines
        from rollgrid.environments.report_text import write_lines

        write_lines(report_lines(self, only=only, attempts=attempts), sys.stdout, console=console)

    def print_attempt(self, task_id: str, attempt: int = 1, *, markdown: bool = False) -> None:
        """Print one attempt in full, with its whole transcript. `attempt` counts from 1, as in the grid.

        `markdown` is accepted for scripts that pass it; text is always printed as it is. Raises `KeyError` for an
        unknown task and `IndexError` for an attempt there is not.
        """
        from rollgrid.environments.report import attempt_lines
        from rollgrid.environments.report_text import write_lines

        write_lines(attempt_lines(self, task_id, attempt), sys.stdout)

    def __repr__(self) -> str:
        tasks = len(self.task_results)
        return f"EnvironmentRunResult({self.env_name!r}, k={self.k}, {tasks} tasks, {self.n_attempts} attempts)"

    def __str__(self) -> str:
        from rollgrid.environments.report import grid_text

        return grid_text(self)
