"""The errors of a run in clusters of one signature each, and what can be done about each kind."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from heapq import nlargest
from typing import NamedTuple

from rollgrid.store.rows import AttemptRow

LAST = 20
"""A cluster's share is of this many attempts that ended last, or of as many as run at once where those are more."""


class Cause(StrEnum):
    key = "key refused"
    rate = "rate limit"
    quota = "quota used up"
    connection = "connection"
    timeout = "timeout"
    scorer = "scorer"
    server = "server"
    request = "request refused"
    lost = "runner lost"
    agent = "the agent's code"


class Cluster(NamedTuple):
    """Attempts that failed alike. `n` counts takes, also those that were run again; `n_open` those that still count.

    `first` and `last` are seconds since the epoch, `share` is of the attempts that ended last. `cells` are (task,
    attempt, take), the newest first.
    """

    signature: str
    cause: Cause
    sample: str
    n: int
    n_open: int
    n_recent: int
    recent: int
    first: float
    last: float
    tasks: tuple[int, ...]
    cells: tuple[tuple[int, int, int], ...]


def is_error(row: AttemptRow) -> bool:
    """Whether the attempt ended without a score for a reason that is an error; a cancelled one did not."""
    return row.phase == "ended" and row.passed is None and row.stop_reason not in {"cancelled", "paused", None}


def signature_of(row: AttemptRow) -> str:
    return row.error_signature or f"{row.error_type or row.stop_reason}: {(row.error or '')[:160]}"


def clusters(rows: Iterable[AttemptRow], concurrency: int = 0, storm: str | None = None) -> list[Cluster]:
    """All takes of a run by error: first the storm's, then what fails most among the newest, then what failed last."""
    ended = [row for row in rows if row.phase == "ended" and row.ended_at is not None]
    window = nlargest(max(LAST, concurrency), ended, key=_ended)
    recent: dict[str, int] = {}
    for row in window:
        if is_error(row):
            recent[signature_of(row)] = recent.get(signature_of(row), 0) + 1
    grouped: dict[str, list[AttemptRow]] = {}
    for row in ended:
        if is_error(row):
            grouped.setdefault(signature_of(row), []).append(row)
    found = [_cluster(name, group, recent.get(name, 0), len(window)) for name, group in grouped.items()]
    return sorted(found, key=lambda one: (one.signature != storm, -one.n_recent, -one.last, one.signature))


def _ended(row: AttemptRow) -> float:
    return row.ended_at or 0.0


def _cluster(signature: str, rows: Sequence[AttemptRow], n_recent: int, recent: int) -> Cluster:
    newest = sorted(rows, key=_ended, reverse=True)
    last = newest[0]
    return Cluster(
        signature=signature,
        cause=cause_of(last),
        sample=last.error or last.error_type or last.stop_reason or "",
        n=len(rows),
        n_open=sum(row.superseded is None for row in rows),
        n_recent=n_recent,
        recent=recent,
        first=_ended(newest[-1]),
        last=_ended(last),
        tasks=tuple(sorted({row.task for row in rows})),
        cells=tuple((row.task, row.attempt, row.take) for row in sorted(newest, key=_is_old)),
    )


def _is_old(row: AttemptRow) -> bool:
    return row.superseded is not None


STATUS = re.compile(r"\bhttp (\d{3})\b")

WORDS: tuple[tuple[Cause, tuple[str, ...]], ...] = (
    (Cause.quota, ("insufficient_quota", "quota", "billing", "credit balance")),
    (Cause.key, ("api key", "api_key", "authentication", "unauthorized", "permissiondenied")),
    (Cause.rate, ("rate limit", "ratelimit", "too many requests")),
    (Cause.timeout, ("timeout", "timed out")),
    (Cause.connection, ("connection", "connecterror", "getaddrinfo", "name or service", "certificate", "unreachable")),
)


def cause_of(row: AttemptRow) -> Cause:
    """From the status where the server gave one, else from the words of the error."""
    text = f"{row.error_type or ''} {(row.error or '')[:2000]}".casefold()
    said = STATUS.search(text) if row.status is None else None
    status = int(said[1]) if said is not None else row.status
    if row.stop_reason == "timeout":
        return Cause.timeout
    if row.stop_reason == "completed":
        return Cause.scorer
    if row.error_type == "RunnerLost":
        return Cause.lost
    if status == 402 or (status in {403, 429} and any(word in text for word in WORDS[0][1])):
        return Cause.quota
    if status is not None:
        return _by_status(status)
    return next((cause for cause, words in WORDS if any(word in text for word in words)), Cause.agent)


def _by_status(status: int) -> Cause:
    known = {401: Cause.key, 403: Cause.key, 408: Cause.timeout, 429: Cause.rate}
    return known.get(status) or (Cause.server if status >= 500 else Cause.request)


ADVICE: dict[Cause, tuple[str, ...]] = {
    Cause.key: (
        "The server refused the API key.",
        "Put the key right (for OpenAI's API: OPENAI_API_KEY where the run is started). A runner keeps the key that it"
        " was started with: cancel the run, then {resume} goes on with the new one.",
    ),
    Cause.rate: (
        "More requests than the server allows.",
        "Lower the concurrency with {slower}, or press {auto} to let the run find out how much passes"
        " (-c auto does that from the start).",
    ),
    Cause.quota: (
        "The account has nothing left to spend.",
        "Raise the limit or pay at the provider, then resume or retry. Lower concurrency does not help.",
    ),
    Cause.connection: (
        "The server could not be reached.",
        "See whether it is up and whether base_url, proxy and network are right; rollgrid doctor tries it.",
    ),
    Cause.timeout: (
        "Attempts took longer than they are given.",
        "Lower the concurrency with {slower} when the server is overloaded; else raise timeout_seconds of the"
        " environment and start a new run.",
    ),
    Cause.scorer: (
        "The answer is there, but scoring it failed.",
        "Mend the scorer and start a new run: with another scorer it is another environment. The answers are kept.",
    ),
    Cause.server: (
        "The server failed, or is overloaded.",
        "Pause until it is well again, then resume and retry. Lower the concurrency with {slower} if it stays so.",
    ),
    Cause.request: (
        "The server does not take the request.",
        "The reason is in the sample: most often the model's name, a parameter, or a prompt that is too long. Retrying"
        " the same request gives the same answer.",
    ),
    Cause.lost: (
        "The process that ran these attempts ended.",
        "Run them again with {retry}, or go on with {resume}.",
    ),
    Cause.agent: (
        "An exception from the agent or one of its tools.",
        "Mend the code. A runner keeps the code that it was started with: cancel the run, then {resume} goes on with"
        " what is missing.",
    ),
}
"""What happened, and what to do. Keys and commands are filled in where it is shown."""
