"""Tasks: the rows of an evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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

    @classmethod
    def from_jsonl(cls, path: str | Path) -> "tuple[Task, ...]":
        raise NotImplementedError
