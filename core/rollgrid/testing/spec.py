"""How the server is to behave: "key=value" pairs such as `lat=200,p=0.7,e429=0.1`."""

import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote

from rollgrid.errors import RollgridError

T = TypeVar("T")
_SEPARATORS = re.compile(r"[,+&;/\s]+")


class SpecError(RollgridError, ValueError):
    """A spec that cannot be read; the message names the key."""


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError("must be a number from 0 up")
    return value


def _share(text: str) -> float:
    value = _number(text)
    if value > 1:
        raise ValueError("must be a probability from 0 to 1")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("must be a whole number from 0 up")
    return value


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("must be 0 or 1")
    return text == "1"


def _wish(text: str) -> str:
    """Seconds, `none`, `date`, `date:S`, `ms` or `Nms`."""
    word, _, rest = text.partition(":")
    if text in ("none", "date", "ms") or (word == "date" and rest and _number(rest) >= 0):
        return text
    _number(text.removesuffix("ms"))
    return text


def _window(text: str) -> tuple[float, float] | None:
    """`START:END` in seconds; an END left out means for good."""
    start, colon, end = text.partition(":")
    if not colon:
        raise ValueError("must be START:END in seconds")
    window = (_number(start or "0"), _number(end) if end else math.inf)
    if window[0] >= window[1]:
        raise ValueError("must end after it starts")
    return window


def _key(default: T, read: Callable[[str], T], text: str) -> T:
    return field(default=default, metadata={"read": read, "help": text})


@dataclass(frozen=True, slots=True)
class Spec:
    """One behaviour of the server. `describe()` says what every key means."""

    lat: float = _key(0.0, _number, "latency before the answer, in ms")
    jitter: float = _key(0.0, _number, "further latency drawn from 0 up to this, in ms")
    slow: float = _key(0.0, _number, "pause between the events of a stream, in ms")
    chunks: int = _key(4, _count, "pieces of text in a stream")
    p: float = _key(0.75, _share, "share of answers that are right")
    spread: bool = _key(
        False, _flag, "1: a pass rate of its own for every prompt instead of p: some 1, some 0, most between"
    )
    seed: int = _key(0, int, "another seed gives other draws")
    text: bool = _key(False, _flag, "1: an answer in plain text instead of JSON")
    pad: int = _key(0, _count, "bytes of filler in the answer")
    think: bool = _key(False, _flag, "1: a reasoning summary before the answer")
    tool: int = _key(0, _count, "rounds of a call to the request's tool before the answer")
    e429: float = _key(0.0, _share, "429, rate limit; see ra")
    e500: float = _key(0.0, _share, "500, server error")
    hang: float = _key(0.0, _share, "no answer, ever")
    drop: float = _key(0.0, _share, "connection reset instead of an answer")
    malformed: float = _key(0.0, _share, "status 200 with broken JSON, in a stream a broken event")
    trunc: float = _key(0.0, _share, "the body stops half way and the connection closes")
    refusal: float = _key(0.0, _share, "the model refuses")
    incomplete: float = _key(0.0, _share, "the answer is cut off by the token limit")
    e401: float = _key(0.0, _share, "401, wrong API key")
    quota: float = _key(0.0, _share, "429 that retrying cannot help: quota used up")
    e403: float = _key(0.0, _share, "403, no permission")
    e404: float = _key(0.0, _share, "404, no such model")
    e400: float = _key(0.0, _share, "400, bad request")
    filter: float = _key(0.0, _share, "the answer is cut off by a content filter")
    failed: float = _key(0.0, _share, "the response ends as failed, after it began")
    cutstream: float = _key(0.0, _share, "the event stream ends cleanly, but without its last event")
    ra: str = _key("1", _wish, "Retry-After of a 429: seconds, none, date, date:S, or Nms for retry-after-ms")
    since: int = _key(0, _count, "no fault in the first N requests")
    upto: int = _key(0, _count, "no fault after the N-th request")
    outage: tuple[float, float] | None = _key(None, _window, "START:END in seconds since start: 503 to every request")
    rpm: int = _key(0, _count, "limit of requests per minute, told in x-ratelimit-* headers")
    tpm: int = _key(0, _count, "limit of tokens per minute, told in x-ratelimit-* headers")


FAULTS: tuple[str, ...] = (
    "e429", "e500", "hang", "drop", "malformed", "trunc", "refusal", "incomplete", "e401", "quota",
    "e403", "e404", "e400", "filter", "failed", "cutstream",
)  # fmt: skip
"""The faults in the order in which one number per request is held against their probabilities."""

_FIELDS = {f.name: f for f in dataclasses.fields(Spec)}


def describe() -> list[tuple[str, str, str]]:
    """(key, default, meaning) of every key, for help texts."""
    return [(f.name, _shown(f.default), f.metadata["help"]) for f in _FIELDS.values()]


def _shown(value: Any) -> str:
    if value is None:
        return "off"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def parse_spec(text: str, base: Spec | None = None, *, strict: bool = True) -> Spec:
    """`base` with the pairs of `text` laid over it.

    Pairs are parted by comma, plus, ampersand, semicolon, slash or space. `strict` refuses unknown keys and words that
    are no pair; otherwise they are passed over (a query string may hold what is not ours). A bad value is always
    refused.
    """
    changes: dict[str, Any] = {}
    for part in _SEPARATORS.split(text):
        key, equals, value = part.partition("=")
        if not part or (not strict and (not equals or key not in _FIELDS)):
            continue
        if not equals:
            raise SpecError(f"{part!r} in the spec is no key=value pair", "pairs look like lat=200,p=0.7,e429=0.1")
        if key not in _FIELDS:
            raise SpecError(f"unknown key {key!r} in the spec", f"keys are {', '.join(_FIELDS)}")
        try:
            changes[key] = _FIELDS[key].metadata["read"](value)
        except ValueError as error:
            said = str(error)
            why = said if said.startswith("must") else "must be a number"
            raise SpecError(f"{key}={value} in the spec: {key} {why}", _FIELDS[key].metadata["help"]) from None
    return dataclasses.replace(base or Spec(), **changes)


def spec_of_request(base: Spec, prefix: str, query: str, model: str) -> Spec:
    """The spec of one request: server, then path before /v1, then query, then what follows '+' in the model's name.

    Path segments and parts of a model's name without `=` belong to whoever named them and are passed over.
    """
    spec = base
    if "=" in (path := unquote(prefix)):
        spec = parse_spec(" ".join(part for part in _SEPARATORS.split(path) if "=" in part), spec)
    if query:
        spec = parse_spec(unquote(query), spec, strict=False)
    tail = model.partition("+")[2]
    if "=" in tail:
        spec = parse_spec(" ".join(part for part in tail.split("+") if "=" in part), spec)
    return spec
