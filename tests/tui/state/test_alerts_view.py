"""Errors in clusters, and what each is put down to."""

import pytest

from rollgrid_tui.state.alerts_view import ADVICE, LAST, Cause, cause_of, clusters
from support.fake_log import NOW, attempt_row


def error(task, attempt, signature="E 401: no", **changes):
    return attempt_row(task, attempt, "error", error_signature=signature, **changes)


def test_errors_of_one_signature_are_one_cluster_with_count_times_tasks_and_a_sample():
    (one,) = clusters(
        [
            error(0, 1, ended_at=NOW - 30, error="first"),
            error(2, 1, ended_at=NOW - 10, error="newest"),
            error(2, 2, ended_at=NOW - 20),
            attempt_row(1, 1),
        ]
    )
    assert (one.n, one.first, one.last, one.tasks) == (3, NOW - 30, NOW - 10, (0, 2))
    assert one.sample == "newest"
    assert one.cells[0] == (2, 1, 1)


def test_the_share_is_of_those_that_ended_last():
    old = [error(0, n, "old", ended_at=NOW - 1000 + n) for n in range(1, 6)]
    new = [attempt_row(1, n, ended_at=NOW + n) for n in range(1, LAST - 2)]
    fresh = [error(2, n, "new", ended_at=NOW + 100 + n) for n in range(1, 4)]
    first, second = clusters([*old, *new, *fresh])
    assert (first.signature, first.n_recent, first.recent) == ("new", 3, LAST)
    assert (second.signature, second.n_recent) == ("old", 0)


def test_the_storm_stands_first():
    rows = [error(0, 1, "storm", ended_at=NOW - 500), *(error(1, n, "more", ended_at=NOW) for n in range(1, 9))]
    assert [one.signature for one in clusters(rows, storm="storm")] == ["storm", "more"]
    assert [one.signature for one in clusters(rows)] == ["more", "storm"]


def test_the_share_looks_at_as_many_as_run_at_once():
    assert clusters([error(0, n) for n in range(1, 50)], concurrency=40)[0].recent == 40


def test_takes_that_were_run_again_are_counted_but_stand_behind():
    (one,) = clusters(
        [error(0, 1, superseded="retry", ended_at=NOW), error(1, 1, ended_at=NOW - 50), error(1, 2, ended_at=NOW - 60)]
    )
    assert (one.n, one.n_open) == (3, 2)
    assert one.cells[0] == (1, 1, 1)
    assert one.cells[-1] == (0, 1, 1)


def test_wrong_answers_cancelled_and_running_attempts_are_no_errors():
    assert clusters([attempt_row(0, n, outcome) for n, outcome in enumerate(("fail", "cancelled", "running"), 1)]) == []


def test_an_error_without_a_signature_is_known_by_type_and_words():
    first, second = clusters([attempt_row(0, 1, "error"), attempt_row(0, 2, "timeout", ended_at=NOW - 99)])
    assert first.signature == "InternalServerError: HTTP 500: oops"
    assert second.signature == "timeout: no answer within 120 s"


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"status": 401, "error": "HTTP 401: Incorrect API key provided"}, Cause.key),
        ({"status": 403}, Cause.key),
        ({"status": 429, "error": "HTTP 429: slow down"}, Cause.rate),
        ({"status": 429, "error": "HTTP 429: insufficient_quota"}, Cause.quota),
        ({"status": 429, "error": "HTTP 429: You exceeded your current quota, see billing"}, Cause.quota),
        ({"status": 402}, Cause.quota),
        ({"status": 503}, Cause.server),
        ({"error": "HTTP 500: oops"}, Cause.server),
        ({"status": 400, "error": "HTTP 400: max_tokens too large"}, Cause.request),
        ({"status": 404}, Cause.request),
        ({"error": "connection to http://127.0.0.1:9 failed: refused"}, Cause.connection),
        ({"error": "the server's certificate is not trusted"}, Cause.connection),
        ({"error": "the server did not answer in time", "error_type": "ReadTimeout"}, Cause.timeout),
        ({"stop_reason": "timeout"}, Cause.timeout),
        ({"stop_reason": "completed", "error": "scorer: KeyError: 'x'"}, Cause.scorer),
        ({"error_type": "RunnerLost", "error": "the runner was gone"}, Cause.lost),
        ({"error_type": "KeyError", "error": "'answer'"}, Cause.agent),
        ({"error": None, "error_type": None}, Cause.agent),
    ],
)
def test_the_cause_comes_from_status_and_words(changes, cause):
    assert cause_of(attempt_row(0, 1, "error")._replace(**changes)) is cause


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_advice_whose_blanks_can_be_filled(cause):
    happened, advice = ADVICE[cause]
    assert happened
    filled = advice.format(run="r", resume="rollgrid resume r", slower="<", auto="A", retry="r")
    assert "{" not in filled
