"""One face for everything that may stand as an environment's agent.

Five things can: an `Agent`; an agent of a library that there is an adapter for; an object of the agent protocol
(`async def arun(input)`); an async function of the input; a zero-argument factory of any of these, called once per
attempt. `AgentSource` turns each into `AttemptAgent`s, of which every attempt gets its own.
"""

import copy
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from typing import Any, Protocol, cast, runtime_checkable

from pydantic import BaseModel

from rollgrid.adapters import adapted, is_foreign
from rollgrid.adapters.shape import run_of_shape
from rollgrid.agent.context import RunContext, handed_down
from rollgrid.agent.run import RunOutput, RunStatus
from rollgrid.errors import RollgridError
from rollgrid.models.base import Model
from rollgrid.models.messages import Message

__all__ = [
    "AgentFactoryError",
    "AgentProtocol",
    "AgentSource",
    "AttemptAgent",
    "adopt",
    "check_agent",
    "is_factory",
    "resolve_agent",
    "with_model",
]

_ACCEPTED = (
    "an Agent (of pydantic-ai, openai-agents or agno too), an object with `async def arun(input)`, an async function "
    "of the input, or a zero-argument factory of one of these"
)


class AgentFactoryError(RollgridError, RuntimeError):
    """The factory of an environment's agent raised before there was any attempt."""


@runtime_checkable
class AgentProtocol(Protocol):
    """What an agent of another library must offer, at least.

    `arun(input)` returns a `RunOutput`, a pydantic model instance or text. It may also take `context`, `session_id` or
    `user_id` by keyword: those that its signature names are handed to it. What it may offer besides, each optional:

    - `copy_for_attempt()`: an independent copy for one attempt; without it `deep_copy()` or `copy.deepcopy` is used.
    - `with_model(model)`: a copy on another model, for `run_rollouts(model=...)`.
    - `prompt_fields()`: what shapes its prompt and tools, as JSON values, for the environment fingerprint.
    - `policy()`: what shapes its sampling, as JSON values, for the policy fingerprint.
    - `model_id`: the model's name, for people.
    """

    def arun(self, input: str) -> Any: ...


class AttemptAgent:
    """The agent of one attempt. `run` always fills and returns `context.output`."""

    __slots__ = ("_handed", "_subject")

    def __init__(self, subject: Any, handed: Sequence[str] | None = None) -> None:
        """`handed` are the keywords that the subject's signature names; they are looked up when not given."""
        self._subject = subject
        self._handed = _handed_of(subject) if handed is None else handed

    async def run(self, input: str, context: RunContext) -> RunOutput:
        """Run once. Raises what the agent raises, and `TypeError` for an answer that is none."""
        output = context.output
        output.input = output.input if output.input is not None else input
        output.session_id = output.session_id or context.session_id
        output.user_id = output.user_id or context.user_id
        call = getattr(self._subject, "arun", None) or self._subject
        handed = {name: context if name == "context" else getattr(context, name) for name in self._handed}
        if "context" not in handed:
            # A run that is cut off keeps at least what it was asked.
            output.messages.append(Message(role="user", content=input))
        try:
            answer = call(input, **handed)
            if inspect.isawaitable(answer):
                answer = await answer
        except SystemExit as error:
            # It would end the run, not the attempt.
            raise RuntimeError(f"the agent called sys.exit({error.code!r})") from error
        return adopt(answer, output)


def adopt(answer: Any, output: RunOutput) -> RunOutput:
    """Put what an agent returned into `output`.

    Text counts as what the model emitted. Of a bare pydantic instance nobody knows the model's own words, so there is
    no assistant message for it.
    """
    if answer is output:
        pass
    elif isinstance(answer, RunOutput):
        _fill(output, answer)
    elif isinstance(answer, str):
        output.content = output.raw_text = answer
        output.messages.append(Message(role="assistant", content=answer))
    elif isinstance(answer, BaseModel):
        output.content = answer
    elif callable(getattr(answer, "to_dict", None)) and hasattr(answer, "content"):
        # The run of a library with files of the same shape.
        _fill(output, run_of_shape(answer, _kind(answer)))
    else:
        raise TypeError(
            f"the agent returned {_kind(answer)}; it must return a RunOutput, a pydantic model instance or text"
        )
    if output.status is RunStatus.running:
        output.status = RunStatus.completed
    return output


def _fill(output: RunOutput, source: RunOutput) -> None:
    kept = {name: getattr(output, name) for name in ("input", "session_id", "user_id", "created_at")}
    asked = output.messages
    for one in fields(RunOutput):
        setattr(output, one.name, getattr(source, one.name))
    for name, value in kept.items():
        if getattr(output, name) is None:
            setattr(output, name, value)
    if not output.messages:
        output.messages = asked
        if isinstance(output.content, str):
            output.raw_text = output.raw_text if output.raw_text is not None else output.content
            output.messages.append(Message(role="assistant", content=output.raw_text))


class AgentSource:
    """Where the attempts of a run get their agents from. Made once, when the run starts.

    Raises at once what would otherwise fail every attempt: a factory that raises or gives a wrong thing, an object that
    cannot be copied. `subject` is the instance to look at; `model` is its model, None when it does not tell;
    `output_schema` its typed answer, if any; `label` names it for people.
    """

    def __init__(self, agent: Any) -> None:
        check_agent(agent)
        self._is_factory = is_factory(agent)
        self._agent = agent = agent if self._is_factory else adapted(agent)
        self.subject: Any = self._made() if self._is_factory else agent
        if not self._is_factory:
            self._copied()
        used = getattr(self.subject, "model", None)
        self.model: Model | None = used if isinstance(used, Model) else None
        schema = getattr(self.subject, "output_schema", None)
        self.output_schema: type[BaseModel] | None = (
            schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None
        )
        name = getattr(self.subject, "name", None) or getattr(self.subject, "__name__", None)
        # Looking at a signature costs more than the rest of an attempt's preparation; a factory may vary what it makes.
        self._handed = None if self._is_factory else _handed_of(agent)
        self.label: str = name if isinstance(name, str) else type(self.subject).__name__

    def attempt(self, model: Model | None = None) -> AttemptAgent:
        """A fresh agent for one attempt, on `model` when that is given. What a factory raises here is raised here."""
        if self._is_factory:
            made = self._agent()
            _check_product(made)
            made = adapted(made, is_fresh=True)
        else:
            made = self._copied()
        if model is not None and model is not self.model:
            made = with_model(made, model)
        return AttemptAgent(made, self._handed)

    def for_attempt(self, model: Model | None = None) -> Callable[[str, RunContext], Awaitable[RunOutput]]:
        """As `attempt`, as one bound callable."""
        return self.attempt(model).run

    def _made(self) -> Any:
        try:
            made = self._agent()
        except Exception as error:
            raise AgentFactoryError(
                f"the environment's agent factory failed before any attempt: {type(error).__name__}: {error}"
            ) from error
        _check_product(made)
        return adapted(made, is_fresh=True)

    def _copied(self) -> Any:
        agent = self._agent
        if inspect.iscoroutinefunction(agent):
            return agent
        for name in ("copy_for_attempt", "deep_copy"):
            method = getattr(agent, name, None)
            if callable(method):
                return method()
        try:
            return copy.deepcopy(agent)
        except Exception as error:
            raise TypeError(
                f"the environment's agent ({_kind(agent)}) cannot be copied for each attempt ({error}); pass a "
                "zero-argument factory that makes it, or one that returns this object if sharing it is meant"
            ) from error


def resolve_agent(agent: Any) -> AgentSource:
    """What `agent` is, settled once. Raises `TypeError` or `RuntimeError` as `AgentSource` does."""
    return AgentSource(agent)


def with_model(agent: Any, model: Model) -> Any:
    """`agent` on another model. Raises `TypeError` when it cannot take one."""
    method = getattr(agent, "with_model", None)
    if not callable(method):
        raise TypeError(
            f"model= cannot be applied to {_kind(agent)}: it has no with_model(model); give the agent itself another "
            "model"
        )
    return method(model)


def check_agent(agent: Any) -> None:
    """Raise `TypeError`, naming the type received, when `agent` can never give an attempt its agent."""
    if _is_runnable(agent):
        return
    if inspect.iscoroutinefunction(agent):
        raise TypeError(f"Environment.agent is the async function {_function_name(agent)}, which takes no input")
    if inspect.isasyncgenfunction(agent) or inspect.isasyncgenfunction(getattr(agent, "__call__", None)):  # noqa: B004
        raise TypeError(
            f"Environment.agent is the async generator {_function_name(agent)}; an agent returns its whole answer, "
            "so gather the pieces in an `async def` function of the input"
        )
    if not callable(agent):
        raise TypeError(f"Environment.agent must be {_ACCEPTED}; got {_kind(agent)}")
    needed = _needed(agent)
    if needed:
        raise TypeError(
            f"Environment.agent must be {_ACCEPTED}; got {_kind(agent)}, which needs the argument {needed[0]!r} "
            "(a factory takes none, and a function that is the agent itself must be `async def`)"
        )


def is_factory(agent: Any) -> bool:
    """Whether `agent` is called for an agent, rather than being one."""
    return not _is_runnable(agent)


def _is_runnable(agent: Any) -> bool:
    if isinstance(agent, type):
        return False  # a class makes agents
    if is_foreign(agent):
        return True
    if callable(getattr(agent, "arun", None)):
        return True
    call = getattr(agent, "__call__", None)  # noqa: B004 - an async method is looked for, not callability
    is_async = inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(call)
    return is_async and bool(_parameters(agent))


def _check_product(made: Any) -> None:
    if not _is_runnable(made):
        if inspect.iscoroutine(made):
            made.close()
        raise TypeError(
            f"the environment's agent factory returned {_kind(made)}; it must return an Agent, an object with "
            "`async def arun(input)` or an async function of the input"
        )


def _handed_of(subject: Any) -> tuple[str, ...]:
    return handed_down(getattr(subject, "arun", None) or subject)


def _parameters(call: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return {}


def _needed(call: Any) -> list[str]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        name
        for name, one in _parameters(call).items()
        if one.default is inspect.Parameter.empty and one.kind not in variadic
    ]


def _function_name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    return getattr(function, "__name__", None) or type(function).__name__


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "None" if value is None else type(value).__name__
