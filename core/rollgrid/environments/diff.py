"""What moved between two runs of one environment, and why two runs cannot be compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from rollgrid.environments.fingerprint import PARTS, same_fingerprint
from rollgrid.environments.report_text import for_stdout, pad
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.scorer.base import MismatchError
from rollgrid.text import clean_line

if TYPE_CHECKING:
    from rollgrid.analysis.comparison import Comparison

__all__ = ["EnvironmentDiff", "compare_parts", "diff_results", "require_result"]


@dataclass
class EnvironmentDiff:
    """Task by task, `baseline -> current`.

    Each row has `id`, `baseline` and `current` (as `passed/scored`), `baseline_pass_rate`, `current_pass_rate`, `delta`
    (None when a side has nothing scored) and `status`: `improved`, `regressed`, or empty. A status says that the rates
    differ, not that the difference is more than chance, which is what `statistics()` tells. Tasks of one side only are
    in `unmatched_current` and `unmatched_baseline`.
    """

    env_name: str
    policy_changed: bool
    rows: tuple[dict[str, Any], ...]
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    unmatched_current: tuple[str, ...] = ()
    unmatched_baseline: tuple[str, ...] = ()
    sides: tuple[EnvironmentRunResult, EnvironmentRunResult] | None = field(default=None, repr=False, compare=False)
    """The baseline and the current run."""

    def statistics(self, confidence: float = 0.95) -> "Comparison":
        """The same comparison with exact tests, intervals and verdicts.

        Raises `MismatchError` when one side is simulated and the other is not, and `ValueError` for a diff that was not
        made from two results.
        """
        from rollgrid.analysis.comparison import compare

        if self.sides is None:
            raise ValueError("this diff was made without its two results; use current.diff(baseline)")
        return compare(*self.sides, confidence=confidence)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "env_name": self.env_name,
            "policy_changed": self.policy_changed,
            "rows": [dict(row) for row in self.rows],
            "improved": list(self.improved),
            "regressed": list(self.regressed),
            "unmatched_current": list(self.unmatched_current),
            "unmatched_baseline": list(self.unmatched_baseline),
        }

    def __str__(self) -> str:
        policy = "policy changed" if self.policy_changed else "same policy"
        lines = [f"{clean_line(self.env_name)}: baseline -> current (same environment, {policy})"]
        width = min(48, max((len(clean_line(row["id"])) for row in self.rows), default=2))
        for row in self.rows:
            delta = "    -" if row["delta"] is None else f"{row['delta']:+.2f}"
            counts = f"{row['baseline']:>7} -> {row['current']:<7}"
            lines.append(f"  {pad(clean_line(row['id']), width)}  {counts}  {delta}  {row['status']}".rstrip())
        for side, names in (("current", self.unmatched_current), ("baseline", self.unmatched_baseline)):
            if names:
                shown = ", ".join(clean_line(name) for name in names)
                lines.append(f"  only in {side}, not compared: {shown}")
        return for_stdout("\n".join(lines))


def diff_results(current: EnvironmentRunResult, baseline: EnvironmentRunResult) -> EnvironmentDiff:
    """`current` against `baseline`. Raises `MismatchError` unless the environment fingerprints match."""
    require_result(baseline)
    if not same_fingerprint(current.env_fingerprint, baseline.env_fingerprint):
        raise _mismatch(current, baseline)
    before = {str(one.task.id): one for one in baseline.task_results}
    names = {str(one.task.id) for one in current.task_results}
    pairs = [(str(one.task.id), before.get(str(one.task.id)), one) for one in current.task_results]
    rows = [_row(name, old, new) for name, old, new in pairs if old is not None]
    return EnvironmentDiff(
        env_name=current.env_name,
        policy_changed=not same_fingerprint(current.policy_fingerprint, baseline.policy_fingerprint),
        rows=tuple(rows),
        improved=tuple(row["id"] for row in rows if row["status"] == "improved"),
        regressed=tuple(row["id"] for row in rows if row["status"] == "regressed"),
        unmatched_current=tuple(name for name, old, _ in pairs if old is None),
        unmatched_baseline=tuple(name for name in before if name not in names),
        sides=(baseline, current),
    )


def _row(name: str, old: TaskResult, new: TaskResult) -> dict[str, Any]:
    delta: float | None = None
    status = ""
    if old.pass_rate is not None and new.pass_rate is not None:
        # Counts are compared, not rounded rates: 1/3 and 2/6 are the same.
        sign = new.n_passed * old.n_scored - old.n_passed * new.n_scored
        delta = new.pass_rate - old.pass_rate if sign else 0.0
        status = "improved" if sign > 0 else "regressed" if sign < 0 else ""
    return {
        "id": name,
        "baseline": f"{old.n_passed}/{old.n_scored}",
        "current": f"{new.n_passed}/{new.n_scored}",
        "baseline_pass_rate": old.pass_rate,
        "current_pass_rate": new.pass_rate,
        "delta": delta,
        "status": status,
    }


def require_result(given: Any) -> None:
    """Raise `TypeError` for what is no result, such as the path of its file."""
    if not isinstance(given, EnvironmentRunResult):
        raise TypeError(
            f"a result is compared with another result, got {type(given).__name__}; of a file, read it first: "
            "EnvironmentRunResult.load(path)"
        )


def compare_parts(current: EnvironmentRunResult, baseline: EnvironmentRunResult) -> dict[str, str]:
    """For each part of the environment: `same`, `differs` or `unknown` (a side does not record it)."""
    if same_fingerprint(current.env_fingerprint, baseline.env_fingerprint):
        return dict.fromkeys(PARTS, "same")
    told: dict[str, str] = {}
    for part in PARTS:
        new, old = current.fingerprint_parts.get(part), baseline.fingerprint_parts.get(part)
        told[part] = "unknown" if new is None or old is None else "same" if new == old else "differs"
    if told["tasks"] == "unknown" and _task_differences(current, baseline):
        told["tasks"] = "differs"
    return told


def _mismatch(current: EnvironmentRunResult, baseline: EnvironmentRunResult) -> MismatchError:
    parts = compare_parts(current, baseline)
    account: list[str] = []
    for state, lead in (("differs", "different"), ("unknown", "not recorded"), ("same", "the same")):
        named = [part for part, told in parts.items() if told == state]
        if named:
            account.append(f"{lead}: {', '.join(named)}")
    tasks = _task_differences(current, baseline)
    if tasks and parts["tasks"] == "differs":
        account.append(f"tasks: {'; '.join(tasks)}")
    none = " (no fingerprint matches nothing)" if None in (current.env_fingerprint, baseline.env_fingerprint) else ""
    return MismatchError(
        "these results are not from the same environment, so their rates cannot be compared: "
        f"env_fingerprint current={current.env_fingerprint!r}, baseline={baseline.env_fingerprint!r}{none}. "
        f"{'. '.join(account)}. compare_prompts(baseline, current) shows both side by side",
        parts,
    )


def _task_differences(current: EnvironmentRunResult, baseline: EnvironmentRunResult) -> list[str]:
    """What can be seen in the results themselves: tasks that one side has and the other asks differently."""
    new = {str(one.task.id): one.task for one in current.task_results}
    old = {str(one.task.id): one.task for one in baseline.task_results}
    shared = [name for name in new if name in old]
    found = {
        "input changed": [name for name in shared if new[name].input != old[name].input],
        "expected changed": [name for name in shared if not _equal(new[name].expected, old[name].expected)],
        "only in current": [name for name in new if name not in old],
        "only in baseline": [name for name in old if name not in new],
    }
    return [f"{what} {_some(names)}" for what, names in found.items() if names]


def _equal(one: Any, other: Any) -> bool:
    """Equality as files see it: a list that was a tuple before it was saved is the same."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        left, right = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return mine.keys() == theirs.keys() and all(_equal(mine[key], theirs[key]) for key in mine)
    return bool(one == other)


def _some(names: list[str]) -> str:
    shown = ", ".join(clean_line(name, 60) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
