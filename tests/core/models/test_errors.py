"""What a failed request is called, and whether it is made again."""

from typing import Any

import pytest

from rollgrid.models import _errors


def body(code: str | None = None, kind: str | None = None, message: str = "it failed") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}


@pytest.mark.parametrize(
    ("status", "payload", "kind", "retryable"),
    [
        (400, body(), "bad_request", False),
        (400, body("model_not_found"), "unknown_model", False),
        (401, body("invalid_api_key"), "auth", False),
        (403, body(), "auth", False),
        (404, body("model_not_found"), "unknown_model", False),
        (404, {"message": "The model `x` does not exist.", "code": 404}, "unknown_model", False),
        (404, {"detail": "Not Found"}, "bad_request", False),
        (408, None, "timeout", True),
        (409, None, "server", True),
        (413, None, "bad_request", False),
        (422, "unprocessable", "bad_request", False),
        (429, body("rate_limit_exceeded"), "rate_limit", True),
        (429, body("insufficient_quota"), "quota", False),
        (429, body(None, "insufficient_quota"), "quota", False),
        (500, body(), "server", True),
        (503, "<html>down</html>", "server", True),
        (529, None, "server", True),
        (302, None, "protocol", False),
    ],
)
def test_a_status_is_of_one_kind(status: int, payload: Any, kind: str, retryable: bool):
    error = _errors.from_status(status, {}, payload)
    assert (error.kind, error.status, error.retryable) == (kind, status, retryable)
    assert str(error).startswith(f"HTTP {status}")
    assert "\n" not in str(error)


def test_the_server_may_say_itself_whether_to_come_back():
    assert _errors.from_status(500, {"x-should-retry": "false"}, None).retryable is False
    assert _errors.from_status(418, {"x-should-retry": "true"}, None).retryable is False
    assert _errors.from_status(401, {"x-should-retry": "true"}, None).retryable is False


def test_the_server_says_when_to_come_back():
    assert _errors.from_status(429, {"retry-after": "12"}, None).retry_after == 12.0
    assert _errors.from_status(429, {"retry-after-ms": "250", "retry-after": "12"}, None).retry_after == 0.25


@pytest.mark.parametrize(
    ("payload", "kind", "retryable"),
    [
        ({"code": "server_error", "message": "m"}, "server", True),
        ({"code": "rate_limit_exceeded", "message": "m"}, "rate_limit", True),
        ({"error": {"code": "insufficient_quota", "message": "m"}}, "quota", False),
        ({"code": "invalid_prompt", "message": "m"}, "bad_request", False),
        ({"type": "invalid_request_error", "message": "m"}, "bad_request", False),
        ({"error": "overloaded"}, "server", True),
    ],
)
def test_an_error_inside_of_a_reply_is_of_one_kind(payload: Any, kind: str, retryable: bool):
    error = _errors.from_payload(payload)
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-abcdEFGH1234.",
        "key sk-proj-abc_def-ABCD1234 is bad",
        "header Bearer abcdEFGH1234ABCD was refused",
        '{"api_key": "abcdEFGH1234ABCD"}',
        "api-key=abcdEFGH1234ABCD",
    ],
)
def test_a_key_in_a_message_is_masked(text: str):
    for shown in (_errors.mask(text), str(_errors.from_status(401, {}, body(message=text)))):
        assert "ABCD" not in shown
        assert "EFGH" not in shown
        assert "***" in shown


def test_a_message_is_one_line_of_bounded_length():
    text = str(_errors.from_status(500, {}, "a\n" * 5000))
    assert "\n" not in text
    assert len(text) < 600


@pytest.mark.parametrize(
    "payload",
    [
        "insufficient_quota",
        {"error": "insufficient_quota"},
        [{"error": {"code": 429, "type": "insufficient_quota", "message": "m"}}],
        {"error": {"error": {"code": "insufficient_quota", "message": "m"}}},
        {"detail": {"error": {"code": "insufficient_quota", "message": "m"}}},
        {"detail": {"code": "insufficient_quota", "message": "m"}},
        {"errors": [{"code": "INSUFFICIENT_QUOTA", "message": "m"}]},
    ],
)
def test_an_exhausted_quota_is_final_in_whatever_envelope_it_comes(payload: Any):
    error = _errors.from_status(429, {}, payload)
    assert (error.kind, error.retryable) == ("quota", False)
    assert "{" not in str(error)


def test_a_quota_of_requests_a_minute_comes_back():
    said = body(None, None, "Quota exceeded for requests per minute")
    assert _errors.from_status(429, {}, [said]).retryable is True


def test_payment_required_is_final():
    error = _errors.from_status(402, {}, body(message="Insufficient Balance"))
    assert (error.kind, error.retryable) == ("quota", False)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (401, "auth", False),
        ("401", "auth", False),
        (402, "quota", False),
        (400, "bad_request", False),
        (429, "rate_limit", True),
        (503, "server", True),
        (408, "timeout", True),
    ],
)
def test_a_router_puts_the_status_into_the_code(code: Any, kind: str, retryable: bool):
    error = _errors.from_payload({"error": {"code": code, "message": "m"}})
    assert (error.kind, error.status, error.retryable) == (kind, int(code), retryable)


@pytest.mark.parametrize("payload", [[], {}, [[]], {"error": []}, {"error": {}}, None, 7, [None]])
def test_an_empty_envelope_is_an_error_all_the_same(payload: Any):
    assert _errors.from_status(500, {}, payload).retryable is True
