"""`LocalModel`: an embedded model as a policy for agents."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from rollgrid.errors import ModelError, RollgridError
from rollgrid.models.base import Model, ModelKind, ModelReply, ModelRequest, OutputSchema
from rollgrid.models.local.cache import find
from rollgrid.models.local.catalog import DEFAULT_MODEL, card
from rollgrid.models.local.forcing import FORCING_VERSION, ForcedReply, calls_so_far, force_tools, plain_history
from rollgrid.models.local.process import (
    LocalServer,
    ServerSettings,
    default_threads,
    runtime_is_installed,
    shared_server,
)
from rollgrid.models.openai import OpenAIChat
from rollgrid.models.retry import RetryPolicy

_CRASH_NOTICE_SECONDS = 0.5
"""A connection breaks a moment before the process can be seen to have ended."""
_SEEDS = 2**32 - 1
"""Seeds of the runtime run up to this; this one itself means a random seed."""


@dataclass(kw_only=True, eq=False)
class LocalModel(Model):
    """A small real model on this machine, without a key or a network.

    It needs `pip install 'rollgrid[local]'` and, once, `rollgrid model install`.

    `id` is a name of the catalogue (`rollgrid model list`). The first request starts the model's process, which every
    LocalModel of the same file shares and which ends with this one. Every attempt of a run has a seed: the same run
    gives the same answers again on the same machine. (In another order a few may differ, since what was computed for
    the beginning of an earlier prompt is used again.)

    Structured output and tools work through a forced JSON schema, so that also the smallest model keeps to the form.
    One tool is called a turn.
    """

    id: str = field(default=DEFAULT_MODEL, kw_only=False)
    temperature: float = 0.8
    top_p: float = 0.95
    top_k: int = 40
    min_p: float = 0.05
    max_tokens: int = 512
    """Tokens of one reply; a reply that reaches them is cut off."""
    n_ctx: int = 4096
    """Tokens of prompt and reply together."""
    seed: int | None = None
    """The seed of requests that bring none; None: another one each time."""
    threads: int | None = None
    """None: the cores that this process may use, at most 4."""
    retry: RetryPolicy | None = None

    provider: ClassVar[str] = "local"
    kind: ClassVar[ModelKind] = "local"
    prefers_task_order: ClassVar[bool] = True
    """One task's attempts run close together, while its prompt is in the server's one slot."""
    max_concurrency: ClassVar[int] = 1
    """Attempts in flight that make sense: a second one only waits for the first, and no run gets shorter by it."""

    def __post_init__(self) -> None:
        card(self.id)  # an unknown name is told of where it is written

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        server = self._server()
        endpoint = await server.endpoint()
        forced = force_tools(request)
        chat = self._chat(endpoint.base_url, endpoint.api_key, request.seed)
        try:
            # What a forced reply is can only be told at its end, so nothing of it is passed on before.
            reply = await chat.respond(_plain(request, forced), on_text if forced is None else None)
        except ModelError as error:
            how = (
                await server.ended(endpoint, _CRASH_NOTICE_SECONDS)
                if error.kind in ("connection", "protocol")
                else None
            )
            if how is None:
                raise
            raise ModelError(
                f"the embedded model's process ended ({how}); the next request starts it again",
                kind="connection",
                retryable=True,
            ) from error
        reply.model = self.id
        if forced is not None:
            _translate(reply, forced, calls_so_far(request.messages) + 1, on_text)
        return reply

    def policy(self) -> dict[str, Any]:
        """Class, provider, id, the hash of the weights, and everything that shapes sampling."""
        return {
            "class": type(self).__name__,
            "provider": self.provider,
            "id": self.id,
            "weights": card(self.id).sha256,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "min_p": self.min_p,
            "max_tokens": self.max_tokens,
            "n_ctx": self.n_ctx,
            "seed": self.seed,
            "forcing": FORCING_VERSION,
        }

    async def check(self) -> None:
        """Raise `ModelError` with what to type when the runtime or the weights are missing."""
        self._weights()

    def _weights(self) -> Path:
        if not runtime_is_installed():
            raise ModelError(
                "the embedded model's runtime is not installed: pip install 'rollgrid[local]'", kind="other"
            )
        try:
            path = find(self.id)
        except RollgridError as error:
            raise ModelError(f"{error.message}; {error.hint}", kind="unknown_model") from error
        if path is None:
            default = "" if self.id == DEFAULT_MODEL else f" {self.id}"
            raise ModelError(
                f"the weights of {self.id} are not installed: rollgrid model install{default}", kind="unknown_model"
            )
        return path

    def _server(self) -> LocalServer:
        return shared_server(ServerSettings(self._weights(), self.threads or default_threads(), self.n_ctx))

    def _chat(self, base_url: str, api_key: str, seed: int | None) -> OpenAIChat:
        chosen = self.seed if seed is None else seed
        return OpenAIChat(
            self.id,
            base_url=base_url,
            api_key=api_key,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=None if chosen is None else chosen % _SEEDS,
            extra_body={"top_k": self.top_k, "min_p": self.min_p},
            # The server closes idle connections after a few seconds; a request that is just being sent on one is lost.
            extra_headers={"Connection": "close"},
        )


def _plain(request: ModelRequest, forced: ForcedReply | None) -> ModelRequest:
    """The request without tools, in terms of messages and an output schema alone."""
    output = request.output
    if forced is not None:
        # The reply is read by `forced`, never through this class, so any will do.
        from pydantic import BaseModel

        output = OutputSchema(name="reply", schema=forced.schema, model=BaseModel)
    return replace(request, messages=plain_history(request.messages, forced), tools=(), tool_choice=None, output=output)


def _translate(reply: ModelReply, forced: ForcedReply, call_number: int, on_text: Callable[[str], None] | None) -> None:
    reply.text, reply.tool_calls = forced.read(reply.text, call_number)
    if reply.tool_calls and reply.finish == "stop":
        reply.finish = "tool_calls"
    if reply.text and on_text is not None:
        on_text(reply.text)
