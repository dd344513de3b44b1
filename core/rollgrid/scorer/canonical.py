"""Canonical JSON and the hashes over it: the same value gives the same text in every process, on every machine."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from rollgrid.models.base import Model
from rollgrid.scorer.base import FingerprintError

__all__ = ["canonical", "digest", "model_identity", "plain"]


def canonical(value: Any, where: str = "value") -> str:
    """`value` as canonical JSON: sorted keys, ASCII, no blanks.

    Raises `FingerprintError`, naming the place inside `where`, for anything that is not JSON by nature. Nothing is
    turned into text by `str` or `repr`: an address in a repr would make two equal environments differ for ever.
    """
    try:
        return json.dumps(plain(value, where), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    except RecursionError:
        raise FingerprintError(f"{where} is nested too deeply or contains itself") from None
    except ValueError as error:
        raise FingerprintError(f"{where} cannot be written as JSON: {error}") from None


def digest(value: Any, where: str = "value") -> str:
    """sha256 (hex) over the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value, where).encode("ascii")).hexdigest()


def plain(value: Any, where: str) -> Any:
    """`value` made of dicts with string keys, lists, strings, numbers, bools and None. Pydantic models are dumped."""
    if value is None or isinstance(value, (bool, str)):
        return value if value is None or type(value) in (bool, str) else str.__str__(cast(str, value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FingerprintError(f"{where} is {value!r}, which JSON cannot hold")
        return float(value)
    if isinstance(value, (list, tuple)):
        items = cast("list[Any] | tuple[Any, ...]", value)
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(items)]
    if isinstance(value, Mapping):
        return _plain_mapping(cast("Mapping[Any, Any]", value), where)
    if isinstance(value, BaseModel):
        try:
            return value.model_dump(mode="json")
        except ValueError as error:
            raise FingerprintError(f"{where} ({type(value).__name__}) cannot be dumped as JSON: {error}") from None
    raise FingerprintError(f"{where} is of type {type(value).__name__}, which JSON cannot hold")


def _plain_mapping(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            # json would turn 1 and "1" into the same key without a word.
            raise FingerprintError(f"{where} has the key {key!r}; JSON keys are strings")
    return {key: plain(item, f"{where}.{key}") for key, item in value.items()}


def model_identity(model: Model) -> dict[str, Any]:
    """What makes a model the policy it is: its class, provider, id and every parameter that shapes sampling."""
    policy = getattr(model, "policy", None)
    if not callable(policy):
        raise FingerprintError(
            f"{type(model).__name__} has no policy(); give it one that returns its sampling parameters as JSON values"
        )
    return {
        "class": type(model).__qualname__,
        "provider": getattr(model, "provider", None),
        "id": getattr(model, "id", None),
        "policy": policy(),
    }
