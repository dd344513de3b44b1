"""What a model is to the agent loop: one request in, one reply out, text as it arrives."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from rollgrid.models.messages import Message, ToolCall
from rollgrid.models.retry import RetryPolicy

ModelKind = Literal["real", "local", "simulated"]
FinishReason = Literal["stop", "tool_calls", "length", "refusal", "content_filter"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the provider is told of it. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """`schema` is the provider's strict JSON schema of `model`, made once per agent."""

    name: str
    schema: Mapping[str, Any]
    model: type[BaseModel]
    strict: bool = True
    """Whether `schema` keeps the rules of strict mode; a free-form mapping in the model, for one, cannot."""


@dataclass(slots=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelRequest:
    messages: Sequence[Message]
    """The history, oldest first."""
    tools: Sequence[ToolSpec] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    output: OutputSchema | None = None
    seed: int | None = None
    on_headers: Callable[[Mapping[str, str]], None] | None = None
    """Told of the headers of the answer, also of one that is an error, as soon as they are there."""


@dataclass(slots=True)
class ModelReply:
    """What came back. `text` is byte for byte what the model emitted, also when it was cut off or refused."""

    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finish: FinishReason = "stop"
    refusal: str | None = None
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    response_id: str | None = None
    provider_items: list[dict[str, Any]] | None = None
    time_to_first_token: float | None = None
    cost: float | None = None
    """US dollars, where a price is known."""


class Model(ABC):
    """A policy that answers requests. Instances hold parameters only; connections are shared behind them.

    Copies are cheap: `copy.copy(model)` shares the connection pool. Errors are `rollgrid.errors.ModelError`; a reply
    that was refused, cut off or does not validate is a reply, not an error.
    """

    id: str
    provider: ClassVar[str] = "unknown"
    kind: ClassVar[ModelKind] = "real"
    retry: RetryPolicy | None = None
    """How failed calls are made again; None: `RetryPolicy.default()`."""

    @property
    def endpoint(self) -> str:
        """What calls have a rate limit in common with: the server's address, without credentials."""
        return self.provider

    @abstractmethod
    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Answer once, without retries. `on_text` gets each piece of answer text as it arrives."""

    @abstractmethod
    def policy(self) -> dict[str, Any]:
        """Everything that shapes sampling, JSON-ready and canonical: id, base_url, temperature, ...

        No credential, client, header, retry or timeout setting is in it.
        """

    def prompt_fields(self) -> dict[str, Any]:
        """Model-level fields that shape the prompt; part of the environment fingerprint."""
        return {}

    async def check(self) -> None:  # noqa: B027 - most models can always be asked
        """Raise `ModelError` at once when no request can succeed (no key, say). Makes no request by default."""

    async def aclose(self) -> None:  # noqa: B027 - most models hold nothing
        """Give back what this instance holds on its own; shared pools stay."""
