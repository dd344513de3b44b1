"""Whether a run's outputs and its scorer can be trusted: samples that are copies, and verdicts that change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson

from rollgrid.store.rows import AttemptRow

if TYPE_CHECKING:
    from rollgrid.environments.result import EnvironmentRunResult
    from rollgrid.store.reader import LogReader

__all__ = [
    "FEWEST",
    "Copies",
    "Flaky",
    "copies_in_log",
    "copies_in_result",
    "flaky_verdicts",
    "output_bytes",
]

FEWEST = 3
"""Attempts of a task that must be alike before that says anything."""

SAMPLED_TOKENS = 20
"""An answer of fewer tokens may well come out the same every time."""

CHARACTERS_A_TOKEN = 4
"""About so many, where a model does not tell its tokens."""

MOST_BODIES = 1000
"""Transcripts that are read at most to look for copies."""


SIMULATED = "simulated"
"""A kind of model whose answers are made up, so that their likeness says nothing."""


class Copies(NamedTuple):
    """A task whose scored attempts are byte for byte the same. `n_bytes` is the size of one output."""

    task: str
    n: int
    n_bytes: int
    n_tokens: int

    def line(self) -> str:
        """What a person should know, in one line; the task's id is as it came."""
        return (
            f"all {self.n} attempts of task {self.task} have the same output, byte for byte ({self.n_bytes} bytes): "
            "unless sampling is off, something answers from a cache, and they are one sample"
        )


@dataclass(frozen=True, slots=True)
class Flaky:
    """An attempt to whose one transcript the scorer gave several verdicts, in the order of the scorings."""

    task: int
    attempt: int
    take: int
    verdicts: tuple[AttemptRow, ...]

    @property
    def flips(self) -> bool:
        """Whether it passes in some of them only; otherwise it is the value that differs."""
        return len({row.passed for row in self.verdicts}) > 1


def output_bytes(transcript: Mapping[str, Any]) -> bytes:
    """What the model gave: its text, its reasoning and its tool calls, without ids, counts and times."""
    calls: list[Any] = []
    said: list[Any] = []
    for message in cast("list[Any]", transcript.get("messages") or []):
        if not isinstance(message, dict):
            continue
        one = cast("dict[str, Any]", message)
        if one.get("role") != "assistant":
            continue
        said.append([one.get("content"), one.get("reasoning")])
        calls += [_call(call) for call in cast("list[Any]", one.get("tool_calls") or [])]
    answer = transcript.get("raw_text")
    parts = [answer if answer is not None else transcript.get("content"), transcript.get("reasoning"), said, calls]
    return orjson.dumps(parts, default=repr, option=orjson.OPT_NON_STR_KEYS)


def copies_in_result(result: "EnvironmentRunResult") -> list[Copies]:
    """Tasks whose scored attempts all have one output. Reads transcripts that lie in a log; blocks."""
    found: list[Copies] = []
    if result.about.get("model_kind") == SIMULATED:
        return found
    for one in result.task_results:
        scored = [attempt for attempt in one.attempts if attempt.score is not None]
        tokens = [0 if attempt.usage is None else attempt.usage.output_tokens for attempt in scored]
        if not _may_be_copies(tokens):
            continue
        outputs = _Same()
        if all(attempt.run is not None and outputs.add(attempt.run.to_dict()) for attempt in scored):
            found += outputs.told(str(one.task.id), len(scored), tokens[0])
    return found


async def copies_in_log(reader: "LogReader", run_id: str, names: Sequence[str]) -> list[Copies]:
    """As `copies_in_result`, of a run in the log; `names` are its task ids. Reads up to `MOST_BODIES` transcripts.

    One is read only where all attempts of a task have as many tokens, and the first that differs ends its task.
    """
    by_task: dict[int, list[tuple[int, int, int, int]]] = {}
    for row in await reader.equally_long(run_id, FEWEST, SAMPLED_TOKENS):
        by_task.setdefault(row[0], []).append(row)
    found: list[Copies] = []
    left = MOST_BODIES
    for task, rows in by_task.items():
        outputs = _Same()
        for _, attempt, take, _ in rows if len(rows) <= left else ():
            left -= 1
            body = await reader.transcript(run_id, task, attempt, take)
            if body is None or not outputs.add(body):
                break
        else:
            found += outputs.told(names[task], len(rows), rows[0][3])
    return found


def flaky_verdicts(scorings: Sequence[Iterable[AttemptRow]]) -> list[Flaky]:
    """Takes on which scorings of the same transcripts by the same scorer differ, in verdict or in value.

    Takes that the last of them does not have are left out, and so are those that nothing could score.
    """
    *earlier, last = [{(row.task, row.attempt, row.take): row for row in scoring} for scoring in scorings]
    found: list[Flaky] = []
    for key, row in sorted(last.items()):
        verdicts = (*(scoring[key] for scoring in earlier if key in scoring), row)
        if len({(one.passed, one.value) for one in verdicts}) > 1:
            found.append(Flaky(*key, verdicts))
    return found


class _Same:
    """Outputs of one task, as long as they are the same."""

    def __init__(self) -> None:
        self._first: bytes | None = None

    def add(self, transcript: Mapping[str, Any]) -> bool:
        """False at the first that differs."""
        output = output_bytes(transcript)
        if self._first is None:
            self._first = output
        return output == self._first

    def told(self, task: str, n: int, tokens: int) -> list[Copies]:
        """One finding, or none where the output is so short that chance repeats it."""
        size = len(self._first or b"")
        if self._first is None or (not tokens and size < SAMPLED_TOKENS * CHARACTERS_A_TOKEN):
            return []
        return [Copies(task, n, size, tokens)]


def _may_be_copies(tokens: Sequence[int]) -> bool:
    """Output tokens, reasoning among them, of all attempts; zeros where a model does not tell them."""
    return len(tokens) >= FEWEST and len(set(tokens)) == 1 and (tokens[0] == 0 or tokens[0] >= SAMPLED_TOKENS)


def _call(call: Any) -> Any:
    """Name and arguments."""
    if not isinstance(call, dict):
        return call
    one = cast("dict[str, Any]", call)
    function = one.get("function")
    inner = cast("dict[str, Any]", function) if isinstance(function, dict) else one
    return [inner.get("name"), inner.get("arguments")]
