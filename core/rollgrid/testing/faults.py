"""What goes wrong: which fault a request draws, and what each looks like on the wire."""

import math
import time
from email.utils import formatdate

from rollgrid.testing.draft import dumps
from rollgrid.testing.draws import unit
from rollgrid.testing.limits import Denied
from rollgrid.testing.spec import FAULTS, Spec

_BAD = "invalid_request_error"
_ERRORS: dict[str, tuple[int, str, str, str | None]] = {
    "e429": (429, "rate limit reached for requests", "requests", "rate_limit_exceeded"),
    "quota": (429, "the quota of this account is used up", "insufficient_quota", "insufficient_quota"),
    "e401": (401, "incorrect API key provided", _BAD, "invalid_api_key"),
    "e403": (403, "this project has no access to the model", _BAD, "model_access_denied"),
    "e404": (404, "the model '{model}' does not exist or you have no access to it", _BAD, "model_not_found"),
    "e400": (400, "the request was rejected as invalid", _BAD, "invalid_value"),
    "e500": (500, "the server had an error while it processed the request", "server_error", None),
    "outage": (503, "the service is down, try again later", "server_error", None),
}

STATUSES = frozenset(_ERRORS)
"""The faults that are a plain error status."""


def is_faulty(spec: Spec) -> bool:
    return any(getattr(spec, name) for name in FAULTS)


def draw_fault(spec: Spec, request: int, draw: int) -> str | None:
    """The fault of the `request`-th request (from 1), which is the `draw`-th to draw (from 0)."""
    if request <= spec.since or (spec.upto and request > spec.upto):
        return None
    x = unit("fault", spec.seed, draw)
    for name in FAULTS:
        share: float = getattr(spec, name)
        if x < share:
            return name
        x -= share
    return None


def certain_fault(spec: Spec) -> str | None:
    """The error status that every request gets, whatever is drawn."""
    return next((name for name in FAULTS if getattr(spec, name) == 1 and name in STATUSES), None)


def error_body(message: str, kind: str = _BAD, code: str | None = None, param: str | None = None) -> bytes:
    return dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def error_of(fault: str, model: str = "") -> tuple[int, bytes]:
    """Status and body of a fault in `STATUSES`."""
    status, message, kind, code = _ERRORS[fault]
    return status, error_body(message.replace("{model}", model), kind, code)


def denied_body(denied: Denied) -> bytes:
    when = "it can never fit" if denied.wait is None else f"try again in {denied.wait:.3f} s"
    message = f"rate limit reached: {denied.limit} {denied.what} per minute; {when}"
    return error_body(message, denied.what, "rate_limit_exceeded")


def retry_after(wish: str) -> list[tuple[str, str]]:
    """The header that the spec's `ra` asks for."""
    if wish == "none":
        return []
    if wish.startswith("date"):
        seconds = float(wish.partition(":")[2] or 1)
        return [("Retry-After", formatdate(time.time() + seconds, usegmt=True))]
    if wish.endswith("ms"):
        return [("retry-after-ms", wish.removesuffix("ms") or "1000")]
    return [("Retry-After", wish)]


def retry_after_denied(denied: Denied, wish: str) -> list[tuple[str, str]]:
    """The true waiting time, unless the spec wants none told."""
    if denied.wait is None or wish == "none":
        return []
    return [
        ("Retry-After", str(max(1, math.ceil(denied.wait)))),
        ("retry-after-ms", str(int(denied.wait * 1000) + 1)),
    ]
