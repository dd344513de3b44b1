"""Small valid values of JSON schemas, and ways to put a given answer into one."""

from collections.abc import Mapping
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
    step = schema.get("multipleOf") or 1
    low = schema.get("minimum")
    if low is None:
        low = schema["exclusiveMinimum"] + step if "exclusiveMinimum" in schema else 0
    high = schema.get("maximum")
    if high is None and "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - (step if kind == "integer" else 1e-6)
    if high is not None and high < low:
        low = high if "minimum" not in schema and "exclusiveMinimum" not in schema else low
    first = -(-low // step) * step if kind == "integer" else low
    value = first + (variant % 8) * step
    if high is not None and value > high:
        value = first
    return int(value) if kind == "integer" else float(value)


def _items(schema: Schema, root: Schema, variant: int, depth: int) -> list[Any]:
    count = max(1, int(schema.get("minItems", 1)))
    if "maxItems" in schema:
        count = min(count, int(schema["maxItems"]))
    if depth > _MAX_DEPTH // 2 and not schema.get("minItems"):
        return []
    return [_value(schema.get("items") or {}, root, variant + i, depth + 1) for i in range(count)]


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
