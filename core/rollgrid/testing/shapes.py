"""Small valid values of JSON schemas, and ways to put a given answer into one."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

Schema = Mapping[str, Any]

_FORMATS = {
    "date": "2026-01-02",
    "date-time": "2026-01-02T03:04:05Z",
    "time": "03:04:05Z",
    "duration": "PT1M",
    "email": "a@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
}
_MAX_DEPTH = 24


def instance(schema: Any, variant: int = 0) -> Any:
    """A small value that the schema allows. Different variants give different values where the schema leaves room.

    Covers what strict output schemas are made of: enums, constants, bounds, lengths, references, unions, arrays and
    objects; patterns are not looked at.
    """
    root: Schema = cast(Schema, schema) if isinstance(schema, Mapping) else {}
    return _value(root, root, variant, 0)


def resolve(schema: Schema, root: Schema) -> Schema:
    """Follow a local `$ref`."""
    seen = 0
    while "$ref" in schema and seen < _MAX_DEPTH:
        target: Any = root
        for name in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            if name:
                target = cast(Schema, target).get(name, {}) if isinstance(target, Mapping) else {}
        schema = cast(Schema, target) if isinstance(target, Mapping) else {}
        seen += 1
    return schema


def kinds_of(schema: Schema, root: Schema) -> set[str]:
    """The JSON types a schema allows; unions are looked into."""
    schema = resolve(schema, root)
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union):
            return {kind for part in schema[union] for kind in kinds_of(part, root)}
    if "enum" in schema or "const" in schema:
        return {"enum"}
    declared: Any = schema.get("type")
    if isinstance(declared, list):
        return {str(kind) for kind in cast(list[Any], declared)}
    return {str(declared)} if declared else {"object" if "properties" in schema else "string"}


def _value(schema: Schema, root: Schema, variant: int, depth: int) -> Any:
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][variant % len(schema["enum"])]
    for union in ("anyOf", "oneOf"):
        if schema.get(union):
            options: list[Any] = schema[union]
            if depth > _MAX_DEPTH // 2:  # a recursive type ends at whichever branch does not go deeper
                options = [part for part in options if not kinds_of(part, root) & {"object", "array"}] or options
            return _value(options[variant % len(options)], root, variant, depth + 1)
    if schema.get("allOf"):
        return _value(_merged(schema, root), root, variant, depth + 1)
    declared: Any = schema.get("type", "object" if "properties" in schema else "string")
    choices = cast(list[str], declared) if isinstance(declared, list) else [str(declared)]
    kind = choices[variant % len(choices)]
    match kind:
        case "integer" | "number":
            return _numeric(schema, kind, variant)
        case "boolean":
            return variant % 2 == 0
        case "null":
            return None
        case "array":
            return _items(schema, root, variant, depth)
        case "object":
            if depth > _MAX_DEPTH:
                return {}
            fields: Mapping[str, Schema] = schema.get("properties") or {}
            return {name: _value(part, root, variant, depth + 1) for name, part in fields.items()}
        case _:
            return _string(schema, variant)


def _merged(schema: Schema, root: Schema) -> Schema:
    merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        found = resolve(part, root)
        fields = {**merged.get("properties", {}), **found.get("properties", {})}
        merged |= found
        if fields:
            merged["properties"] = fields
    return merged


def _numeric(schema: Schema, kind: str, variant: int) -> int | float:
    at = variant % 8
    low, high = _bound(schema, "minimum", "exclusiveMinimum"), _bound(schema, "maximum", "exclusiveMaximum")
    if kind == "number" and not schema.get("multipleOf"):
        if low is not None and high is not None:
            return low + (high - low) * (at + 1) / 9  # inside, so that it holds for exclusive bounds too
        if low is None and high is None:
            return float(at)
        return float(low + 1 + at if low is not None else (high or 0.0) - 1 - at)
    step = schema.get("multipleOf") or 1
    first = 0 if low is None else math.ceil(low / step)
    last = math.inf if high is None else math.floor(high / step)
    if "exclusiveMinimum" in schema and first * step == schema["exclusiveMinimum"]:
        first += 1
    if "exclusiveMaximum" in schema and last * step == schema["exclusiveMaximum"]:
        last -= 1
    if low is None and last < 0:
        first = int(last) - 7
    value = (first + at if first + at <= last else first) * step
    return int(value) if kind == "integer" else float(value)


def _bound(schema: Schema, inclusive: str, exclusive: str) -> float | None:
    found: Any = schema.get(inclusive, schema.get(exclusive))
    return found if isinstance(found, (int, float)) else None


def _items(schema: Schema, root: Schema, variant: int, depth: int) -> list[Any]:
    leading: Sequence[Any] = schema.get("prefixItems") or ()
    out = [_value(part, root, variant, depth + 1) for part in leading]
    count = max(0 if leading else 1, int(schema.get("minItems", 0)) - len(leading))
    if "maxItems" in schema:
        count = min(count, int(schema["maxItems"]) - len(leading))
    if depth > _MAX_DEPTH // 2 and not schema.get("minItems"):
        return out
    return out + [_value(schema.get("items") or {}, root, variant + i, depth + 1) for i in range(count)]


def _string(schema: Schema, variant: int) -> str:
    text = _FORMATS.get(str(schema.get("format")), "x" if variant == 0 else f"x{variant}")
    text = text.ljust(int(schema.get("minLength", 0)), "x")
    return text[: int(schema["maxLength"])] if "maxLength" in schema else text


def place(schema: Any, value: Any, variant: int = 0) -> Any:
    """An instance of `schema` that holds `value` in its first top-level field of a fitting type.

    An integer fits integer, number and string fields, in this order; a string fits string fields. When nothing fits,
    the instance comes without it.
    """
    root: Schema = cast(Schema, schema) if isinstance(schema, Mapping) else {}
    filled: Any = instance(root, variant)
    name = field_for(root, value)
    if name is not None and isinstance(filled, dict):
        fields: Mapping[str, Schema] = resolve(root, root).get("properties") or {}
        kinds = kinds_of(fields[name], root)
        target = cast(dict[str, Any], filled)
        numeric = bool(kinds & {"integer", "number"}) and isinstance(value, (int, float))
        target[name] = (
            value if numeric or not isinstance(value, (int, float)) or isinstance(value, bool) else str(value)
        )
    return cast(Any, filled)


def field_for(schema: Schema, value: Any) -> str | None:
    """The name of the top-level field that `place` would use."""
    fields: Mapping[str, Schema] = resolve(schema, schema).get("properties") or {}
    wanted: tuple[set[str], ...]
    if isinstance(value, bool):
        wanted = ({"boolean"},)
    elif isinstance(value, int):
        wanted = ({"integer"}, {"number"}, {"string"})
    elif isinstance(value, float):
        wanted = ({"number"}, {"string"})
    elif isinstance(value, str):
        wanted = ({"string"}, {"enum"})
    else:
        wanted = ({"array"},) if isinstance(value, (list, tuple)) else ({"object"},)
    for kinds in wanted:
        for name, part in fields.items():
            if kinds_of(part, schema) & kinds:
                return name
    return None
