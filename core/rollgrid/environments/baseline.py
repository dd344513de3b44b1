"""Baseline files: one JSON object, format_version 1, that the seed library's files share.

Extra facts of ours stand under the key `rollgrid`, at the top and in each attempt, where other readers pass them over.
Attempts are written one a line, one at a time, so a result whose transcripts lie in the log never has to fit into
memory. Of a large file that is read, the attempts stay in it until they are asked for.
"""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

from pydantic import BaseModel

from rollgrid._version import __version__
from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.baseline_index import BaselineLines, LinesOfTask, OtherLayoutError
from rollgrid.environments.files import atomic_file, json_bytes, plain_json_bytes
from rollgrid.environments.result import EnvironmentRunResult
from rollgrid.environments.task import Task
from rollgrid.environments.task_result import TaskResult
from rollgrid.errors import RollgridError
from rollgrid.scorer.base import Score

__all__ = ["FORMAT_VERSION", "BaselineError", "load_result", "save_result"]

FORMAT_VERSION = 1

LARGE = 16 << 20
"""The attempts of a file of at least so many bytes stay in it until they are asked for."""


class BaselineError(RollgridError, ValueError):
    """A baseline file cannot be read or written; the message is one line that says which and what to do."""


# -- saving -----------------------------------------------------------------------------------------------------------


def save_result(result: EnvironmentRunResult, path: str | Path) -> None:
    """Write `result` to `path`, atomically. Raises `BaselineError` and `OSError`."""
    head = {
        "format_version": FORMAT_VERSION,
        "env_name": result.env_name,
        "k": result.k,
        "env_fingerprint": result.env_fingerprint,
        "policy_fingerprint": result.policy_fingerprint,
        "duration_seconds": result.duration_seconds,
        "stopped_early": result.stopped_early,
    }
    own = {"version": __version__, "fingerprint_parts": dict(result.fingerprint_parts), "about": dict(result.about)}
    with atomic_file(path) as file:
        file.write(b"{\n")
        for key, value in head.items():
            file.write(b" %s: %s,\n" % (json_bytes(key), _written(value, f"field {key!r}")))
        file.write(b' "task_results": [')
        for index, one in enumerate(result.task_results):
            where = f"task {one.task.id!r}"
            file.write(b",\n" if index else b"\n")
            file.write(b'  {"task": %s, "attempts": [' % _task(one.task, where))
            attempts = one.read_attempts()
            for number, attempt in enumerate(attempts, start=1):
                file.write(b",\n   " if number > 1 else b"\n   ")
                file.write(_attempt(attempt, number, f"{where}, attempt {number}"))
            file.write(b"\n  ]}" if attempts else b"]}")
        file.write(b"\n ],\n" if result.task_results else b"],\n")
        file.write(b' "rollgrid": %s\n}\n' % _written(own, "field 'rollgrid'"))


def _task(task: Task, where: str) -> bytes:
    row = {"id": task.id, "input": task.input, "expected": task.expected, "metadata": dict(task.metadata)}
    return _object(row, where)


def _attempt(attempt: AttemptResult, number: int, where: str) -> bytes:
    run = attempt.read_run()
    score = attempt.score
    own = {
        "index": attempt.index if attempt.index not in (0, number) else None,
        "take": attempt.take if attempt.take > 1 else None,
        "limit": attempt.limit,
        "status": attempt.status,
    }
    own = {key: value for key, value in own.items() if value is not None}
    row: dict[str, Any] = {
        "run": None if run is None else _run(run, where),
        "score": None if score is None else _score(score),
        "stop_reason": attempt.stop_reason.value,
        "duration_seconds": attempt.duration_seconds,
        "error": attempt.error,
        "tool_call_limit_hit": attempt.tool_call_limit_hit,
        "error_type": attempt.error_type,
    }
    return _object(row | {"rollgrid": own} if own else row, where)


def _run(run: RunOutput, where: str) -> dict[str, Any]:
    try:
        data = run.to_dict()
    except (TypeError, ValueError, RecursionError) as error:
        raise BaselineError(f"the result cannot be saved: {where}, field 'run': {error}") from error
    # The seed library reads an empty object as no metrics object at all, and then stumbles over it.
    return data if data.get("metrics") else {key: value for key, value in data.items() if key != "metrics"}


def _score(score: Score) -> dict[str, Any]:
    return {"value": score.value, "passed": score.passed, "reason": score.reason, "detail": score.detail}


def _object(row: Mapping[str, Any], where: str) -> bytes:
    try:
        return plain_json_bytes(dict(row))
    except (TypeError, ValueError):
        pass  # Which field it is shows when they are written one by one, and most such values can be written after all.
    fields = [b"%s: %s" % (json_bytes(key), _written(value, f"{where}, field {key!r}")) for key, value in row.items()]
    return b"{%s}" % b", ".join(fields)


def _written(value: Any, where: str) -> bytes:
    try:
        return json_bytes(value)
    except (TypeError, ValueError) as error:
        refused = error
    try:
        # A model's own arguments may hold NaN; that must not cost the whole file.
        return json_bytes(_plainer(value, name_numbers=where.endswith("field 'run'")))
    except RecursionError:
        pass  # It contains itself, which was said already.
    except (TypeError, ValueError) as error:
        refused = error
    reason = re.sub(r"\s+", " ", str(refused))
    raise BaselineError(
        f"the result cannot be saved: {where} holds a value that JSON cannot ({reason})",
        "use text, numbers, lists and dicts with string keys there",
    ) from refused


def _plainer(value: Any, *, name_numbers: bool) -> Any:
    """Pydantic instances as their values, as in fingerprints; numbers that JSON has no word for as their names."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if name_numbers and isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {key: _plainer(item, name_numbers=name_numbers) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_plainer(item, name_numbers=name_numbers) for item in cast("list[Any]", value)]
    return value


# -- loading ----------------------------------------------------------------------------------------------------------


def load_result(path: str | Path) -> EnvironmentRunResult:
    """Read a baseline file. Raises `BaselineError` in one line for everything that is none, `OSError` as it comes.

    A small file is read whole. Of a large one that `save_result` wrote, attempts and transcripts are read when they are
    asked for; it is held open for that, so removing or replacing it does no harm. If it is changed in place, reading on
    raises `BaselineError`.
    """
    reader = _Reader(path)
    if os.stat(path).st_size >= LARGE:
        try:
            return reader.result_in_file()
        except (OtherLayoutError, BaselineError):
            pass  # What it is, or what is wrong with it, shows when it is read as a whole.
    return reader.result()


_CUT_WORD = re.compile(
    r"-|\.|[eE][+-]?|\\u?[0-9a-fA-F]{0,4}|" + "|".join(("tr?u?", "fa?l?s?", "nu?l?", "Na?", "-?I[a-z]*"))
)


def _is_cut_off(error: json.JSONDecodeError) -> bool:
    """Whether more text after its end could have made it JSON: it ends in the middle of something."""
    if error.msg.startswith("Unterminated string"):
        return True
    rest = error.doc[error.pos :].rstrip()
    return not rest or _CUT_WORD.fullmatch(rest) is not None


class _Reader:
    """One file being read; every complaint names it and the place in it."""

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def _refuse(self, what: str, hint: str | None = None) -> NoReturn:
        raise BaselineError(f"{self._path}: {what}", hint)

    def _refuse_cut(self, line: int) -> NoReturn:
        self._refuse(f"the file is cut off at line {line}", "save it again, or fetch it again")

    def result(self) -> EnvironmentRunResult:
        """Everything in memory."""
        return self._result(self._data(Path(self._path).read_bytes()))

    def result_in_file(self) -> EnvironmentRunResult:
        """The attempts left in the file. Raises `OtherLayoutError`, or `BaselineError` for the first damage."""
        source = BaselineLines(Path(self._path), self._attempt, self._changed)
        rest, tasks = source.read_layout()
        result = self._result(self._data(rest))
        if len(tasks) != len(result.task_results) or any(one.attempts for one in result.task_results):
            raise OtherLayoutError
        stored = (
            TaskResult.stored(one.task, LinesOfTask(source, lines))
            for one, lines in zip(result.task_results, tasks, strict=True)
        )
        return replace(result, task_results=tuple(stored))

    def _changed(self) -> BaselineError:
        return BaselineError(f"{self._path}: it was changed since it was loaded", "load it again")

    def _result(self, data: Mapping[str, Any]) -> EnvironmentRunResult:
        if "format_version" not in data:
            self._refuse("no baseline file: it has no format_version", "name a file that save() wrote")
        version = data["format_version"]
        if isinstance(version, bool) or version != FORMAT_VERSION:
            self._refuse(
                f"unsupported format_version {version!r}; this rollgrid ({__version__}) reads {FORMAT_VERSION}",
                "read it with the version that wrote it, or upgrade rollgrid",
            )
        rows = self._value(data, "task_results", list, "the file")
        own = self._own(data)
        return EnvironmentRunResult(
            env_name=self._value(data, "env_name", str, "the file"),
            k=self._value(data, "k", int, "the file"),
            env_fingerprint=self._value(data, "env_fingerprint", (str, type(None)), "the file"),
            policy_fingerprint=self._value(data, "policy_fingerprint", (str, type(None)), "the file"),
            task_results=self._task_results(rows),
            duration_seconds=self._value(data, "duration_seconds", (int, float), "the file"),
            stopped_early=self._value(data, "stopped_early", (str, type(None)), "the file"),
            fingerprint_parts={
                part: value for part, value in self._own(own, "fingerprint_parts").items() if isinstance(value, str)
            },
            about=self._own(own, "about"),
        )

    def _data(self, raw: bytes) -> dict[str, Any]:
        if not raw.strip():
            self._refuse("the file is empty", "save the baseline again")
        if raw.startswith(b"SQLite format 3\x00"):
            self._refuse("this is a run log, no baseline file", "make one of a run: rollgrid baseline save RUN FILE")
        try:
            data: object = json.loads(raw.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                self._refuse_cut(raw.count(b"\n") + 1)
            self._refuse("no baseline file: not UTF-8 text", "name a file that save() wrote")
        except json.JSONDecodeError as error:
            if _is_cut_off(error):
                self._refuse_cut(error.lineno)
            if error.msg == "Extra data":
                self._refuse("no baseline file: it holds several JSON values", "name a file that save() wrote")
            self._refuse(f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}")
        except (RecursionError, ValueError) as error:
            self._refuse(f"not usable JSON: {error}")
        if not isinstance(data, dict):
            self._refuse("no baseline file: it holds no JSON object", "name a file that save() wrote")
        return cast("dict[str, Any]", data)

    def _own(self, data: Mapping[str, Any], key: str = "rollgrid") -> dict[str, Any]:
        """Our extra facts, where there are any; of a shape that is not ours they are passed over."""
        own = data.get(key)
        return cast("dict[str, Any]", own) if isinstance(own, dict) else {}

    def _value(self, data: Mapping[str, Any], key: str, kinds: Any, where: str, *, default: Any = ...) -> Any:
        if key not in data:
            if default is not ...:
                return default
            self._refuse(f"{where} has no {key!r}; the file is damaged or of another kind")
        value = data[key]
        wanted = cast("tuple[type, ...]", kinds if isinstance(kinds, tuple) else (kinds,))
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            self._refuse(
                f"{key!r} of {where} is of type {type(value).__name__}; the file is damaged or of another kind"
            )
        return value

    def _mapping(self, value: Any, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._refuse(f"{where} is no object; the file is damaged or of another kind")
        return cast("dict[str, Any]", value)

    def _task_results(self, rows: list[Any]) -> tuple[TaskResult, ...]:
        found = tuple(self._task_result(row, index) for index, row in enumerate(rows))
        seen: dict[str | None, int] = {}
        for index, one in enumerate(found):
            if one.task.id in seen:
                self._refuse(
                    f"task_results[{seen[one.task.id]}] and task_results[{index}] both have the id {one.task.id!r}",
                    "give each task an id of its own; a diff goes by them",
                )
            seen[one.task.id] = index
        return found

    def _task_result(self, row: Any, number: int) -> TaskResult:
        where = f"task_results[{number}]"
        data = self._mapping(row, where)
        task = self._mapping(data.get("task"), f"{where}.task")
        attempts = self._value(data, "attempts", list, where)
        return TaskResult(
            task=Task(
                input=self._value(task, "input", str, f"{where}.task"),
                expected=task.get("expected"),
                id=self._id(task, number),
                metadata=self._value(task, "metadata", (dict, type(None)), f"{where}.task", default=None) or {},
            ),
            attempts=tuple(
                self._attempt(attempt, f"{where}.attempts[{index}]", index) for index, attempt in enumerate(attempts)
            ),
        )

    def _id(self, task: Mapping[str, Any], number: int) -> str:
        known = self._value(task, "id", (str, type(None)), f"task_results[{number}].task")
        return f"t{number + 1}" if known is None else known

    def _attempt(self, row: Any, where: str, position: int) -> AttemptResult:
        data = self._mapping(row, where)
        stop = self._value(data, "stop_reason", str, where)
        if stop not in StopReason.__members__:
            self._refuse(f"{where} has the unknown stop_reason {stop!r}", "upgrade rollgrid to read it")
        own = self._own(data)
        index, take = own.get("index"), own.get("take")
        status, limit = own.get("status"), own.get("limit")
        return AttemptResult(
            run=self._run(data.get("run"), f"{where}.run"),
            score=self._score(data.get("score"), f"{where}.score"),
            stop_reason=StopReason(stop),
            duration_seconds=self._value(data, "duration_seconds", (int, float), where),
            error=self._value(data, "error", (str, type(None)), where),
            tool_call_limit_hit=self._value(data, "tool_call_limit_hit", bool, where),
            error_type=self._value(data, "error_type", (str, type(None)), where, default=None),
            index=index if isinstance(index, int) else position + 1,
            take=take if isinstance(take, int) else 1,
            limit=limit if isinstance(limit, str) else None,
            status=status if isinstance(status, int) else None,
        )

    def _run(self, value: Any, where: str) -> RunOutput | None:
        if value is None:
            return None
        data = self._mapping(value, where)
        try:
            return RunOutput.from_dict(data)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            reason = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
            self._refuse(f"{where} cannot be read ({reason}); the file is damaged")

    def _score(self, value: Any, where: str) -> Score | None:
        if value is None:
            return None
        data = self._mapping(value, where)
        try:
            return Score(
                value=self._value(data, "value", (int, float), where),
                passed=self._value(data, "passed", bool, where),
                reason=data.get("reason"),
                detail=data.get("detail"),
            )
        except (TypeError, ValueError) as error:
            if isinstance(error, BaselineError):
                raise
            self._refuse(f"{where}: {error}; the file is damaged")
