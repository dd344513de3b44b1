"""rollgrid: run an agent many times on each of a set of tasks, score every attempt, and see what the numbers say."""

from typing import TYPE_CHECKING

from rollgrid._lazy import lazy_exports
from rollgrid._version import __version__

if TYPE_CHECKING:
    from rollgrid.agent import Agent
    from rollgrid.environments import (
        AttemptResult,
        Environment,
        EnvironmentDiff,
        EnvironmentRunResult,
        ExportReport,
        StopReason,
        Task,
        TaskResult,
        arun_rollouts,
        ato_sft_jsonl,
        compare_prompts,
        run_rollouts,
        to_preference_jsonl,
        to_sft_jsonl,
    )
    from rollgrid.models.openai import OpenAIChat, OpenAIResponses
    from rollgrid.scorer import (
        CodeScorer,
        FingerprintError,
        JudgeScorer,
        MismatchError,
        Score,
        Scorer,
        ToolCallScorer,
    )

__all__ = [
    "Agent",
    "AttemptResult",
    "CodeScorer",
    "Environment",
    "EnvironmentDiff",
    "EnvironmentRunResult",
    "ExportReport",
    "FingerprintError",
    "JudgeScorer",
    "MismatchError",
    "OpenAIChat",
    "OpenAIResponses",
    "Score",
    "Scorer",
    "StopReason",
    "Task",
    "TaskResult",
    "ToolCallScorer",
    "__version__",
    "arun_rollouts",
    "ato_sft_jsonl",
    "compare_prompts",
    "run_rollouts",
    "to_preference_jsonl",
    "to_sft_jsonl",
]

_HOMES = {
    "rollgrid.agent": ("Agent",),
    "rollgrid.models.openai": ("OpenAIChat", "OpenAIResponses"),
    "rollgrid.environments": (
        "AttemptResult",
        "Environment",
        "EnvironmentDiff",
        "EnvironmentRunResult",
        "ExportReport",
        "StopReason",
        "Task",
        "TaskResult",
        "arun_rollouts",
        "ato_sft_jsonl",
        "compare_prompts",
        "run_rollouts",
        "to_preference_jsonl",
        "to_sft_jsonl",
    ),
    "rollgrid.scorer": (
        "CodeScorer",
        "FingerprintError",
        "JudgeScorer",
        "MismatchError",
        "Score",
        "Scorer",
        "ToolCallScorer",
    ),
}

__getattr__, __dir__ = lazy_exports(__name__, {name: home for home, names in _HOMES.items() for name in names})
