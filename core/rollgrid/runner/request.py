"""What a command asks of a runner, in a form that travels to another process."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import orjson

from rollgrid.runner.budget import Limits
from rollgrid.runner.ray_options import RayOptions
from rollgrid.runner.sampling import SamplingPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A new run of `ref`, or with `resume` the rest of the run `run_id`.

    `ref` and `cwd` name the environment as `load_environment` takes them; for a resume they come from the log. `tasks`
    and `where` choose among the environment's tasks (ids; metadata key and value). `model` names another policy for the
    environment's agent. For a resume, `tasks` and `where` choose what to go on with, and `more` runs so many attempts
    of each further to what it has, and nothing else.

    `adaptive`: the concurrency is found out as the run goes on, from `concurrency` where that is given; None: as the
    run was started. `limits` bound what all sessions of the run spend together; on a resume they replace those of the
    run one by one. `price` is `IN/OUT[/CACHED]` in US dollars per million tokens, instead of the price list.
    `engine`: where the attempts are carried out; None: as the run was started, in this process when it is new.
    `sampling`: attempts are made until that is decided, whatever `k` is; a resume goes on with what the run was started
    with, with `max_k` attempts of a task at most where that is given.
    `storm_action`: `pause` when somebody watches and can steer, `stop` when nobody does.
    """

    run_id: str
    log: Path
    author: str
    ref: str | None = None
    cwd: str | None = None
    resume: bool = False
    k: int | None = None
    more: int | None = None
    concurrency: int | None = None
    adaptive: bool | None = None
    limits: Limits = field(default_factory=Limits)
    price: str | None = None
    tasks: tuple[str, ...] = ()
    where: tuple[tuple[str, str], ...] = ()
    model: str | None = None
    seed: str | None = None
    sampling: SamplingPlan | None = None
    max_k: int | None = None
    engine: Literal["local", "ray"] | None = None
    ray: RayOptions = field(default_factory=RayOptions)
    storm_action: Literal["stop", "pause"] = "stop"

    def to_json(self) -> bytes:
        return orjson.dumps(dataclasses.asdict(self), default=str)

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        values: dict[str, Any] = orjson.loads(data)
        values["log"] = Path(values["log"])
        values["limits"] = Limits.from_dict(values["limits"])
        values["ray"] = RayOptions.from_dict(values["ray"])
        values["sampling"] = None if values["sampling"] is None else SamplingPlan.from_dict(values["sampling"])
        values["tasks"] = tuple(values["tasks"])
        values["where"] = tuple((key, value) for key, value in values["where"])
        return cls(**values)

    def source(self) -> dict[str, Any]:
        """What the log keeps of this request, so that the run can be resumed from it."""
        return {
            "ref": self.ref,
            "cwd": self.cwd,
            "tasks": list(self.tasks),
            "where": [list(pair) for pair in self.where],
            "model": self.model,
            "seed": self.seed,
            "concurrency": self.concurrency,
            "adaptive": self.adaptive,
            "limits": self.limits.to_dict(),
            "price": self.price,
            "sampling": None if self.sampling is None else self.sampling.to_dict(),
            "engine": self.engine,
            "ray": self.ray.to_dict(),
        }
