"""A pydantic model's JSON schema in the dialect of strict structured output."""

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from rollgrid.models.base import OutputSchema

_Schema = dict[str, Any]

# Keywords whose value is a schema, a list of schemas, and a mapping of names to schemas.
_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "patternProperties")

# What strict mode refuses and what only narrows: validation of the reply checks these anyway.
_DROPPED = ("default", "discriminator", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties")
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def output_schema(model: type[BaseModel]) -> OutputSchema:
    """What a provider is told of `model`, made once.

    Raises `TypeError` when the model is no object at the top, which no provider accepts.
    """
    raw = model.model_json_schema()
    schema = _Strict(raw).root()
    if schema.get("type") != "object":
        raise TypeError(
            f"output_schema {model.__name__} must be an object at the top, not {schema.get('type', 'a union')}"
        )
    name = re.sub(r"[^A-Za-z0-9_-]", "_", model.__name__)[:64]
    return OutputSchema(name=name, schema=schema, model=model, strict=_is_strict(schema))


class _Strict:
    """One conversion. The definitions are looked up in the schema as pydantic made it."""

    def __init__(self, raw: _Schema) -> None:
        self._raw = raw
        self._defs: _Schema = raw.get("$defs", {})

    def root(self) -> _Schema:
        raw = self._raw
        name = _ref_name(raw)
        if name is not None:
            # A recursive model is a bare reference at the top, where an object has to stand.
            raw = {**self._defs[name], "$defs": self._defs}
        return self._convert(raw, ())

    def _convert(self, node: _Schema, inlined: tuple[str, ...]) -> _Schema:
        name = _ref_name(node)
        if name is not None:
            beside = {key: value for key, value in node.items() if key not in ("$ref", *_DROPPED)}
            if not beside or name in inlined or name not in self._defs:
                return {"$ref": node["$ref"]}
            # Nothing may stand beside a reference, so the definition is written out with what stood there.
            return self._convert({**self._defs[name], **beside}, (*inlined, name))
        parts = node.get("allOf")
        if isinstance(parts, list) and len(cast("list[Any]", parts)) == 1:
            rest = {key: value for key, value in node.items() if key != "allOf"}
            return self._convert({**parts[0], **rest}, inlined)
        out: _Schema = {}
        for key, value in node.items():
            if key in _DROPPED or (key == "format" and value not in _FORMATS):
                continue
            out["anyOf" if key == "oneOf" else key] = self._value(key, value, inlined)
        if node.get("type") == "object" or "properties" in node:
            out.setdefault("type", "object")
            out.setdefault("properties", {})
            if "additionalProperties" not in node or (node["additionalProperties"] is True and out["properties"]):
                out["additionalProperties"] = False
            out["required"] = list(out["properties"])
        return out

    def _value(self, key: str, value: Any, inlined: tuple[str, ...]) -> Any:
        if key in _ONE and isinstance(value, dict):
            return self._convert(cast("_Schema", value), inlined)
        if key in _MANY and isinstance(value, list):
            return [self._convert(item, inlined) for item in cast("list[_Schema]", value)]
        if key in _NAMED and isinstance(value, dict):
            return {name: self._convert(item, inlined) for name, item in cast("dict[str, _Schema]", value).items()}
        return value


def _ref_name(node: Mapping[str, Any]) -> str | None:
    ref = node.get("$ref")
    return ref.rsplit("/", 1)[-1] if isinstance(ref, str) else None


def _is_strict(node: Any) -> bool:
    """Whether no object anywhere leaves its keys open, and no array gives each place a type of its own."""
    if isinstance(node, dict):
        schema = cast("_Schema", node)
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            return False
        if schema.get("type") == "array" and "prefixItems" in schema:
            return False
        return all(_is_strict(value) for value in schema.values())
    if isinstance(node, list):
        return all(_is_strict(item) for item in cast("list[Any]", node))
    return True
