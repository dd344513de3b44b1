"""Two runs side by side that may come from different environments: what was asked, and what came of it.

Their rates are shown, each with its own count, and nothing is called improved or regressed: where the prompt or the
tasks differ, a difference of rates is no measurement of either.
"""

import difflib
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rollgrid.environments.diff import compare_parts, require_result
from rollgrid.environments.fingerprint import same_fingerprint
from rollgrid.environments.report_text import for_stdout, pad, width
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.text import clean_block, clean_line

__all__ = ["PromptComparison", "PromptSide", "TaskPair", "compare_prompts"]


@dataclass(frozen=True)
class PromptSide:
    """One of the two runs. `system` is what its model was told first, as the transcripts show it."""

    env_name: str
    env_fingerprint: str | None
    policy_fingerprint: str | None
    model: str | None
    k: int
    n_tasks: int
    n_passed: int
    n_scored: int
    n_unscored: int
    pass_rate: float | None
    system: str | None
    n_systems: int
    """How many different system prompts the transcripts hold; `system` is the most frequent one."""


@dataclass(frozen=True)
class TaskPair:
    """One task on both sides; `a` and `b` are passed/scored, None where the side does not have it."""

    id: str
    a: str | None
    b: str | None
    a_pass_rate: float | None
    b_pass_rate: float | None
    input: Literal["same", "differs", "only in a", "only in b"]


@dataclass(frozen=True)
class PromptComparison:
    """What `compare_prompts` found. `parts` says for each part of the environment `same`, `differs` or `unknown`."""

    a: PromptSide
    b: PromptSide
    same_environment: bool
    parts: dict[str, str]
    system_diff: tuple[str, ...]
    """A unified diff of the two system prompts, empty when they are equal."""
    tasks: tuple[TaskPair, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self) | {"system_diff": list(self.system_diff), "tasks": [asdict(one) for one in self.tasks]}

    def __str__(self) -> str:
        lines = ["prompt comparison: two runs side by side, no judgement of better or worse"]
        for name, side in (("a", self.a), ("b", self.b)):
            rate = "-" if side.pass_rate is None else f"{side.pass_rate:.2f}"
            unscored = f", {side.n_unscored} unscored" if side.n_unscored else ""
            model = f", model {clean_line(side.model, 60)}" if side.model else ""
            lines.append(
                f"  {name}: {clean_line(side.env_name)}, k={side.k}, {side.n_passed}/{side.n_scored} passed ({rate})"
                f"{unscored}{model}"
            )
        if self.same_environment:
            lines.append("  both come from the same environment; diff() tells what moved")
        for state, lead in (("differs", "different"), ("same", "the same"), ("unknown", "not recorded")):
            named = [part for part, told in self.parts.items() if told == state]
            if named:
                lines.append(f"  {lead}: {', '.join(named)}")
        lines += self._system_lines()
        cells = min(48, max((width(clean_line(one.id)) for one in self.tasks), default=2))
        lines.append(f"  {pad('task', cells)}  {'a':>7}  {'b':>7}")
        for one in self.tasks:
            note = "" if one.input == "same" else "input differs" if one.input == "differs" else one.input
            row = f"  {pad(clean_line(one.id), cells)}  {one.a or '-':>7}  {one.b or '-':>7}  {note}"
            lines.append(row.rstrip())
        return for_stdout("\n".join(lines))

    def _system_lines(self) -> list[str]:
        if self.a.system is None and self.b.system is None:
            return ["  system prompt: none in the transcripts of either"]
        if not self.system_diff:
            return ["  system prompt: the same"]
        return ["  system prompt:", *(f"    {clean_block(line)}" for line in self.system_diff)]


def compare_prompts(a: EnvironmentRunResult, b: EnvironmentRunResult) -> PromptComparison:
    """Put two results side by side, whether or not they come from one environment."""
    for given in (a, b):
        require_result(given)
    side_a, side_b = _side(a), _side(b)
    lines = difflib.unified_diff(
        (side_a.system or "").split("\n"), (side_b.system or "").split("\n"), "a", "b", lineterm=""
    )
    return PromptComparison(
        a=side_a,
        b=side_b,
        same_environment=same_fingerprint(a.env_fingerprint, b.env_fingerprint),
        parts=compare_parts(b, a),
        system_diff=tuple(lines) if side_a.system != side_b.system else (),
        tasks=_pairs(a, b),
    )


def _side(result: EnvironmentRunResult) -> PromptSide:
    systems: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for one in result.task_results:
        for attempt in one.read_attempts():
            run = attempt.read_run()
            if run is None:
                continue
            if run.model:
                models[run.model] += 1
            told = [m.content for m in run.messages if m.role in ("system", "developer") and isinstance(m.content, str)]
            if told:
                systems["\n".join(told)] += 1
    return PromptSide(
        env_name=result.env_name,
        env_fingerprint=result.env_fingerprint,
        policy_fingerprint=result.policy_fingerprint,
        model=_most_frequent(models),
        k=result.k,
        n_tasks=len(result.task_results),
        n_passed=result.n_passed,
        n_scored=result.n_scored,
        n_unscored=result.n_unscored,
        pass_rate=result.pass_rate,
        system=_most_frequent(systems),
        n_systems=len(systems),
    )


def _most_frequent(counted: Counter[str]) -> str | None:
    return counted.most_common(1)[0][0] if counted else None


def _pairs(a: EnvironmentRunResult, b: EnvironmentRunResult) -> tuple[TaskPair, ...]:
    left = {str(one.task.id): one for one in a.task_results}
    right = {str(one.task.id): one for one in b.task_results}
    names = [*left, *(name for name in right if name not in left)]
    return tuple(_pair(name, left.get(name), right.get(name)) for name in names)


def _pair(name: str, a: TaskResult | None, b: TaskResult | None) -> TaskPair:
    if a is None or b is None:
        where = "only in b" if a is None else "only in a"
    else:
        where = "same" if a.task.input == b.task.input else "differs"
    return TaskPair(
        id=name,
        a=None if a is None else f"{a.n_passed}/{a.n_scored}",
        b=None if b is None else f"{b.n_passed}/{b.n_scored}",
        a_pass_rate=None if a is None else a.pass_rate,
        b_pass_rate=None if b is None else b.pass_rate,
        input=where,
    )
