"""A large baseline file that stays where it is: what of it is needed at once, and where its attempts are.

`save` writes a line for each attempt. Of a file in that layout the lines are checked one after the other and let go;
kept is where those of a task begin. A file in any other layout is not for this module.
"""

import json
import os
import re
import weakref
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.recent import Recent
from rollgrid.environments.task_result import Attempts

__all__ = ["BaselineLines", "LinesOfTask", "OtherLayoutError"]

_TASK = re.compile(rb'  \{"task": .*, "attempts": \[(\]\},?)?\n')
_END = (b"  ]}\n", b"  ]},\n")
_CHUNK = 1 << 16

Made = Callable[[Any, str, int], AttemptResult]
"""Makes the attempt out of the JSON value of its line, the place to name in a complaint, and its position."""


class OtherLayoutError(Exception):
    """The file is not laid out as `save` does it, or it is damaged; only reading it as a whole can tell which."""


@dataclass(slots=True)
class Lines:
    """The attempts of one task: where their lines begin in the file, and the values of the scores."""

    starts: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    n_passed: int = 0


def _attempts(file: BinaryIO, lines: Lines, where: str, made: Made) -> bytes:
    """Take the lines of a task's attempts in; gives the line after them."""
    at, more = file.tell(), True
    while more:
        line = file.readline()
        text = line.removesuffix(b"\n")
        more = text.endswith(b",")
        position = len(lines.starts)
        attempt = made(_value(text.removesuffix(b",")), f"{where}.attempts[{position}]", position)
        lines.starts.append(at)
        if attempt.score is not None:
            lines.values.append(attempt.score.value)
            lines.n_passed += attempt.score.passed
        at += len(line)
    end = file.readline()
    if end not in _END:
        raise OtherLayoutError
    return end


def _value(text: bytes) -> Any:
    if not text.startswith(b"   {"):
        raise OtherLayoutError
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError):
        raise OtherLayoutError from None


class BaselineLines(Recent):
    """The transcripts of a file that is held open: another file that takes its name later changes nothing.

    An attempt's `place` is where its line begins.
    """

    def __init__(self, path: Path, made: Made, changed: Callable[[], Exception]) -> None:
        super().__init__()
        self._made = made
        self._changed = changed
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        weakref.finalize(self, os.close, self._file)
        self._state = self._state_now()

    def read_layout(self) -> tuple[bytes, list[Lines]]:
        """The file without its attempts, as JSON, and the attempts of each task.

        Every attempt is made once, so that a damaged one is refused now. Raises `OtherLayoutError`.
        """
        rest: list[bytes] = []
        tasks: list[Lines] = []
        with open(os.dup(self._file), "rb") as file:
            for line in file:
                rest.append(line)
                if _TASK.fullmatch(line):
                    tasks.append(Lines())
                    if line.endswith(b'"attempts": [\n'):
                        rest.append(_attempts(file, tasks[-1], f"task_results[{len(tasks) - 1}]", self._made))
        return b"".join(rest), tasks

    def read(self, attempt: AttemptResult) -> RunOutput | None:
        return self.whole(attempt.place, attempt.index - 1).read_run()

    def whole(self, start: int, position: int) -> AttemptResult:
        """The attempt whose line begins there, with its transcript."""
        try:
            return self._made(_value(self._line(start).rstrip(b",\n")), f"the line at byte {start}", position)
        except OtherLayoutError:
            raise self._changed() from None

    def _line(self, start: int) -> bytes:
        if self._state_now() != self._state:
            raise OtherLayoutError
        return b"".join(self._pieces(start))

    def _pieces(self, start: int) -> Iterator[bytes]:
        while piece := os.pread(self._file, _CHUNK, start):
            line, end, _ = piece.partition(b"\n")
            yield line
            if end:
                return
            start += len(piece)

    def _state_now(self) -> tuple[int, int]:
        found = os.fstat(self._file)
        return found.st_size, found.st_mtime_ns


class LinesOfTask:
    """The attempts of one task of the file."""

    def __init__(self, source: BaselineLines, lines: Lines) -> None:
        self._source = source
        self._lines = lines
        self.counts = Attempts(len(lines.starts), len(lines.values), lines.n_passed)

    def values(self) -> list[float]:
        return self._lines.values.tolist()

    def read(self) -> tuple[AttemptResult, ...]:
        return tuple(self._read())

    def _read(self) -> Iterator[AttemptResult]:
        for position, start in enumerate(self._lines.starts):
            attempt = self._source.whole(start, position)
            if attempt.is_loaded:
                attempt.leave_to(self._source, start)
            yield attempt
