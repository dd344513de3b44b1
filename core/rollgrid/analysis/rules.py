"""The rules of a gate out of the project's configuration, and the flags that beat it."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from rollgrid.analysis.gate import GateRules
from rollgrid.errors import RollgridError

__all__ = ["RulesError", "rules_from"]

_NUMBERS = frozenset(
    {
        "min_pass_rate",
        "min_lower_bound",
        "min_task_pass_rate",
        "max_drop",
        "max_significant_drop",
        "max_unscored",
        "max_cost",
        "confidence",
    }
)


class RulesError(RollgridError):
    """A rule that is not known, or one with a value that makes no sense."""


def rules_from(table: Mapping[str, Any], flags: Mapping[str, Any], source: str = "[tool.rollgrid.gate]") -> GateRules:
    """Rules of a configuration table (`[tool.rollgrid.gate]`), each beaten by a flag that is not None.

    The keys are the fields of `GateRules`; the floors of single tasks are a table of their own, `task_floors`, to which
    flags add. Raises `RulesError`, one line that names the key.
    """
    known = {one.name for one in fields(GateRules)}
    for key, value in table.items():
        if key not in known:
            raise RulesError(f"{source}: unknown rule {key!r}", f"Known ones: {', '.join(sorted(known))}.")
        _check(key, value, source)
    given = {key: value for key, value in flags.items() if value is not None and key != "task_floors"}
    floors: dict[str, float] = {**table.get("task_floors", {}), **(flags.get("task_floors") or {})}
    try:
        return replace(GateRules(), **{**table, **given, "task_floors": floors})
    except ValueError as error:
        raise RulesError(str(error), "rollgrid gate --help explains the rules.") from None


def _check(key: str, value: Any, source: str) -> None:
    if key in _NUMBERS and not _is_number(value):
        raise RulesError(f"{source}: rule {key!r} is {value!r}", "Give a number.")
    if key == "no_regressed_tasks" and not isinstance(value, bool):
        raise RulesError(f"{source}: rule {key!r} is {value!r}", "Give true or false.")
    if key == "task_floors":
        ours = isinstance(value, Mapping)
        if not ours or not all(_is_number(floor) for floor in cast("Mapping[str, Any]", value).values()):
            raise RulesError(f"{source}: rule {key!r} is {value!r}", 'Give a table such as {"t1" = 0.5}.')


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
