"""What is asked of a rescoring, and what comes of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollgrid.environments.environment import Environment
from rollgrid.runner.rescoring_plan import Origin
from rollgrid.store.rows import AttemptRow, RunRow, TaskRow

__all__ = ["RescoreOutcome", "RescoreRequest", "scorer_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoreRequest:
    """`ref` names the environment whose scorer is applied, from `cwd`; None: the one that the run was started with.

    `env` is that environment itself, for code that has it at hand.
    """

    log: Path
    run_id: str
    author: str
    ref: str | None = None
    cwd: str | None = None
    env: Environment | None = None
    expected: Origin = "run"
    dry_run: bool = False
    concurrency: int = 4


@dataclass(frozen=True, slots=True)
class RescoreOutcome:
    """What came of it. `number` is None for a dry run, which leaves nothing behind.

    `before` are the run's attempts with their own scores, `after` the same with the new ones. `n_unscorable` counts
    attempts whose agent never came to its end. `remarks` are lines for a person. Tokens and cost are a judge's.
    """

    run: RunRow
    tasks: tuple[TaskRow, ...]
    number: int | None
    scorer: str
    digest: str | None
    same_scorer: bool
    before: tuple[AttemptRow, ...]
    after: tuple[AttemptRow, ...]
    n_unscorable: int
    remarks: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    cost: float | None


def scorer_name(scorer: Any) -> str:
    """What a person calls it: its class, and the function of a `CodeScorer`."""
    function: Any = getattr(scorer, "fn", None)
    name = getattr(function, "__name__", None) if function is not None else None
    return type(scorer).__name__ + (f"({name})" if name else "")
