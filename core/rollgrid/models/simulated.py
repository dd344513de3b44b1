"""A model that is none: made-up answers, right or wrong by a draw, for when no real model can be had."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

from pydantic import BaseModel, ValidationError

from rollgrid.models.base import Model, ModelKind, ModelReply, ModelRequest, Usage
from rollgrid.models.messages import Message, ToolCall
from rollgrid.testing.draws import key_of, rate_at, unit
from rollgrid.testing.misses import near_miss
from rollgrid.testing.shapes import instance, place

AnswerKey = Mapping[str, Any] | Callable[[str], Any]

DEFAULT_ID = "simulated/draws"
_PIECES = 8


class SimulatedModel(Model):
    """Answers without a network, the same for the same prompt and seed.

    `answers` gives the right content for a prompt (the last text of the user): a number or text, a mapping of the
    fields of the output schema, or a mapping with a reference query under "sql". Each prompt has a pass rate of its
    own: of the prompts of a mapping 30 % always pass, 20 % never do, and the rest lie between; with a function the rate
    is drawn in the same proportions. A wrong answer is a near miss of the right one. A prompt without a right content
    gets a small valid instance of the schema, or a sentence.

    `latency` is the range, in seconds, from which the time of each call is drawn. `output_schema` shapes answers to
    requests that bring no schema themselves.

    A tool is called, with made-up arguments, only when the request requires one and none was called since the last
    text of the user: tools may have effects, and made-up arguments are no reason to cause them.
    """

    provider: ClassVar[str] = "simulated"
    kind: ClassVar[ModelKind] = "simulated"

    def __init__(
        self,
        id: str = DEFAULT_ID,
        *,
        answers: AnswerKey | None = None,
        seed: int = 0,
        latency: tuple[float, float] | float = (0.3, 1.5),
        output_schema: type[BaseModel] | Mapping[str, Any] | None = None,
    ) -> None:
        if not id.startswith("simulated/"):
            raise ValueError(f"the id of a simulated model begins with simulated/, so that nobody mistakes it: {id!r}")
        low, high = latency if isinstance(latency, tuple) else (latency, latency)
        if not 0 <= low <= high:
            raise ValueError(f"latency must be a range of seconds from 0 up, got {latency!r}")
        self.id = id
        self._known: Mapping[str, Any] | None = None
        self._ask: Callable[[str], Any] | None = None
        if isinstance(answers, Mapping):
            self._known = dict(cast(Mapping[str, Any], answers))
        else:
            self._ask = answers
        self.seed = seed
        self.latency = (low, high)
        self.output_schema = output_schema
        self._rates = _spread(self._known or {}, seed)
        self._unseeded: Counter[str] = Counter()

    def policy(self) -> dict[str, Any]:
        """Its id, its seed, and a digest of what it takes for right: null where that is a function or no JSON."""
        digest: str | None = None
        if self._known is not None:
            try:
                digest = key_of(json.dumps({key: _plain(right) for key, right in self._known.items()}, sort_keys=True))
            except (TypeError, ValueError):
                digest = None
        return {"id": self.id, "provider": self.provider, "seed": self.seed, "answers": digest}

    def pass_rate(self, prompt: str) -> float:
        """The share of seeds with which `prompt` is answered right."""
        known = self._rates.get(prompt)
        return rate_at(unit("spread", self.seed, prompt)) if known is None else known

    async def respond(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        started = time.monotonic()
        prompt, since = _last_prompt(request.messages)
        seed = request.seed
        if seed is None:  # without a seed the n-th call draws the n-th answer
            seed = self._unseeded[prompt]
            self._unseeded[prompt] += 1
        draw = (self.seed, prompt, seed, len(since))
        low, high = self.latency
        pause = low + (high - low) * unit("latency", *draw)
        reply = ModelReply(model=self.id, response_id=f"sim_{key_of(repr(draw))}")
        tool = _required_tool(request, since)
        if tool is not None:
            await asyncio.sleep(pause)
            name, parameters = tool
            arguments = _json(_arguments(parameters, prompt))
            reply.tool_calls = [ToolCall(f"call_{key_of(repr(draw))}", name, arguments)]
            reply.finish = "tool_calls"
            reply.time_to_first_token = time.monotonic() - started
            said = arguments
        else:
            said = self._text(request, prompt, draw)
            step = -(-len(said) // _PIECES) or 1
            pieces = [said[at : at + step] for at in range(0, len(said), step)] or [""]
            for piece in pieces:
                await asyncio.sleep(pause / len(pieces))
                if reply.time_to_first_token is None:
                    reply.time_to_first_token = time.monotonic() - started
                reply.text += piece
                if on_text is not None and piece:
                    on_text(piece)
        reply.usage = Usage(input_tokens=_tokens(request.messages), output_tokens=max(1, len(said) // 4))
        return reply

    def _text(self, request: ModelRequest, prompt: str, draw: tuple[str | int, ...]) -> str:
        right = self._right(prompt)
        passed = unit("answer", *draw) < self.pass_rate(prompt)
        content = right if passed or right is None else near_miss(right, *draw)
        variant = 0 if passed else 1 + int(unit("variant", *draw) * 5)
        schema, model = self._schema(request)
        if schema is None:
            return _spoken(content) if content is not None else f"Simulated answer {variant}."
        candidates = [_shaped(schema, content, variant)] if content is not None else []
        candidates.append(instance(schema, variant))
        for candidate in candidates:
            text = _json(candidate)
            if model is None or _is_valid(model, text):
                return text
        return _json(candidates[0])

    def _right(self, prompt: str) -> Any:
        if self._known is not None:
            return _plain(self._known.get(prompt))
        return None if self._ask is None else _plain(self._ask(prompt))

    def _schema(self, request: ModelRequest) -> tuple[Mapping[str, Any] | None, type[BaseModel] | None]:
        if request.output is not None:
            return request.output.schema, request.output.model
        if self.output_schema is None:
            return None, None
        if isinstance(self.output_schema, Mapping):
            return self.output_schema, None
        return self.output_schema.model_json_schema(), self.output_schema


def simulated_for(
    env_tasks: Iterable[tuple[str, Any]],
    output_schema: type[BaseModel] | Mapping[str, Any] | None = None,
    seed: int = 0,
    *,
    latency: tuple[float, float] | float = (0.3, 1.5),
) -> SimulatedModel:
    """A simulated model that knows what the tasks of an environment expect. `env_tasks` are (input, expected).

    An expected value that is a number or text goes into the field of the schema that fits; of a mapping, a reference
    query under "sql" or the fields that carry the schema's names. What fits nowhere leaves the answer to the schema.
    """
    return SimulatedModel(answers=dict(env_tasks), output_schema=output_schema, seed=seed, latency=latency)


def _spread(answers: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Pass rates by rank, so that a handful of prompts already shows every zone."""
    ranked = sorted(answers, key=lambda prompt: unit("spread", seed, prompt))
    return {prompt: rate_at((at + 0.5) / len(ranked)) for at, prompt in enumerate(ranked)}


def _last_prompt(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The last text of the user, and the messages after it."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user":
            return messages[at].content or "", list(messages[at + 1 :])
    return "", list(messages)


def _required_tool(request: ModelRequest, since: Sequence[Message]) -> tuple[str, Mapping[str, Any]] | None:
    choice = request.tool_choice
    if not request.tools or choice in (None, "auto", "none") or any(message.role == "tool" for message in since):
        return None
    named: Any = None
    if isinstance(choice, Mapping):
        function: Any = choice.get("function")
        named = choice.get("name") or (cast(Mapping[str, Any], function).get("name") if function else None)
    elif choice != "required":
        named = choice
    chosen = next((tool for tool in request.tools if named in (None, tool.name)), request.tools[0])
    return chosen.name, chosen.parameters


def _arguments(parameters: Mapping[str, Any], prompt: str) -> Any:
    """Arguments that the parameters allow; whole numbers come from the prompt, in its order, where it has them."""
    filled: Any = instance({"type": "object", **parameters})
    numbers = iter(re.findall(r"(?<![\w.])\d{1,15}(?!\w|\.\d)", prompt))
    if isinstance(filled, dict):
        target = cast(dict[str, Any], filled)
        for name, value in target.items():
            if type(value) is int and (found := next(numbers, None)) is not None:
                target[name] = int(found)
    return cast(Any, filled)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _shaped(schema: Mapping[str, Any], content: Any, variant: int) -> Any:
    """`content` in the shape of `schema`."""
    if not isinstance(content, Mapping):
        return place(schema, content, variant)
    given = cast(Mapping[str, Any], content)
    fields: Mapping[str, Any] = schema.get("properties") or {}
    query: Any = given.get("sql")
    if isinstance(query, str) and "sql" not in fields:
        return place(schema, query, variant)
    filled: Any = instance(schema, variant)
    if isinstance(filled, dict):
        return cast(dict[str, Any], filled) | {name: value for name, value in given.items() if name in fields}
    return filled


def _spoken(content: Any) -> str:
    """`content` as a person would say it: text as it is, a reference query alone, the rest as JSON."""
    if isinstance(content, Mapping):
        query: Any = cast(Mapping[str, Any], content).get("sql")
        if isinstance(query, str):
            return query
    return content if isinstance(content, str) else _json(content)


def _is_valid(model: type[BaseModel], text: str) -> bool:
    try:
        model.model_validate_json(text)
    except ValidationError:
        return False
    return True


def _tokens(messages: Sequence[Message]) -> int:
    return max(1, sum(len(message.content or "") for message in messages) // 4)


def _json(value: Any) -> str:
    """JSON text; the standard library's, which has no bound on integers. What JSON cannot hold is written as text."""
    return json.dumps(value, ensure_ascii=False, default=str)
