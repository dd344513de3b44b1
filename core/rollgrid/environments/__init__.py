"""Environments: tasks, an agent and a scorer; what runs of them gave; and what to do with it."""

from typing import TYPE_CHECKING

from rollgrid._lazy import lazy_exports

if TYPE_CHECKING:
    from rollgrid.environments.agents import AgentProtocol
    from rollgrid.environments.attempt import AttemptResult, StopReason
    from rollgrid.environments.baseline import BaselineError
    from rollgrid.environments.diff import EnvironmentDiff
    from rollgrid.environments.environment import Environment
    from rollgrid.environments.export import ExportReport, ato_sft_jsonl, to_sft_jsonl
    from rollgrid.environments.preferences import PreferenceReport, ato_preference_jsonl, to_preference_jsonl
    from rollgrid.environments.prompts import PromptComparison, compare_prompts
    from rollgrid.environments.result import EnvironmentRunResult, TaskResult
    from rollgrid.environments.task import Task
    from rollgrid.runner.rollouts import arun_rollouts, run_rollouts
    from rollgrid.scorer.base import FingerprintError, MismatchError

__all__ = [
    "AgentProtocol",
    "AttemptResult",
    "BaselineError",
    "Environment",
    "EnvironmentDiff",
    "EnvironmentRunResult",
    "ExportReport",
    "FingerprintError",
    "MismatchError",
    "PreferenceReport",
    "PromptComparison",
    "StopReason",
    "Task",
    "TaskResult",
    "arun_rollouts",
    "ato_preference_jsonl",
    "ato_sft_jsonl",
    "compare_prompts",
    "run_rollouts",
    "to_preference_jsonl",
    "to_sft_jsonl",
]

_HOMES = {
    "rollgrid.environments.agents": ("AgentProtocol",),
    "rollgrid.environments.attempt": ("AttemptResult", "StopReason"),
    "rollgrid.environments.baseline": ("BaselineError",),
    "rollgrid.environments.diff": ("EnvironmentDiff",),
    "rollgrid.environments.environment": ("Environment",),
    "rollgrid.environments.export": ("ExportReport", "ato_sft_jsonl", "to_sft_jsonl"),
    "rollgrid.environments.preferences": ("PreferenceReport", "ato_preference_jsonl", "to_preference_jsonl"),
    "rollgrid.environments.prompts": ("PromptComparison", "compare_prompts"),
    "rollgrid.environments.result": ("EnvironmentRunResult", "TaskResult"),
    "rollgrid.environments.task": ("Task",),
    "rollgrid.runner.rollouts": ("arun_rollouts", "run_rollouts"),
    "rollgrid.scorer.base": ("FingerprintError", "MismatchError"),
}

__getattr__, __dir__ = lazy_exports(__name__, {name: home for home, names in _HOMES.items() for name in names})
