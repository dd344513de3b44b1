"""Whether a run can be scored anew with an environment, and what else has changed since. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rollgrid.environments.fingerprint import PARTS, combined
from rollgrid.environments.task import Task
from rollgrid.errors import RunError
from rollgrid.store.codec import decode, encode
from rollgrid.text import clean_line

__all__ = ["Changed", "Origin", "changed_since", "check", "fingerprint_with", "remarks"]

Origin = Literal["run", "environment"]
"""Whose expected values are scored against, where they differ."""

_SHOWN = 5
_SETTLED_APART = ("tasks", "scorer")


@dataclass(frozen=True, slots=True)
class Changed:
    """What the environment has different from the run. Task ids in the run's order; `parts` as `compare_parts` has it.

    `gone` are tasks that the environment has no more, `asked` those whose input changed, so that the stored answers are
    answers to something else, and `expected` those whose expected value changed.
    """

    gone: tuple[str, ...]
    asked: tuple[str, ...]
    expected: tuple[str, ...]
    parts: Mapping[str, str]


def changed_since(
    of_run: Sequence[Task], run_parts: Mapping[str, str], now: Sequence[Task], now_parts: Mapping[str, str]
) -> Changed:
    """Compare a run's tasks and fingerprint parts, as the log has them, with those of an environment."""
    by_id = {task.id: task for task in now}
    shared = [(task, by_id[task.id]) for task in of_run if task.id in by_id]
    parts: dict[str, str] = {}
    for name in PARTS:
        then, today = run_parts.get(name), now_parts.get(name)
        parts[name] = "unknown" if then is None or today is None else "same" if then == today else "differs"
    return Changed(
        gone=tuple(str(task.id) for task in of_run if task.id not in by_id),
        asked=tuple(str(old.id) for old, new in shared if not _same(old.input, new.input)),
        expected=tuple(str(old.id) for old, new in shared if not _same(old.expected, new.expected)),
        parts=parts,
    )


def check(changed: Changed, run_id: str, expected: Origin) -> None:
    """Raise `RunError`, which says what differs, when verdicts would say nothing about the stored answers.

    Changed expected values do not stand against it when they are asked for. A changed prompt, tools or limits never do:
    the answers are there already.
    """
    reasons = [
        f"{what}: {_some(ids)}"
        for what, ids in (
            ("not in the environment any more", changed.gone),
            ("asked differently", changed.asked),
            ("expected value changed", changed.expected if expected == "run" else ()),
        )
        if ids
    ]
    if not reasons:
        return
    if not changed.gone and not changed.asked:
        hint = "add --new-expected to score against the changed values, or undo the change"
    else:
        hint = "an answer can only be scored for the task that it answers: undo the change, or start a new run"
    raise RunError(f"run {run_id} cannot be scored by this environment, its tasks differ ({'; '.join(reasons)})", hint)


def remarks(changed: Changed) -> list[str]:
    """What a person should know of other changes, a line each."""
    lines: list[str] = []
    if changed.expected:
        lines.append(f"scored against the changed expected values of {_some(changed.expected)}")
    if changed.parts["output_schema"] == "differs":
        lines.append("the output schema has changed since: an answer that does not fit the new one is unscored")
    apart = (*_SETTLED_APART, "output_schema")
    others = [name for name, told in changed.parts.items() if told == "differs" and name not in apart]
    if others:
        lines.append(f"changed since the run as well, which the stored answers do not show: {', '.join(others)}")
    return lines


def fingerprint_with(
    run_parts: Mapping[str, str], now_parts: Mapping[str, str], changed: Changed
) -> tuple[str | None, dict[str, str]]:
    """The run's environment with the scorer of now, and the expected values of now where those changed.

    So a scoring can be compared with runs of the changed environment, when nothing else has changed. None where a part
    is not known.
    """
    parts = dict(run_parts)
    for name in ("scorer", *(("tasks",) if changed.expected else ())):
        if name in now_parts:
            parts[name] = now_parts[name]
        else:
            parts.pop(name, None)
    return (combined(parts) if parts.keys() == PARTS.keys() else None), parts


def _same(one: Any, other: Any) -> bool:
    """Equality as the log sees it: a tuple is a list, and a secret is stars."""
    return decode(encode(one)) == decode(encode(other))


def _some(ids: Collection[str]) -> str:
    shown = ", ".join(clean_line(one, 60) for one in list(ids)[:_SHOWN])
    return shown if len(ids) <= _SHOWN else f"{shown} and {len(ids) - _SHOWN} more"
