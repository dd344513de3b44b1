"""Settles everything about a run before its first attempt: tasks, agent, fingerprints."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rollgrid.analysis.sequential import Claim
from rollgrid.environments.agents import AgentSource, resolve_agent
from rollgrid.environments.attempt import AttemptResult
from rollgrid.environments.environment import Environment, resolve_tasks
from rollgrid.environments.fingerprint import fingerprint_run, same_fingerprint
from rollgrid.environments.task import Task
from rollgrid.masking import look_at_the_environment, part_of, remember_holder
from rollgrid.models.base import Model
from rollgrid.runner.attempt import RunAgent
from rollgrid.runner.budget import Limits, Spent
from rollgrid.runner.machine import versions
from rollgrid.runner.plan import all_slots
from rollgrid.runner.sampling import SamplingPlan
from rollgrid.runner.schedule import Order, Slot
from rollgrid.scorer.base import MismatchError
from rollgrid.store import process
from rollgrid.store.events import Event, RunCreated, TaskInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run that can start.

    For a resumed one, `kept` are the attempts that count already and `earlier` the events that put the log in order.
    """

    env: Environment
    tasks: tuple[Task, ...]
    k: int
    env_fingerprint: str | None
    policy_fingerprint: str | None
    fingerprint_parts: Mapping[str, str]
    warnings: tuple[str, ...]
    agent: AgentSource
    override: Model | None
    source: Mapping[str, Any]
    slots: tuple[Slot, ...]
    targets: tuple[int, ...]
    """How many attempts each task wants, in the order of `tasks`."""
    takes: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    kept: Mapping[tuple[int, int], AttemptResult] = field(default_factory=dict[tuple[int, int], AttemptResult])
    earlier: tuple[tuple[Event, bytes | None], ...] = ()
    session: int = 1
    as_of: int | None = None
    """The last event of the run that a resume was prepared with."""
    active_seconds: float = 0.0
    seed: str | None = None
    spent: Spent = field(default_factory=Spent)
    """What earlier sessions paid, for all takes."""
    known: tuple[tuple[int, Spent], ...] = ()
    """What attempts of each task took in earlier sessions."""
    limits: Limits = field(default_factory=Limits)
    """What the last session was given to keep to."""
    sampling: SamplingPlan | None = None
    """Attempts are made until this is decided, instead of so many of each task."""
    claims: Mapping[int, Claim] = field(default_factory=dict[int, Claim])
    """What earlier sessions decided, by position of the task."""
    is_restricted: bool = False
    """Other tasks lack attempts that this session does not run."""

    @property
    def model(self) -> Model | None:
        """The model that the attempts ask, None when the agent does not tell."""
        return self.override if self.override is not None else self.agent.model

    @property
    def order(self) -> Order:
        return "task" if getattr(self.model, "prefers_task_order", False) else "breadth"

    @property
    def max_concurrency(self) -> int | None:
        return getattr(self.model, "max_concurrency", None)

    @property
    def make_agent(self) -> Callable[[], RunAgent]:
        return lambda: self.agent.for_attempt(self.override)

    @property
    def model_id(self) -> str:
        """The model's id, or what kind of agent it is when its model is not known."""
        if self.model is not None:
            return self.model.id
        told = getattr(self.agent.subject, "model_id", None)
        return told if isinstance(told, str) and told else type(self.agent.subject).__name__

    @property
    def model_kind(self) -> Literal["real", "local", "simulated", "foreign"]:
        return self.model.kind if self.model is not None else "foreign"

    def about(self, run_id: str) -> dict[str, Any]:
        """Facts of the run that are kept with a saved result and enter no figure."""
        return {"run_id": run_id, "model": self.model_id, "model_kind": self.model_kind}

    def opening_events(self, run_id: str, author: str) -> Iterator[tuple[Event, bytes | None]]:
        """What the log gets first: the run itself when it is new, else what puts earlier sessions in order."""
        if self.session > 1:
            yield from self.earlier
            return
        yield (
            RunCreated(
                run_id=run_id,
                at=time.time(),
                env_name=self.env.name,
                env_fingerprint=self.env_fingerprint,
                policy_fingerprint=self.policy_fingerprint,
                fingerprint_parts=dict(self.fingerprint_parts),
                k=self.k,
                tasks=tuple(
                    TaskInfo(id=task.id or "", input=task.input, expected=task.expected, metadata=dict(task.metadata))
                    for task in self.tasks
                ),
                model=self.model_id,
                model_kind=self.model_kind,
                timeout_seconds=self.env.timeout_seconds,
                source=dict(self.source),
                author=author,
                host=process.host(),
                versions=versions(),
            ),
            None,
        )


def prepare_run(
    env: Environment,
    *,
    k: int = 8,
    tasks: Sequence[Task] | None = None,
    model: Model | None = None,
    source: Mapping[str, Any] | None = None,
    seed: str | None = None,
    sampling: SamplingPlan | None = None,
) -> Prepared:
    """A new run, of `k` attempts of each task, or until what `sampling` asks is decided.

    Raises `ValueError` or `TypeError` for what cannot be run, before anything is paid for.
    """
    if sampling is not None:
        k = sampling.first_wave
    if isinstance(k, bool) or not isinstance(k, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"k must be a whole number, got {type(k).__name__}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    chosen = resolve_tasks(env, tasks)
    agent = resolve_agent(env.agent)
    _learn_secrets(agent)
    if model is not None and not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"model must be a model instance, got {type(model).__name__}")
    prints = fingerprint_run(env, model=model, source=agent)
    if sampling is not None and sampling.baseline is not None:
        _refuse_other_baseline(prints.env, sampling.baseline_fingerprint)
    return Prepared(
        env=env,
        tasks=chosen,
        k=k,
        env_fingerprint=prints.env,
        policy_fingerprint=prints.policy,
        fingerprint_parts=prints.parts,
        warnings=prints.warnings,
        agent=agent,
        override=model,
        source=source or {},
        slots=all_slots(len(chosen), k),
        targets=(k,) * len(chosen),
        seed=seed,
        sampling=sampling,
    )


def _refuse_other_baseline(ours: str | None, theirs: str | None) -> None:
    if not same_fingerprint(ours, theirs):
        raise MismatchError(
            f"the baseline is of another environment ({theirs or 'no fingerprint'}) than the run "
            f"({ours or 'no fingerprint'}), so nothing could be decided against it"
        )


def _learn_secrets(agent: AgentSource) -> None:
    """From now on nothing of the user's code is imported that could bring further ones."""
    look_at_the_environment()
    subject = agent.subject
    model = part_of(subject, "model")
    remember_holder(subject, model, part_of(subject, "client"), part_of(model, "client"), part_of(model, "_client"))
