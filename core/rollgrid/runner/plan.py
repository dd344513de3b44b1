"""What a run is about to do, settled before the first attempt starts."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rollgrid.environments.task import Task
from rollgrid.models.pricing import PriceList
from rollgrid.runner.attempt import RunAgent
from rollgrid.runner.schedule import Order, Slot
from rollgrid.scorer.base import Scorer


@dataclass(frozen=True, slots=True)
class RunPlan:
    """`slots` are the attempts to run now; `takes` the number of takes that each (task, attempt) has had before.

    `make_agent` gives a fresh, isolated agent for one attempt. `max_concurrency` is the model's own limit.
    """

    run_id: str
    tasks: tuple[Task, ...]
    k: int
    scorer: Scorer
    make_agent: Callable[[], RunAgent]
    timeout_seconds: float
    slots: tuple[Slot, ...]
    targets: tuple[int, ...] = ()
    """How many attempts each task wants, in the order of `tasks`; empty: `k` each."""
    takes: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    seed: str = ""
    order: Order = "breadth"
    max_concurrency: int | None = None
    storm_action: Literal["stop", "pause"] = "stop"
    drain_seconds: float = 30.0
    endpoint: str = ""
    """Where the agent's model is asked; empty when the agent does not tell."""
    model_id: str = ""
    prices: PriceList | None = None

    def seed_of(self, slot: Slot) -> int:
        """A seed of the attempt's own: the same whenever this attempt of this run is run again."""
        key = f"{self.seed}/{self.tasks[slot.task].id}/{slot.attempt}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(key).digest()[:4], "big") >> 1


def all_slots(n_tasks: int, k: int) -> tuple[Slot, ...]:
    """The first take of every attempt."""
    return tuple(Slot(task, attempt, 1) for task in range(n_tasks) for attempt in range(1, k + 1))
