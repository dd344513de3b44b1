"""Turn a run into a score."""

from typing import TYPE_CHECKING

from rollgrid._lazy import lazy_exports

if TYPE_CHECKING:
    from rollgrid.scorer.base import AnyRunOutput, FingerprintError, MismatchError, Score, Scorer
    from rollgrid.scorer.code import CodeScorer
    from rollgrid.scorer.judge import JudgeError, JudgeScorer
    from rollgrid.scorer.tools import ToolCallScorer

__all__ = [
    "AnyRunOutput",
    "CodeScorer",
    "FingerprintError",
    "JudgeError",
    "JudgeScorer",
    "MismatchError",
    "Score",
    "Scorer",
    "ToolCallScorer",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AnyRunOutput": "rollgrid.scorer.base",
        "CodeScorer": "rollgrid.scorer.code",
        "FingerprintError": "rollgrid.scorer.base",
        "JudgeError": "rollgrid.scorer.judge",
        "JudgeScorer": "rollgrid.scorer.judge",
        "MismatchError": "rollgrid.scorer.base",
        "Score": "rollgrid.scorer.base",
        "Scorer": "rollgrid.scorer.base",
        "ToolCallScorer": "rollgrid.scorer.tools",
    },
)
