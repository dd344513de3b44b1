"""Instances of schemas, answers put into them, and answers that just miss."""

import sqlite3
from datetime import date, datetime
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from rollgrid.testing.misses import near_miss, sql_miss
from rollgrid.testing.shapes import field_for, instance, place


class Tree(BaseModel):
    name: str
    children: list["Tree"]


class Chain(BaseModel):
    next: "Chain | None"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(gt=0, lt=10, multiple_of=3)


class Dog(BaseModel):
    kind: Literal["dog"]


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")
    when: datetime
    day: date
    name: str = Field(min_length=3, max_length=4)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    pairs: list[tuple[int, str]] = Field(default_factory=list[tuple[int, str]])
    ratio: float = Field(gt=0, lt=1)
    below: int = Field(lt=0)
    nothing: None
    flag: bool
    chain: Chain


@pytest.mark.parametrize("kind", [Tree, Chain, Cat, Everything, list[Cat], Literal["a", "b"], int | None])
@pytest.mark.parametrize("variant", range(6))
def test_an_instance_is_what_its_schema_allows(kind: Any, variant: int):
    adapter = TypeAdapter(kind)
    adapter.validate_python(instance(adapter.json_schema(), variant))


@pytest.mark.parametrize("schema", [None, {}, {"type": "nonsense"}, {"$ref": "#/nowhere"}, {"$ref": "#"}, [], "x"])
def test_no_schema_makes_it_fail(schema: Any):
    instance(schema)
    place(schema, 3)


@pytest.mark.parametrize(
    ("value", "field"),
    [(5, "total"), (5.5, "ratio"), ("five", "why"), (True, "sure"), ([1], "items"), ({"a": 1}, "more"), (None, "more")],
)
def test_a_value_goes_into_the_first_field_of_its_kind(value: Any, field: str):
    kinds = {
        "why": "string",
        "ratio": "number",
        "total": "integer",
        "sure": "boolean",
        "items": "array",
        "more": "object",
    }
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}}
    assert field_for(schema, value) == field
    assert place(schema, value)[field] == value


def test_a_number_may_go_into_a_text_but_never_a_text_into_a_number():
    text = {"type": "object", "properties": {"answer": {"type": "string"}}}
    number = {"type": "object", "properties": {"answer": {"type": "integer"}}}
    assert place(text, 7) == {"answer": "7"}
    assert place(number, "seven") == {"answer": 0}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(-1e9, 1e9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.integers(0, 50))
def test_a_miss_is_never_right_and_always_the_same(right: Any, seed: int):
    missed = near_miss(right, "prompt", seed)
    assert missed != right
    assert missed == near_miss(right, "prompt", seed)


@pytest.mark.parametrize("right", [43942, -17, 7, 0])
def test_a_missed_number_is_near(right: int):
    missed = {near_miss(right, seed) for seed in range(40)}
    assert len(missed) > 1
    assert all(abs(value - right) <= 20 for value in missed)


QUERIES = [
    "SELECT name FROM people WHERE dept = 'sales' ORDER BY name",
    "SELECT SUM(pay) FROM people",
    "SELECT name FROM people ORDER BY pay DESC LIMIT 1",
    "WITH p AS (SELECT * FROM people) SELECT COUNT(*) FROM p WHERE pay > 10",
    "SELECT 1;",
    "select pay from people where pay >= 20",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_missed_query_does_not_give_what_the_right_one_gives(query: str):
    base = sqlite3.connect(":memory:")
    base.executescript(
        "CREATE TABLE people (name, dept, pay);"
        "INSERT INTO people VALUES ('a', 'sales', 10), ('b', 'sales', 20), ('c', 'it', 45)"
    )

    def rows(text: str) -> Any:
        try:
            return base.execute(text).fetchall()
        except sqlite3.Error as error:
            return type(error)

    right = rows(query)
    assert isinstance(right, list)
    wrong = [rows(text) for text in {sql_miss(query, seed) for seed in range(30)}]
    base.close()
    assert right not in wrong
