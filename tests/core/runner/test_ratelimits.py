import pytest

from rollgrid.runner.ratelimits import RateLimits, parse_span


def headers(**values):
    return {f"x-ratelimit-{name.replace('_', '-')}": str(value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20ms", 0.02), ("1.5s", 1.5), ("6m0s", 360), ("1h2m3s", 3723), ("7", 7), ("0", 0), ("99d", 86400)],
)
def test_spans_of_headers(text, seconds):
    assert parse_span(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "1x", "-3", "nan", "1s!", "Tue, 01 Dec 2026"])
def test_what_is_no_span(text):
    assert parse_span(text) is None


def test_without_headers_nothing_waits():
    limits = RateLimits()
    limits.told({}, 0.0)
    assert limits.wait_seconds(1000, 0.0) == 0


def test_requests_that_are_used_up_come_back_one_by_one():
    limits = RateLimits()
    limits.told(headers(limit_requests=60, remaining_requests=0, reset_requests="60s"), 0.0)
    assert limits.wait_seconds(0, 0.0) == pytest.approx(1.0)
    assert limits.wait_seconds(0, 0.4) == pytest.approx(0.6)
    assert limits.wait_seconds(0, 1.0) == 0


def test_calls_in_flight_are_taken_off_what_is_left():
    limits = RateLimits()
    limits.told(headers(limit_requests=60, remaining_requests=10, reset_requests="50s"), 0.0)
    assert limits.wait_seconds(9, 0.0) == 0
    assert limits.wait_seconds(10, 0.0) == pytest.approx(1.0)


def test_tokens_wait_for_as_many_as_a_call_takes():
    limits = RateLimits()
    limits.used(1000)
    limits.told(headers(limit_tokens=6000, remaining_tokens=500, reset_tokens="55s"), 0.0)
    assert limits.wait_seconds(0, 0.0) == pytest.approx(5.0)


def test_a_call_larger_than_the_whole_limit_is_tried_when_all_of_it_is_there():
    limits = RateLimits()
    limits.used(10_000)
    limits.told(headers(limit_tokens=6000, remaining_tokens=6000, reset_tokens="0s"), 0.0)
    assert limits.wait_seconds(0, 0.0) == 0


@pytest.mark.parametrize("bad", ["many", "-1", "inf", "nan", ""])
def test_headers_that_make_no_sense_change_nothing(bad):
    limits = RateLimits()
    limits.told(headers(limit_requests=bad, remaining_requests=bad, reset_requests=bad), 0.0)
    limits.told(headers(limit_requests=60, remaining_requests=bad), 0.0)
    assert limits.wait_seconds(500, 0.0) == 0
