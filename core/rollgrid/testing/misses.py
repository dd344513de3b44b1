"""Wrong answers that look like right ones: off by one, two digits swapped, an aggregate mistaken for another."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rollgrid.testing.draws import unit

_AGGREGATES = {"SUM": "AVG", "AVG": "SUM", "COUNT": "MAX", "MAX": "MIN", "MIN": "MAX"}


def near_miss(right: Any, *key: str | int) -> Any:
    """Something of the kind of `right` that is not equal to it. The same key gives the same miss.

    Covers what JSON holds; of a mapping one value is missed (its "sql" where it has one), of a sequence one item.
    """
    if isinstance(right, bool):
        return not right
    if isinstance(right, int):
        return _integer_miss(right, *key)
    if isinstance(right, float):
        missed = right * 1.1
        return missed if missed != right else right + 0.1  # zero, and numbers too small to grow by a tenth
    if isinstance(right, str):
        return _text_miss(right, *key)
    if isinstance(right, Mapping):
        return _mapping_miss(cast(Mapping[str, Any], right), *key)
    if isinstance(right, Sequence):
        items = list(cast(Sequence[Any], right))
        if not items:
            return [0]
        at = _pick(len(items), "item", *key)
        items[at] = near_miss(items[at], *key)
        return items
    return "unknown"


def sql_miss(query: str, *key: str | int) -> str:
    """The query with one mistake in it: it gives other rows on all but odd data, or the database refuses it."""
    changed = [text for change in _SQL_CHANGES if (text := change(query)) != query]
    return changed[_pick(len(changed), "sql", *key)] if changed else f"{query.rstrip().rstrip(';')} LIMIT"


def _pick(count: int, *key: str | int) -> int:
    return min(count - 1, int(unit("pick", *key) * count))


def _integer_miss(right: int, *key: str | int) -> int:
    options = [right - 1, right + 1, right + 10]
    digits = str(abs(right))
    if len(digits) > 2 and digits[-1] != digits[-2]:
        swapped = int(digits[:-2] + digits[-1] + digits[-2])
        options.append(swapped if right >= 0 else -swapped)
    if right >= 10:
        options.append(right - 10)
    return options[_pick(len(options), *key)]


def _text_miss(right: str, *key: str | int) -> str:
    if re.fullmatch(r"-?\d{1,18}", right):
        return str(_integer_miss(int(right), *key))
    if len(right) < 3:
        return right + "x"
    at = 1 + _pick(len(right) - 2, *key)
    return right[:at] + right[at + 1 :]


def _mapping_miss(right: Mapping[str, Any], *key: str | int) -> dict[str, Any]:
    missed = dict(right)
    if isinstance(missed.get("sql"), str):
        missed["sql"] = sql_miss(missed["sql"], *key)
    elif missed:
        name = sorted(missed)[_pick(len(missed), "field", *key)]
        missed[name] = near_miss(missed[name], *key)
    else:
        missed["unknown"] = True
    return missed


def _swap_aggregate(query: str) -> str:
    pattern = rf"\b({'|'.join(_AGGREGATES)})\s*\("
    return re.sub(pattern, lambda found: _AGGREGATES[found[1].upper()] + "(", query, count=1, flags=re.IGNORECASE)


def _swap_case(query: str) -> str:
    return re.sub(r"'([^']*)'", lambda found: f"'{found[1].swapcase()}'", query, count=1)


def _turn_comparison(query: str) -> str:
    quoted_or_sign = r"('[^']*')|(?<![<>])([<>])(?!>)"
    done = False

    def turned(found: re.Match[str]) -> str:
        nonlocal done
        if found[1] is not None or done:
            return found[0]
        done = True
        return "<" if found[2] == ">" else ">"

    return re.sub(quoted_or_sign, turned, query)


def _misname_table(query: str) -> str:
    return re.sub(r"\bFROM\s+(\w+)", lambda found: f"{found[0]}_all", query, count=1, flags=re.IGNORECASE)


_SQL_CHANGES: tuple[Callable[[str], str], ...] = (_swap_aggregate, _swap_case, _turn_comparison, _misname_table)
