"""What a score may be."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from rollgrid.scorer import Score
from rollgrid.scorer.base import MismatchError


class bool_:
    """Stands in for numpy's truth value, which is told by its name and module."""

    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return self.value


bool_.__module__ = "numpy"


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1, 1.0, Fraction(1, 4), Decimal("0.7")])
def test_a_number_from_0_to_1_is_a_value(value):
    score = Score(value, True)
    assert score.value == float(value)
    assert type(score.value) is float


@pytest.mark.parametrize(
    "value", [-0.1, 1.0001, 7, math.nan, math.inf, -math.inf, 10**400, Decimal("NaN"), Decimal("sNaN")]
)
def test_a_number_outside_is_an_error(value):
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Score(value, True)


@pytest.mark.parametrize("value", ["1", None, True, False, [1], 1j])
def test_what_is_no_number_is_an_error(value):
    with pytest.raises(TypeError, match="number"):
        Score(value, True)


def test_the_verdict_of_another_library_becomes_a_plain_bool():
    assert Score(1.0, bool_(True)).passed is True
    assert Score(0.0, bool_(False)).passed is False
    assert Score(1.0, 1).passed is True


@pytest.mark.parametrize("passed", [None, "yes", 2, [], object()])
def test_a_verdict_that_is_neither_true_nor_false_is_an_error(passed):
    with pytest.raises(TypeError, match="True or False"):
        Score(1.0, passed)


def test_reason_and_detail_have_their_types():
    with pytest.raises(TypeError, match="reason"):
        Score(1.0, True, reason=5)
    with pytest.raises(TypeError, match="detail"):
        Score(1.0, True, detail="text")


def test_a_mismatch_tells_its_parts():
    assert MismatchError("no").parts == {}
    assert MismatchError("no", {"tasks": "differs"}).parts == {"tasks": "differs"}
