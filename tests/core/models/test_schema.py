"""Pydantic models in the dialect of strict structured output."""

from typing import Any, Generic, Literal, Optional, TypeVar

import pytest
from pydantic import BaseModel, Field, RootModel

from rollgrid.models.schema import output_schema

T = TypeVar("T")


class Inner(BaseModel):
    kind: Literal["a"] = "a"
    x: int = Field(default=3, ge=0)


class Other(BaseModel):
    kind: Literal["b"] = "b"
    tags: set[str] = set()


class Node(BaseModel):
    default: int
    title: str = "t"
    next: Optional["Node"] = Field(None, description="the next one")


class Whole(BaseModel):
    inner: Inner = Field(description="described here")
    either: Inner | Other = Field(discriminator="kind")
    node: Node | None = None
    name: str = Field(min_length=1, max_length=5, pattern="^[a-z]+$")


def objects(node: Any):
    """Every object schema inside."""
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for item in node:
            yield from objects(item)


def keys(node: Any) -> set[str]:
    if isinstance(node, dict):
        found = set(node)
        for name, value in node.items():
            found |= set().union(*map(keys, value.values())) if name in ("properties", "$defs") else keys(value)
        return found
    return set().union(*map(keys, node)) if isinstance(node, list) else set()


@pytest.mark.parametrize("model", [Inner, Node, Whole])
def test_every_object_is_closed_and_asks_for_all_its_properties(model: type[BaseModel]):
    output = output_schema(model)
    found = list(objects(output.schema))
    assert found
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    assert output.strict


def test_what_strict_mode_refuses_is_gone_and_what_it_takes_stays():
    schema = output_schema(Whole).schema
    assert not keys(schema) & {"default", "oneOf", "discriminator", "minLength", "maxLength", "uniqueItems", "allOf"}
    assert schema["properties"]["name"]["pattern"] == "^[a-z]+$"
    assert schema["properties"]["inner"]["properties"]["x"]["minimum"] == 0


def test_properties_called_like_keywords_stay():
    assert list(output_schema(Node).schema["properties"]) == ["default", "title", "next"]


def test_nothing_stands_beside_a_reference():
    def check(node: Any):
        if isinstance(node, dict):
            if "$ref" in node:
                assert set(node) == {"$ref"}
            for value in node.values():
                check(value)
        elif isinstance(node, list):
            for item in node:
                check(item)

    check(output_schema(Whole).schema)
    assert output_schema(Whole).schema["properties"]["inner"]["description"] == "described here"


def test_a_recursive_model_is_an_object_at_the_top():
    schema = output_schema(Node).schema
    assert schema["type"] == "object"
    assert schema["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    assert "Node" in schema["$defs"]


def test_open_keys_and_tuples_are_told_not_to_be_strict():
    class Open(BaseModel):
        counts: dict[str, int]

    class Pair(BaseModel):
        pair: tuple[int, str]

    assert output_schema(Open).strict is False
    assert output_schema(Open).schema["properties"]["counts"]["additionalProperties"] == {"type": "integer"}
    assert output_schema(Pair).strict is False


def test_what_is_no_object_is_refused():
    class Numbers(RootModel[list[int]]):
        pass

    with pytest.raises(TypeError, match="output_schema Numbers must be an object at the top, not array"):
        output_schema(Numbers)


def test_the_name_is_one_that_providers_take():
    class Box(BaseModel, Generic[T]):
        value: T

    output = output_schema(Box[int])
    assert output.name == "Box_int_"
    assert output.model is Box[int]
