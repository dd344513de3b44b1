import math
import sqlite3
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgrid.store.codec import decode, encode, from_text, is_exact, storable, to_text

ANY_TEXT = st.text(st.characters(codec=None))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


@given(JSON)
@settings(deadline=None)
def test_what_goes_in_comes_out(value):
    assert decode(encode(value)) == value
    assert from_text(to_text(value)) == value


@given(JSON)
@settings(deadline=None)
def test_sqlite_stores_every_text(value):
    with sqlite3.connect(":memory:") as connection:
        found = connection.execute("SELECT ?", (to_text(value),)).fetchone()[0]
    connection.close()
    assert from_text(found) == value


@pytest.mark.parametrize(
    "value",
    ["lone \ud800 surrogate", "nul \x00 inside", 2**80, -(2**70), 2**63, 2**53 + 1, math.inf, -math.inf, "\udcff", ""],
)
def test_what_json_or_utf8_cannot_hold_survives(value):
    body = {"key " + str(value)[:20]: [value, {"deep": value}]}
    assert decode(encode(body)) == body
    assert from_text(to_text(body)) == body


def test_nan_is_not_turned_into_null():
    assert math.isnan(decode(encode({"x": [None, math.nan]}))["x"][1])


def test_only_what_needs_it_is_written_the_exact_way():
    assert not is_exact(to_text({"a": "plain ü 漢", "n": None}))
    assert is_exact(to_text({"a": "\ud800"}))


def test_a_body_is_compressed():
    assert len(encode({"text": "again and again " * 500})) < 500


@dataclass
class Point:
    x: int


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_one_odd_object_does_not_cost_the_transcript():
    body = decode(encode({"text": "kept", "odd": {1, 2}, "point": Point(3), "worse": Broken(), 7: "seven"}))
    assert body == {
        "text": "kept",
        "odd": "{1, 2}",
        "point": {"x": 3},
        "worse": "<Broken: repr raised RuntimeError>",
        "7": "seven",
    }


def test_a_value_nested_without_end_is_cut_and_stored():
    endless: list = []
    endless.append(endless)
    assert "nested too deeply" in to_text(endless)
    deep: list = []
    for _ in range(280):
        deep = [deep]
    assert decode(encode(deep)) == deep


def test_an_integer_too_long_for_decimal_text_is_kept_as_hexadecimal():
    assert decode(encode([16**5000])) == [hex(16**5000)]


@pytest.mark.parametrize("data", [b"", b"\x09abc", b"\x01not zlib", encode({"a": 1})[:-3]])
def test_a_damaged_body_is_a_value_error(data):
    with pytest.raises(ValueError, match="body"):
        decode(data)


def test_text_columns_show_surrogates_written_out():
    assert storable("a\ud800b\x00") == "a\\ud800b\x00"
