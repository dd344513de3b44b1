"""An agent, a task set and a scorer, wired together."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rollgrid.environments.agents import AgentProtocol, AgentSource, check_agent
from rollgrid.environments.task import Task, task_id
from rollgrid.scorer.base import Scorer

if TYPE_CHECKING:
    from rollgrid.agent.agent import Agent

AsyncFunctionAgent = Callable[[str], Awaitable[Any]]
AgentFactory = Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Environment:
    """What `run_rollouts` runs: every task, k times, with the agent, scored by the scorer.

    `agent` is an `Agent`, an object of the agent protocol, an async function of the input, or a zero-argument factory
    of one of these that is called once per attempt; a live agent is copied per attempt. `timeout_seconds` bounds one
    attempt, run and scoring together.

    `tasks` is kept as a tuple. Frozen means the wiring: no field can be set again. It does not freeze the agent
    itself, so the fingerprints are taken when a run starts.
    """

    name: str
    tasks: Sequence[Task]
    scorer: Scorer
    agent: "Agent | AgentProtocol | AsyncFunctionAgent | AgentFactory"
    timeout_seconds: float = 120

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Environment.name must be a string, got {type(self.name).__name__}")
        check_agent(self.agent)
        object.__setattr__(self, "tasks", _checked_tasks(self.tasks))
        _check_scorer(self.scorer)
        _check_timeout(self.timeout_seconds)

    def env_fingerprint(self) -> str:
        """The fingerprint that a run of this environment would carry now. Raises `FingerprintError`.

        A factory is called once for it.
        """
        from rollgrid.environments.fingerprint import env_fingerprint

        return env_fingerprint(self, AgentSource(self.agent).subject)

    def policy_fingerprint(self) -> str:
        """The fingerprint of the model that the agent asks. Raises `FingerprintError`."""
        from rollgrid.environments.fingerprint import policy_fingerprint

        return policy_fingerprint(AgentSource(self.agent).subject)

    def env_matches(self, other: Any) -> bool:
        """Whether `other`, a result or an environment, has the same environment fingerprint. None matches nothing."""
        from rollgrid.environments.fingerprint import fingerprint_of, same_fingerprint

        return same_fingerprint(fingerprint_of(self), fingerprint_of(other))


def all_tasks(env: Environment) -> tuple[Task, ...]:
    """The environment's tasks, each with the id that it goes by. Raises `ValueError` when two share one."""
    seen: dict[str, int] = {}
    resolved: list[Task] = []
    for index, task in enumerate(env.tasks):
        known = task_id(task, index)
        if known in seen:
            raise ValueError(
                f"task {index + 1} and task {seen[known] + 1} of {env.name!r} both go by the id {known!r}; a task "
                "without an id is named t1..tN by its position"
            )
        seen[known] = index
        resolved.append(task if task.id is not None else Task(task.input, task.expected, known, task.metadata))
    return tuple(resolved)


def resolve_tasks(env: Environment, tasks: Sequence[Task] | None = None) -> tuple[Task, ...]:
    """The tasks to run, with their ids: all, or those of `tasks`, in its order.

    `tasks` must hold objects out of `env.tasks`: a rebuilt equal task is a `ValueError`, and so is one that stands
    twice, or a selection of nothing.
    """
    resolved = all_tasks(env)
    chosen: list[int] = []
    if tasks is None:
        chosen = list(range(len(resolved)))
    else:
        if isinstance(tasks, (str, Task)):
            raise TypeError(f"tasks must be a sequence of Task objects, got {type(tasks).__name__}")
        positions = {id(task): index for index, task in enumerate(env.tasks)}
        for task in tasks:
            index = positions.get(id(task))
            if index is None:
                raise ValueError(
                    f"tasks must be selected from the tasks of {env.name!r}, for example "
                    "[t for t in env.tasks if ...]: a rebuilt task is another task, even with equal fields"
                )
            chosen.append(index)
        if len(set(chosen)) != len(chosen):
            raise ValueError("tasks names one task twice")
    if not chosen:
        raise ValueError(f"no task to run: {'the selection' if env.tasks else f'environment {env.name!r}'} is empty")
    return tuple(resolved[index] for index in chosen)


def _checked_tasks(given: Any) -> tuple[Task, ...]:
    if isinstance(given, (str, Task)) or not isinstance(given, Iterable):
        raise TypeError(f"Environment.tasks must be a sequence of Task objects, got {type(given).__name__}")
    tasks = tuple(cast("Iterable[Any]", given))
    declared: set[str] = set()
    for index, task in enumerate(tasks):
        if not isinstance(task, Task):
            raise TypeError(f"Environment.tasks[{index}] must be a Task, got {type(task).__name__}")
        if task.id is None:
            continue
        if task.id in declared:
            raise ValueError(f"duplicate task id {task.id!r}: task ids must be unique in an environment")
        declared.add(task.id)
    return tasks


def _check_scorer(scorer: Any) -> None:
    if isinstance(scorer, type) or not callable(getattr(scorer, "ascore", None)):
        hint = "; wrap the function: CodeScorer(fn)" if callable(scorer) and not isinstance(scorer, type) else ""
        received = f"the class {scorer.__name__}" if isinstance(scorer, type) else type(scorer).__name__
        raise TypeError(f"Environment.scorer must have `async def ascore(run, expected)`, got {received}{hint}")


def _check_timeout(seconds: Any) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"Environment.timeout_seconds must be a number of seconds, got {type(seconds).__name__}")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"Environment.timeout_seconds must be above 0 and finite, got {seconds!r}")
