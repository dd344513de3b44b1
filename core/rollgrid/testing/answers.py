"""What the server says: right or wrong by a draw that is the same in every run."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from rollgrid.testing.calls import Call
from rollgrid.testing.draft import dumps
from rollgrid.testing.draws import key_of, rate_at, unit
from rollgrid.testing.shapes import instance, place
from rollgrid.testing.spec import Spec

Oracle = Callable[[str, int, bool], str]
"""`oracle(prompt, n, passed)` gives the text of the n-th answer (from 0); `passed` says whether it is to be right."""

_FILLER = "Step by step. "


class Answers:
    """Counts the answers to each task and draws whether the next one is right.

    A task is known by the value of its ANS mark, otherwise by the prompt. The n-th answer to a task passes when
    `unit(seed, task, n) < p`; so K answers to a task hold the same number of right ones in every run, whatever the
    concurrency and the order.
    """

    def __init__(self, oracle: Oracle | None = None) -> None:
        self.oracle = oracle
        self._given: Counter[str] = Counter()

    def next(self, call: Call, spec: Spec, *, count: bool) -> str:
        """The text of the next answer. `count` False looks at it without using it up."""
        task = f"ANS={call.mark}" if call.mark is not None else key_of(call.prompt)
        n = self._given[task]
        if count:
            self._given[task] = n + 1
        rate = rate_at(unit("spread", spec.seed, task)) if spec.spread else spec.p
        passed = unit("answer", spec.seed, task, n) < rate
        if self.oracle is not None:
            text = self.oracle(call.prompt, n, passed)
        elif call.mark is not None:
            text = _marked(call.mark if passed else call.mark + 1, call, spec)
        else:
            text = _unmarked(task, n, passed, call, spec)
        return _padded(text, spec)


def _marked(value: int, call: Call, spec: Spec) -> str:
    if spec.text:
        return f"The answer is {value}."
    schema = call.schema
    return _json({"value": value} if schema is None else place(schema, value))


def _unmarked(task: str, n: int, passed: bool, call: Call, spec: Spec) -> str:
    """Nobody said what is right: a right answer is then the first instance of the schema, a wrong one another."""
    schema = call.schema
    if schema is not None and not spec.text:
        return _json(instance(schema, 0 if passed else 1 + n % 5))
    return f"Simulated answer {task[:6]}." if passed else f"Simulated answer {task[:6]}, but a wrong one ({n})."


def _padded(text: str, spec: Spec) -> str:
    if not spec.pad:
        return text
    if text.startswith(("{", "[")):
        return text + " " * spec.pad  # white space after it leaves JSON valid
    return (_FILLER * (spec.pad // len(_FILLER) + 1))[: spec.pad] + text


def _json(value: Any) -> str:
    return dumps(value).decode()
