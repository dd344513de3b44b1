"""An answer before it takes the shape of either API."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson

Outcome = Literal["completed", "incomplete", "filter", "failed"]


@dataclass(slots=True)
class ToolUse:
    name: str
    arguments: str


@dataclass(slots=True)
class Tokens:
    """Counted as one for every four bytes or characters, at least one."""

    input: int
    output: int
    reasoning: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(slots=True)
class Draft:
    id: str
    model: str
    created: int
    tokens: Tokens
    text: str = ""
    refusal: str | None = None
    tool: ToolUse | None = None
    thinking: str | None = None
    outcome: Outcome = "completed"
    chunks: int = 4
    wants_usage: bool = False

    def pieces(self) -> Iterator[str]:
        """The text in at most `chunks` pieces of one length."""
        step = -(-len(self.text) // max(1, self.chunks)) or 1
        return (self.text[at : at + step] for at in range(0, len(self.text), step))


def tokens_in(size: int) -> int:
    return max(1, size // 4)


def dumps(value: Any) -> bytes:
    """JSON, also of what only the slow encoder can write: lone surrogates and integers beyond 64 bit."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()
