"""What the adapters share: how a foreign run is put down, and how one foreign agent is told apart from another."""

import asyncio
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel

from rollgrid.adapters.connections import keep_to_this_loop
from rollgrid.agent.context import RunContext
from rollgrid.agent.run import Message, Metrics, RunOutput, RunStatus, ToolExecution, content_as_string
from rollgrid.scorer.base import FingerprintError
from rollgrid.scorer.canonical import plain

__all__ = ["Facts", "ForeignAgent", "ForeignRunError", "Given", "Record", "library", "public_url", "text_of"]

Given = Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None
"""JSON values that stand for what an adapter cannot see, or a function that returns them."""


class ForeignRunError(RuntimeError):
    """A foreign agent reported that its run failed. The message begins with its own name for the kind of error."""


def library(name: str, extra: str) -> ModuleType:
    """The module of another library. Raises `ImportError` that says what to install."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise ImportError(f"{name} is not installed; install it with rollgrid's extra: rollgrid[{extra}]") from error


class Facts:
    """What shapes an agent's prompt, tools or sampling: what is known of it by value, and what is not, by name."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.hidden: list[str] = []

    def add(self, name: str, value: Any, *, keep_none: bool = False) -> None:
        """Take `value` in when it is data, else only its name as something that cannot be seen."""
        if value is None and not keep_none:
            return
        try:
            self.known[name] = plain(_data(value), name)
        except FingerprintError:
            self.hide(name, value)

    def hide(self, name: str, value: Any = None) -> None:
        self.hidden.append(name if value is None else f"{name} ({type(value).__name__})")

    def settled(self, given: Given, subject: str, argument: str) -> dict[str, Any]:
        """The facts as JSON values. Raises `FingerprintError` when some are hidden and nothing stands for them."""
        stands_in = given() if callable(given) else given
        if self.hidden and stands_in is None:
            raise FingerprintError(
                f"{subject} holds what has no value that can be hashed: {', '.join(sorted(set(self.hidden)))}; pass "
                f"{argument}={{...}} to the adapter, JSON values that change whenever those do"
            )
        facts = {"known": self.known}
        return facts if stands_in is None else {**facts, "given": stands_in}


def _data(value: Any) -> Any:
    """Dataclasses and sets as plain containers; everything else is left for `plain` to judge."""
    if isinstance(value, type):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if is_dataclass(value):
        shown = {one.name: getattr(value, one.name) for one in fields(value) if not one.name.startswith("_")}
        return {name: _data(inner) for name, inner in shown.items() if inner is not None}
    if isinstance(value, Mapping):
        return {name: _data(inner) for name, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_data(inner) for inner in cast("list[Any]", value)]
    if isinstance(value, (set, frozenset)):
        return sorted(cast("set[str]", value))
    return value


class Record:
    """Puts a foreign run down in `context.output` while it goes on: a run that is cut off keeps what there was."""

    def __init__(self, context: RunContext, text: str, name: str | None) -> None:
        self.context = context
        self.run: RunOutput = context.output
        run = self.run
        run.input = text
        run.agent_name = name
        run.run_id = run.run_id or str(uuid.uuid4())
        run.session_id = run.session_id or context.session_id
        run.user_id = run.user_id or context.user_id
        run.created_at = time.time()
        run.status = RunStatus.running
        run.messages = [Message("user", text)]
        self._asked: float | None = None
        self._begun: dict[str, float] = {}

    @contextmanager
    def kept(self) -> Generator[None, None, None]:
        """Whatever ends the run, its status and duration are set."""
        run, started = self.run, time.perf_counter()
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            run.status = RunStatus.cancelled
            raise
        except BaseException:
            run.status = RunStatus.error
            raise
        else:
            if run.status is RunStatus.running:
                run.status = RunStatus.completed
            run.partial_text = None
        finally:
            run.metrics.duration = time.perf_counter() - started

    def asks(self) -> None:
        """The model is about to be asked."""
        self._asked = time.perf_counter()
        self.run.metrics.model_calls += 1
        self.run.partial_text = None
        self.context.observer.on_model_call(self.run)

    def hears(self, piece: str) -> None:
        """More text of the answer arrived."""
        if not piece:
            return
        self.begins()
        run = self.run
        run.partial_text = piece if run.partial_text is None else run.partial_text + piece
        self.context.observer.on_text(run)

    def begins(self) -> None:
        """Something of the answer arrived: text, reasoning, a call."""
        if self.run.metrics.time_to_first_token is None and self._asked is not None:
            self.run.metrics.time_to_first_token = time.perf_counter() - self._asked

    def heard(self) -> None:
        """The answer is whole, and is or will be among the messages."""
        self.run.partial_text = None

    def calls(self, name: str, arguments: Any, call_id: str | None) -> None:
        """A tool is about to run."""
        self.run.tools.append(ToolExecution(name, _arguments(arguments), call_id))
        self._begun[call_id or ""] = time.perf_counter()
        self.context.observer.on_tool_start(self.run, name)

    def called(self, call_id: str | None, result: Any, *, is_error: bool = False) -> None:
        """A tool has run, or was tried."""
        for execution in reversed(self.run.tools):
            if execution.tool_call_id == call_id and execution.result is None:
                execution.result = text_of(result)
                execution.tool_call_error = is_error
                begun = self._begun.pop(call_id or "", None)
                execution.duration = None if begun is None else time.perf_counter() - begun
                self.context.observer.on_tool_end(self.run, execution)
                return

    def waits(self, name: str, arguments: Any, call_id: str | None) -> None:
        """A call that a person must allow or carry out: the run has paused."""
        self.run.status = RunStatus.paused
        for execution in self.run.tools:
            if execution.tool_call_id == call_id:
                execution.is_paused = True
                return
        self.run.tools.append(ToolExecution(name, _arguments(arguments), call_id, is_paused=True))

    def spent(self, *, input: int, output: int, cached: int = 0, reasoning: int = 0) -> None:
        """The sums of tokens so far."""
        metrics: Metrics = self.run.metrics
        metrics.input_tokens, metrics.output_tokens = input, output
        metrics.cached_tokens, metrics.reasoning_tokens = cached, reasoning


class ForeignAgent(ABC):
    """An agent of another library, as the agent protocol wants it.

    `prompt_fields` and `policy` stand for what the adapter cannot see of the agent: JSON values, or a function that
    returns them. They are hashed together with what it can see. Without them an agent that holds something unseen, such
    as instructions that are made by a function, has no fingerprint, and a warning names it.
    """

    library_name: ClassVar[str]

    def __init__(self, agent: Any, *, prompt_fields: Given = None, policy: Given = None) -> None:
        self.agent = agent
        self._given_prompt = prompt_fields
        self._given_policy = policy
        self.name: str | None = getattr(agent, "name", None)

    async def arun(self, input: str, context: RunContext | None = None) -> RunOutput:
        """Run once, in a session of its own. Raises what the library raises."""
        for client in self._clients():
            await keep_to_this_loop(client)
        record = Record(context or RunContext(), input, self.name)
        with record.kept():
            await self._run(input, record)
        return record.run

    def copy_for_attempt(self) -> "ForeignAgent":
        """Agents that keep nothing of a run are shared by all attempts; one that does keep something says otherwise."""
        return self

    def as_made(self) -> "ForeignAgent":
        """This adapter, for an agent that was made for one attempt."""
        return self

    def prompt_fields(self) -> dict[str, Any]:
        """What shapes the prompt. Raises `FingerprintError` for a part that is unseen when nothing stands for it."""
        return {
            "library": self.library_name,
            **self._prompt().settled(self._given_prompt, f"this {self.library_name} agent's prompt", "prompt_fields"),
        }

    def tool_specs(self) -> list[Any]:
        """The declared tools as JSON values. Raises as `prompt_fields` does."""
        facts = self._tools()
        facts.settled(self._given_prompt, f"this {self.library_name} agent's tools", "prompt_fields")
        return list(facts.known.values())

    @property
    def model(self) -> Any:
        """The library's own model. It is looked at for the key that must not get into the log."""
        return getattr(self.agent, "model", None)

    @property
    def client(self) -> Any:
        """The API client of its model, where it is known; looked at for the same reason."""
        try:
            return next(iter(self._clients()), None)
        except Exception:  # noqa: BLE001 - a client that cannot be made (no key, say) has no key to tell
            return None

    @property
    def model_id(self) -> str | None:
        """The model's name, for people. None when it cannot be told."""
        try:
            told = self._policy().known.get("id")
        except Exception:  # noqa: BLE001 - a model that cannot be looked up (no key, say) fails its run, not this
            return None
        return told if isinstance(told, str) else None

    def policy(self) -> dict[str, Any]:
        """What shapes the sampling. Raises as `prompt_fields` does."""
        return self._policy().settled(self._given_policy, f"this {self.library_name} agent's model", "policy")

    def _clients(self) -> Iterable[Any]:
        """The API clients that its runs share, as far as they are known."""
        return ()

    @abstractmethod
    async def _run(self, input: str, record: Record) -> None: ...
    @abstractmethod
    def _prompt(self) -> Facts: ...
    @abstractmethod
    def _tools(self) -> Facts: ...
    @abstractmethod
    def _policy(self) -> Facts: ...


def text_of(value: Any) -> str:
    """What a tool gave back, as text."""
    return content_as_string(value)


def public_url(url: Any) -> str | None:
    """An address as it may be hashed: without credentials, query or trailing slash."""
    if not url:
        return None
    parts = urlsplit(str(url))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}
