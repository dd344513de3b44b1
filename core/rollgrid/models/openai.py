"""Models behind the OpenAI API and servers that speak it. The `openai` package is imported by the first request."""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from rollgrid.masking import remember, remember_address, remember_headers, remember_holder
from rollgrid.models import _chat, _errors, _responses
from rollgrid.models._client import Endpoint, as_items, close_clients, public_url, shared_client
from rollgrid.models._wire import post, post_streaming
from rollgrid.models.base import Model, ModelReply, ModelRequest
from rollgrid.models.retry import RetryPolicy

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAIChat", "OpenAIResponses", "close_clients"]

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"] | str
Level = Literal["low", "medium", "high"] | str

_REASONING = re.compile(r"(^|/)(o\d|gpt-5|gpt-6|codex)")


@dataclass(kw_only=True, eq=False, repr=False)
class _OpenAIModel(Model):
    """What both APIs share: where requests go, and what is sent beside the parameters of sampling."""

    id: str = field(kw_only=False)
    stream: bool = True
    """Streaming costs nothing extra here, and a run that is cut off keeps what had arrived."""

    temperature: float | None = None
    top_p: float | None = None
    parallel_tool_calls: bool | None = None
    strict_output: bool = True
    extra_body: Mapping[str, Any] | None = None
    """Further parameters of the request, as the API calls them. They win over the named ones."""
    request_params: Mapping[str, Any] | None = None
    """The same as `extra_body`."""

    service_tier: str | None = None
    store: bool | None = False
    metadata: Mapping[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    api_key: "str | Callable[[], Any] | None" = None
    base_url: str | None = None
    organization: str | None = None
    project: str | None = None
    default_headers: Mapping[str, str] | None = None
    default_query: Mapping[str, Any] | None = None
    extra_headers: Mapping[str, str] | None = None
    extra_query: Mapping[str, Any] | None = None
    timeout: Any = None
    """Seconds for one try, or a timeout object of the transport; None: ten minutes."""
    max_retries: int | None = None
    retry: RetryPolicy | None = None
    client_params: Mapping[str, Any] | None = None
    http_client: Any = None
    client: "AsyncOpenAI | None" = None
    """A client of your own, Azure's included. It is used as it is, and yours to close."""

    provider: ClassVar[str] = "openai"
    _shaping: ClassVar[tuple[str, ...]] = ()
    """The parameters that shape sampling: what the policy is made of."""

    def __post_init__(self) -> None:
        if self.retry is None and self.max_retries is not None:
            self.retry = RetryPolicy(max_retries=self.max_retries)
        remember(self.api_key)
        remember_address(self.base_url)
        for given in (self.default_headers, self.default_query, self.extra_headers, self.extra_query):
            remember_headers(given)
        remember_holder(self.client)

    def __repr__(self) -> str:
        set_ones = [f"{name}={value!r}" for name in self._shaping if (value := getattr(self, name)) is not None]
        return f"{type(self).__name__}({', '.join([repr(self.id), *set_ones])})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy shares client and connections, which cannot be copied."""
        return copy.copy(self)

    def policy(self) -> dict[str, Any]:
        """Class, provider, id, base_url, and every parameter that shapes sampling and is set."""
        policy: dict[str, Any] = {
            "class": type(self).__name__,
            "provider": self.provider,
            "id": self.id,
            "base_url": self._effective_url(),
        }
        for name in self._shaping:
            value = getattr(self, name)
            if value is not None:
                policy[name] = value
        if not self.strict_output:
            policy["strict_output"] = False
        extra = {**(self.extra_body or {}), **(self.request_params or {})}
        if extra:
            policy["extra_body"] = extra
        return policy

    @property
    def endpoint(self) -> str:
        return self._effective_url()

    async def check(self) -> None:
        """Raise `ModelError` when there is no key for a host that wants one."""
        if self.client is None:
            self._endpoint().key()

    def _effective_url(self) -> str:
        return public_url(str(self.client.base_url)) if self.client is not None else self._endpoint().effective_url

    def _endpoint(self) -> Endpoint:
        return Endpoint(
            base_url=str(self.base_url) if self.base_url is not None else None,
            api_key=self.api_key,
            organization=self.organization,
            project=self.project,
            headers=as_items(self.default_headers),
            query=as_items(self.default_query),
            http_client=self.http_client,
            client_params=as_items(self.client_params),
        )

    async def _connected(self) -> "AsyncOpenAI":
        return self.client if self.client is not None else await shared_client(self._endpoint())

    def _options(self) -> dict[str, Any]:
        """What goes with a request beside its body. The client's own retries are off: ours are counted and shown."""
        options: dict[str, Any] = {"max_retries": 0}
        if self.extra_headers:
            options["headers"] = dict(self.extra_headers)
        if self.extra_query:
            options["params"] = dict(self.extra_query)
        if self.timeout is not None:
            options["timeout"] = self.timeout
        return options

    def _set(self, body: dict[str, Any], *names: str) -> None:
        """Put the parameters that are set into the body, under their own names."""
        for name in names:
            value = getattr(self, name)
            if value is not None:
                body[name] = value

    def _finish_body(self, body: dict[str, Any]) -> dict[str, Any]:
        self._set(body, "temperature", "top_p", "service_tier", "metadata", "user", "safety_identifier")
        self._set(body, "prompt_cache_key")
        if self.stream:
            body["stream"] = True
        if self.extra_body:
            body.update(self.extra_body)
        if self.request_params:
            body.update(self.request_params)
        return body


@dataclass(kw_only=True, eq=False, repr=False)
class OpenAIResponses(_OpenAIModel):
    """A model behind the Responses API.

    Without `store=True` nothing is kept at the provider. Reasoning that belongs to a tool call then travels encrypted
    with the history.
    """

    reasoning_effort: Effort | None = None
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    reasoning: Mapping[str, Any] | None = None
    verbosity: Level | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    truncation: Literal["auto", "disabled"] | None = None
    top_logprobs: int | None = None
    include: list[str] | None = None

    _shaping: ClassVar[tuple[str, ...]] = (
        "reasoning_effort",
        "reasoning",
        "verbosity",
        "max_output_tokens",
        "max_tool_calls",
        "temperature",
        "top_p",
        "truncation",
        "parallel_tool_calls",
    )

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        client = await self._connected()
        body = self.body(request)
        if not body.get("stream"):
            sent = await post(client, "/responses", body, self._options(), request.on_headers)
            return _responses.parse_response(sent)
        stream = _responses.ResponseStream(on_text)
        whole = await post_streaming(client, "/responses", body, self._options(), stream, request.on_headers)
        if whole is not None:
            return _responses.parse_response(whole)
        if stream.reply is None:
            raise _errors.protocol("the stream ended before the answer did")
        return stream.reply

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request as the API takes it."""
        body: dict[str, Any] = {"model": self.id, "input": _responses.input_items(request.messages)}
        body.update(_responses.tools_and_choice(request))
        reasoning = dict(self.reasoning or {})
        if self.reasoning_effort is not None:
            reasoning["effort"] = self.reasoning_effort
        if self.reasoning_summary is not None:
            reasoning["summary"] = self.reasoning_summary
        if reasoning:
            body["reasoning"] = reasoning
        text: dict[str, Any] = {}
        if request.output is not None:
            text["format"] = _responses.text_format(request.output, self.strict_output)
        if self.verbosity is not None:
            text["verbosity"] = self.verbosity
        if text:
            body["text"] = text
        include = list(self.include or ())
        if request.tools and not self.store and (reasoning or _REASONING.search(self.id)):
            include.append("reasoning.encrypted_content")
        if include:
            body["include"] = include
        self._set(body, "max_output_tokens", "max_tool_calls", "truncation", "top_logprobs", "store")
        if request.tools:
            self._set(body, "parallel_tool_calls")
        return self._finish_body(body)


@dataclass(kw_only=True, eq=False, repr=False)
class OpenAIChat(_OpenAIModel):
    """A model behind chat completions, which most servers of one's own speak."""

    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    """Sent as it is with every attempt; with a seed, K attempts are meant to be the same."""
    stop: str | list[str] | None = None
    logit_bias: Mapping[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    reasoning_effort: Effort | None = None
    verbosity: Level | None = None
    store: bool | None = None
    stream_usage: bool = True
    """Ask for the usage in a stream; a server that refuses `stream_options` needs this off."""

    _shaping: ClassVar[tuple[str, ...]] = (
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "frequency_penalty",
        "presence_penalty",
        "seed",
        "stop",
        "logit_bias",
        "reasoning_effort",
        "verbosity",
        "parallel_tool_calls",
    )

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        client = await self._connected()
        body = self.body(request)
        if not body.get("stream"):
            sent = await post(client, "/chat/completions", body, self._options(), request.on_headers)
            return _chat.parse_completion(sent)
        stream = _chat.ChatStream(on_text)
        whole = await post_streaming(client, "/chat/completions", body, self._options(), stream, request.on_headers)
        return _chat.parse_completion(whole) if whole is not None else stream.reply()

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request as the API takes it."""
        body: dict[str, Any] = {"model": self.id, "messages": _chat.chat_messages(request.messages)}
        body.update(_chat.tools_and_choice(request))
        if request.output is not None:
            body["response_format"] = _chat.response_format(request.output, self.strict_output)
        if self.stream and self.stream_usage:
            body["stream_options"] = {"include_usage": True}
        self._set(body, "max_tokens", "max_completion_tokens", "frequency_penalty", "presence_penalty", "seed", "stop")
        self._set(body, "logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "store")
        if request.tools:
            self._set(body, "parallel_tool_calls")
        return self._finish_body(body)


# Every name that the policy speaks of is a parameter; a slip in the lists above would silently lose one.
for _model in (OpenAIResponses, OpenAIChat):
    _unknown = set(_model._shaping) - {f.name for f in fields(_model)}
    if _unknown:
        raise TypeError(f"{_model.__name__} has no parameters {_unknown}")
