"""Secrets stay in this process: known by where they come from, replaced by `***` wherever text goes out.

Known are the values of environment variables whose names say that they hold one (`OPENAI_API_KEY`, `HF_TOKEN`, ...),
and the keys, passwords and credential headers that models are made with. The doors are the log, the files of
baselines, exports and reports, the error texts of attempts, and what a command or a runner prints.
"""

import io
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TextIO, cast
from urllib.parse import quote, unquote, urlsplit

MASK = "***"

_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_LOOKS = re.compile(r"\b(?:sk|rk|pk|sess)-[A-Za-z0-9_-]{20,}")
"""Keys as the great providers write them, for those that nobody has told of."""

_LOOK_SECONDS = 0.5
_DIGIT_LENGTH, _LENGTH = 12, 20


class _Secrets:
    """What is known, in the forms in which it may stand in text."""

    def __init__(self) -> None:
        self.values: frozenset[str] = frozenset()
        self.environ: frozenset[str] = frozenset()
        self.texts: tuple[str, ...] = ()
        self.forms: tuple[bytes, ...] = ()
        self.lock = threading.Lock()
        self.looked_at = float("-inf")

    def settle(self) -> None:
        texts: set[str] = set()
        for value in self.values | self.environ:
            texts |= {value, quote(value, safe=""), _as_json(value)}
        # The longest first, since one may hold another.
        self.texts = tuple(sorted(texts, key=len, reverse=True))
        self.forms = tuple(text.encode("utf-8", "surrogatepass") for text in self.texts)


_secrets = _Secrets()


def remember(*values: object) -> None:
    """Never let these out, where they are texts long and odd enough to be secrets. Anything else is passed over."""
    found = frozenset(text for value in values if is_secret(text := _revealed(value)))
    if not found <= _secrets.values:
        with _secrets.lock:
            _secrets.values |= found
            _secrets.settle()


def remember_headers(headers: Mapping[str, Any] | None) -> None:
    """Headers and query parameters that carry credentials, whole and without their scheme (`Bearer`)."""
    for name, value in (headers or {}).items():
        if _HEADER.search(name):
            text = _revealed(value)
            remember(text, *text.split())


def remember_address(url: object) -> None:
    """The credentials in an address: `https://user:password@host/?key=...`."""
    try:
        parts = urlsplit(str(url)) if url is not None else None
    except ValueError:
        return
    if parts is not None:
        remember(unquote(parts.password or ""), *(item.partition("=")[2] for item in parts.query.split("&")))


def remember_holder(*holders: object) -> None:
    """The key of a client or a model of another library, where it has the usual name.

    Only of what is stored in it, since a property may do anything.
    """
    for holder in holders:
        for name in ("api_key", "_api_key", "auth_token"):
            remember(part_of(holder, name))


def part_of(holder: object, name: str) -> object:
    """An attribute that is stored in the object itself, else None."""
    stored: Mapping[str, object] = getattr(holder, "__dict__", {})
    return stored.get(name)


def look_at_the_environment(environ: Mapping[str, str] = os.environ) -> None:
    """Learn the secrets of the environment variables as they are now; those that were are not forgotten."""
    _secrets.looked_at = time.monotonic()
    found = frozenset(value for name, value in environ.items() if _says_secret(name) and is_secret(value))
    if not found <= _secrets.environ:
        with _secrets.lock:
            _secrets.environ |= found
            _secrets.settle()


@cache
def _says_secret(name: str) -> bool:
    return _NAME.search(name) is not None


def is_secret(text: str) -> bool:
    """Whether a value may be searched for and replaced: no placeholder (`none`, `simulated`), number or path may.

    What is replaced stands in JSON too, where a short word or a number could be something else.
    """
    if any(character.isspace() for character in text) or not any(character.isalpha() for character in text):
        return False
    if text.startswith("/") and os.path.exists(text):
        return False
    return len(text) >= _LENGTH or (len(text) >= _DIGIT_LENGTH and any(character.isdigit() for character in text))


def mask(text: str) -> str:
    """The text without secrets. It looks at the environment first, so keep it for what is rare: errors, output."""
    look_at_the_environment()
    return _mask_known(text)


def mask_json(data: bytes) -> bytes:
    """JSON, or other text in UTF-8, without secrets. The very same object where there are none; made to be quick."""
    for form in _secrets.forms:
        if form in data:
            break
    else:
        return data
    for form in _secrets.forms:
        data = data.replace(form, MASK.encode())
    return data


def guard_output() -> None:
    """Mask what this process writes to stdout and stderr from now on, tracebacks included."""
    look_at_the_environment()
    streams: tuple[TextIO, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        # In a Ray worker there is a wrapper around it.
        inner: object = getattr(stream, "stream", stream)
        if isinstance(inner, io.TextIOWrapper):
            _guard(cast("TextIO", inner))


def _guard(stream: TextIO) -> None:
    write = stream.write

    def masked(text: str) -> int:
        if time.monotonic() - _secrets.looked_at > _LOOK_SECONDS:
            look_at_the_environment()
        write(_mask_known(text))
        return len(text)

    # On the stream itself rather than in its place: loggers and libraries hold it already.
    stream.write = masked


def _mask_known(text: str) -> str:
    for secret in _secrets.texts:
        if secret in text:
            text = text.replace(secret, MASK)
    return _LOOKS.sub(MASK, text) if "-" in text else text


def _revealed(value: object) -> str:
    reveal: Any = getattr(value, "get_secret_value", None)
    if callable(reveal):
        value = reveal()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _as_json(text: str) -> str:
    """How the text stands inside of a JSON string."""
    import json

    return json.dumps(text)[1:-1]


def forget(values: Iterable[str] = ()) -> None:
    """Forget all secrets but these. For tests."""
    with _secrets.lock:
        _secrets.values, _secrets.environ = frozenset(values), frozenset()
        _secrets.settle()
