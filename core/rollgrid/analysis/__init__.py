"""What the numbers of a run say, and how surely: intervals, comparisons, the decision of a gate, reports."""

from typing import TYPE_CHECKING

from rollgrid._lazy import lazy_exports

# Not lazy: its module has the same name, and whoever imports that module first would put it in the function's place.
from rollgrid.analysis.wilson import Interval, wilson

if TYPE_CHECKING:
    from rollgrid.analysis.agreement import Agreement, cohen_kappa
    from rollgrid.analysis.comparison import Comparison, TaskComparison, Verdict, compare
    from rollgrid.analysis.estimators import RunStatistics, TaskStatistics, statistics
    from rollgrid.analysis.gate import GateDecision, GateRules, Outcome, decide
    from rollgrid.analysis.many import ManyComparison, compare_many
    from rollgrid.analysis.plan import Plan, plan_run

__all__ = [
    "Agreement",
    "Comparison",
    "GateDecision",
    "GateRules",
    "Interval",
    "ManyComparison",
    "Outcome",
    "Plan",
    "RunStatistics",
    "TaskComparison",
    "TaskStatistics",
    "Verdict",
    "cohen_kappa",
    "compare",
    "compare_many",
    "decide",
    "plan_run",
    "statistics",
    "wilson",
]

_HOMES = {
    "rollgrid.analysis.agreement": ("Agreement", "cohen_kappa"),
    "rollgrid.analysis.comparison": ("Comparison", "TaskComparison", "Verdict", "compare"),
    "rollgrid.analysis.estimators": ("RunStatistics", "TaskStatistics", "statistics"),
    "rollgrid.analysis.gate": ("GateDecision", "GateRules", "Outcome", "decide"),
    "rollgrid.analysis.many": ("ManyComparison", "compare_many"),
    "rollgrid.analysis.plan": ("Plan", "plan_run"),
}

__getattr__, __dir__ = lazy_exports(__name__, {name: home for home, names in _HOMES.items() for name in names})
