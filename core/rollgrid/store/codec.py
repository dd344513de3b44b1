"""JSON as the log stores it: text for events, compressed bytes for bodies. What goes in comes out.

orjson does nearly all of it. It cannot write lone surrogates or integers beyond 64 bit, and writes NaN and the
infinities as null; models and users hand over all of these, so what orjson cannot hold exactly goes through the
standard library's `json`, with everything outside ASCII escaped. Such a text is called *exact* and starts with a space,
which JSON allows: it must be read with `json` again, since orjson would refuse its surrogates and round its integers.

A value that JSON has no form for is stored as its `repr`: one odd object must not cost the transcript it is in.
"""

import dataclasses
import datetime
import enum
import json
import math
import uuid
import zlib
from typing import Any, cast

import orjson

from rollgrid.masking import mask_json

_PLAIN_TAG = 1
_EXACT_TAG = 2
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_STRICT_INTEGER
_MAX_DEPTH = 300
_MAX_INT_BITS = 14_000  # Python refuses to turn integers of more than 4300 digits into decimal text.
_CUT = "<nested too deeply>"


def encode(value: Any) -> bytes:
    """A body: one byte that says how to read it, then the zlib-compressed JSON."""
    data, exact = _dump(value)
    data = mask_json(data)
    return bytes((_EXACT_TAG if exact else _PLAIN_TAG,)) + zlib.compress(data, 1)


def decode(data: bytes) -> Any:
    """The value of a body. `ValueError` when it is none, or one of a newer kind."""
    tag = data[0] if data else 0
    if tag not in (_PLAIN_TAG, _EXACT_TAG):
        raise ValueError(f"unknown body format {tag}")
    try:
        text = zlib.decompress(memoryview(data)[1:])
    except zlib.error as error:
        raise ValueError(f"damaged body: {error}") from error
    return orjson.loads(text) if tag == _PLAIN_TAG else json.loads(text)


def to_text(value: Any, *, finite: bool = False) -> str:
    """JSON text that SQLite can store, whatever strings are in `value`. `finite`: it is known to hold no NaN."""
    return masked_text(value, finite=finite)[0]


def masked_text(value: Any, *, finite: bool = False) -> tuple[str, bool]:
    """`to_text`, and whether a secret was taken out of it."""
    data, exact = _dump(value, finite)
    masked = mask_json(data)
    text = " " + masked.decode("ascii") if exact else masked.decode()
    return text, masked is not data


def from_text(text: str) -> Any:
    return json.loads(text) if is_exact(text) else orjson.loads(text)


def is_exact(text: str) -> bool:
    """Whether `text` holds strings or numbers that SQLite or orjson cannot take as they are."""
    return text.startswith(" ")


def storable(text: str) -> str:
    """The text with lone surrogates written out as `\\udcxx`; SQLite's text columns hold UTF-8 only.

    Two halves that stand side by side become the character that they make, as they do in JSON.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return whole.encode("utf-8", "backslashreplace").decode()
    return text


def _dump(value: Any, finite: bool = False) -> tuple[bytes, bool]:
    try:
        data = orjson.dumps(value, option=_OPTIONS)
    except (TypeError, ValueError, RecursionError):
        return _dump_exactly(value), True
    # A float that JSON cannot hold comes out as null, so only a text with a null in it can hide one.
    if not finite and b"null" in data and not _all_finite(value):
        return _dump_exactly(value), True
    return data, False


def _dump_exactly(value: Any) -> bytes:
    return json.dumps(_jsonable(value, 0), separators=(",", ":")).encode("ascii")


def _all_finite(value: Any) -> bool:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif isinstance(item, dict):
            stack.extend(cast("dict[Any, Any]", item).values())
        elif isinstance(item, list | tuple):
            stack.extend(cast("list[Any]", item))
    return True


def _jsonable(value: Any, depth: int) -> Any:
    """`value` rebuilt from what `json` writes exactly, in the shapes that orjson gives the same things."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, enum.Enum):
        return _jsonable(value.value, depth)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MAX_INT_BITS else hex(value)
    if depth >= _MAX_DEPTH:
        return _CUT
    if isinstance(value, dict):
        result: dict[str, Any] = {}
        for key, item in cast("dict[Any, Any]", value).items():
            result[_key(key)] = _jsonable(item, depth + 1)
        return result
    if isinstance(value, list | tuple):
        items: list[Any] = []
        for item in cast("list[Any]", value):
            items.append(_jsonable(item, depth + 1))
        return items
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
        return _jsonable(fields, depth)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    return _repr(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return _repr(key)


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a user's class may have a broken __repr__; its name is still worth keeping
        return f"<{type(value).__name__}: repr raised {type(error).__name__}>"
