"""Which calls are made again, how often, and after how long."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rollgrid.errors import ModelError
from rollgrid.models.retry import RetryNotice, RetryPolicy, call_with_retries, parse_retry_after

BUSY = ModelError("busy", kind="server", status=503, retryable=True)


class Calls:
    """Fails with each error in turn, then succeeds; remembers the waits instead of waiting."""

    def __init__(self, *errors: Exception):
        self.errors = list(errors)
        self.n = 0
        self.waits: list[float] = []
        self.notices: list[RetryNotice] = []

    async def call(self) -> str:
        self.n += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def run(self, policy: RetryPolicy) -> str:
        return await call_with_retries(self.call, policy, self.notices.append, self.sleep)


async def test_a_call_that_succeeds_is_made_once():
    calls = Calls()
    assert await calls.run(RetryPolicy()) == "done"
    assert (calls.n, calls.waits, calls.notices) == (1, [], [])


async def test_a_failed_call_is_made_again_until_it_succeeds():
    calls = Calls(BUSY, BUSY)
    assert await calls.run(RetryPolicy()) == "done"
    assert calls.n == 3
    assert [(notice.n, notice.limit, notice.reason, notice.status) for notice in calls.notices] == [
        (1, 5, "busy", 503),
        (2, 5, "busy", 503),
    ]
    assert [notice.wait_seconds for notice in calls.notices] == calls.waits


async def test_the_last_error_is_raised_when_the_retries_are_used_up():
    calls = Calls(*[ModelError(f"try {n}", retryable=True) for n in range(1, 9)])
    with pytest.raises(ModelError, match="try 6"):
        await calls.run(RetryPolicy(max_retries=5))
    assert calls.n == 6
    assert len(calls.waits) == 5


async def test_an_error_for_good_is_raised_at_once():
    calls = Calls(ModelError("no", kind="auth", status=401))
    with pytest.raises(ModelError, match="no"):
        await calls.run(RetryPolicy())
    assert calls.n == 1


async def test_an_error_for_good_after_a_retry_ends_the_retries():
    calls = Calls(BUSY, ModelError("no", kind="auth"))
    with pytest.raises(ModelError, match="no"):
        await calls.run(RetryPolicy())
    assert calls.n == 2


async def test_what_is_no_model_error_is_never_retried():
    calls = Calls(BUSY, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await calls.run(RetryPolicy())
    assert calls.n == 2


async def test_no_retries_means_none():
    calls = Calls(BUSY)
    with pytest.raises(ModelError):
        await calls.run(RetryPolicy(max_retries=0))
    assert calls.n == 1


async def test_waits_double_up_to_the_cap_and_half_of_each_is_random():
    calls = Calls(*[BUSY] * 6)
    await calls.run(RetryPolicy(max_retries=6, base=1.0, cap=10.0))
    for wait, full in zip(calls.waits, [1, 2, 4, 8, 10, 10], strict=True):
        assert full / 2 <= wait <= full
    assert len({wait / full for wait, full in zip(calls.waits, [1, 2, 4, 8, 10, 10], strict=True)}) > 1


async def test_the_wish_of_the_server_is_obeyed_with_little_added():
    calls = Calls(ModelError("slow down", status=429, retryable=True, retry_after=7.0))
    await calls.run(RetryPolicy(base=0.0))
    assert 7.0 <= calls.waits[0] <= 7.7


async def test_a_wish_beyond_two_minutes_is_cut():
    calls = Calls(ModelError("slow down", status=429, retryable=True, retry_after=86400.0))
    await calls.run(RetryPolicy())
    assert 120.0 <= calls.waits[0] <= 121.0


def test_a_wait_far_out_is_the_cap_and_no_overflow():
    assert RetryPolicy(cap=9.0).wait_seconds(100_000, None) <= 9.0


@pytest.mark.parametrize("values", [{"max_retries": -1}, {"base": -1.0}, {"cap": -0.5}])
def test_a_policy_holds_no_negative_number(values: dict[str, Any]):
    with pytest.raises(ValueError, match="no negative number"):
        RetryPolicy(**values)


def test_the_environment_variable_sets_the_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ROLLGRID_MAX_RETRIES", raising=False)
    assert RetryPolicy.default() == RetryPolicy(max_retries=5)
    monkeypatch.setenv("ROLLGRID_MAX_RETRIES", "0")
    assert RetryPolicy.default() == RetryPolicy(max_retries=0)
    monkeypatch.setenv("ROLLGRID_MAX_RETRIES", "many")
    with pytest.raises(ValueError, match="ROLLGRID_MAX_RETRIES must be a whole number, got 'many'"):
        RetryPolicy.default()


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("milliseconds", "value", "seconds"),
    [
        (None, None, None),
        (None, "3", 3.0),
        (None, "0.5", 0.5),
        ("1500", "3", 1.5),
        ("soon", "3", 3.0),
        (None, "-4", 0.0),
        (None, "9999", 120.0),
        (None, "nan", None),
        (None, "inf", 120.0),
        (None, "Fri, 02 Jan 2026 03:04:15 GMT", 10.0),
        (None, "Fri, 02 Jan 2026 03:04:15", 10.0),
        (None, "Fri, 02 Jan 2026 03:04:00 GMT", 0.0),
        (None, "Sat, 03 Jan 2026 03:04:15 GMT", 120.0),
        (None, "tomorrow", None),
        (None, "", None),
    ],
)
def test_headers_that_say_how_long_to_wait(milliseconds: str | None, value: str | None, seconds: float | None):
    assert parse_retry_after(milliseconds, value, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT",
        f"Wed, {'9' * 20} Oct 2015 07:28:00 GMT",
        f"Wed, 21 Oct 2015 {'9' * 20}:28:00 GMT",
    ],
)
def test_a_date_that_no_calendar_has_is_no_wish(text: str):
    assert parse_retry_after(None, text) is None
