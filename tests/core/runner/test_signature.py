import pytest

from rollgrid.runner.signature import error_signature, normalise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rate limit: try again in 1.5s", "Rate limit: try again in 20s"),
        ("request req_abc123def failed", "request req_zzz999yyy failed"),
        ("no row 00000000-0000-0000-0000-000000000001", "no row 12345678-9abc-def0-1234-56789abcdef0"),
        ("<object at 0x7f12>", "<object at 0x9a00>"),
        ("see https://a.example/x", "see https://b.example/y?z=1"),
    ],
)
def test_messages_that_differ_by_call_have_one_signature(one, other):
    assert normalise(one) == normalise(other)


def test_status_and_type_keep_errors_apart():
    assert error_signature("E", 401, "no") != error_signature("E", 403, "no")
    assert error_signature("E", 401, "no") != error_signature("F", 401, "no")
    assert error_signature("E", None, "bad key") == "E: bad key"


def test_a_huge_message_is_cut():
    assert len(normalise("x" * 10_000_000)) <= 160
