"""Tasks: the rows of an evaluation."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

_KEYS = ("input", "expected", "id", "metadata")


@dataclass(frozen=True, eq=False)
class Task:
    """One prompt and what is expected of its answer. Compared by identity.

    `input` is the prompt. `expected` is for the scorer only. `metadata` is for selection and display: it never enters a
    prompt and never changes a score. A missing `id` becomes `t1..tN` by position when a run starts.
    """

    input: str
    expected: Any = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not isinstance(self.input, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Task.input must be a string, got {type(self.input).__name__}")
        if self.id is not None and not isinstance(self.id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Task.id must be a string or None, got {type(self.id).__name__}")
        if not isinstance(self.metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Task.metadata must be a mapping, got {type(self.metadata).__name__}")

    @classmethod
    def from_jsonl(cls, path: str | Path) -> "tuple[Task, ...]":
        r"""The tasks of a JSONL file: one object a line with the keys `input`, `expected`, `id`, `metadata`.

        Only `input` is required; blank lines are skipped; a UTF-8 byte-order mark is accepted. Lines end at `\n` alone,
        since U+2028 and its kind may stand inside a string. Whatever else a line holds is a `ValueError` that names the
        line and the key: a column called `expected_output` must not turn into `expected=None` on every row.
        """
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise ValueError(f"{path}, line {line}: not UTF-8 text (byte {error.object[error.start]:#04x})") from None
        tasks: list[Task] = []
        for number, line in enumerate(text.split("\n"), start=1):
            # Only JSON's own blanks make a line blank: a line of U+0085 is bad JSON, not nothing.
            if line.strip(" \t\r"):
                tasks.append(_task_of_line(line, f"{path}, line {number}"))
        return tuple(tasks)

    @classmethod
    async def afrom_jsonl(cls, path: str | Path) -> "tuple[Task, ...]":
        """As `from_jsonl`, off the event loop."""
        return await asyncio.to_thread(cls.from_jsonl, path)


def _task_of_line(line: str, where: str) -> Task:
    try:
        row: object = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except _DuplicateKey as error:
        raise ValueError(f"{where}: the key {error.args[0]!r} stands twice") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: not valid JSON: {error.msg} (column {error.colno})") from None
    except (RecursionError, ValueError) as error:
        raise ValueError(f"{where}: not usable JSON: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(f"{where}: each line must be a JSON object, got {_json_type(row)}")
    given = cast("dict[str, Any]", row)
    for key in given:
        if key not in _KEYS:
            raise ValueError(f"{where}: unknown key {key!r} (allowed: {', '.join(_KEYS)})")
    if "input" not in given:
        raise ValueError(f"{where}: the key 'input' is missing")
    if not isinstance(given["input"], str):
        raise ValueError(f"{where}: 'input' must be a string, got {_json_type(given['input'])}")
    if given.get("id") is not None and not isinstance(given["id"], str):
        raise ValueError(f"{where}: 'id' must be a string, got {_json_type(given['id'])}")
    metadata = given.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ValueError(f"{where}: 'metadata' must be an object, got {_json_type(metadata)}")
    return Task(
        input=given["input"],
        expected=given.get("expected"),
        id=given.get("id"),
        metadata=cast("dict[str, Any]", metadata),
    )


class _DuplicateKey(Exception):
    """A JSON object names one key twice, so one of the values would be lost."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise _DuplicateKey(key)
        made[key] = value
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def task_id(task: Task, index: int) -> str:
    """The id that a task goes by: its own, or `t1..tN` from its 0-based position among all tasks."""
    return task.id if task.id is not None else f"t{index + 1}"
