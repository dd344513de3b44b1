"""An attempt's transcript and figures as the log can hold them, whatever an agent has put there.

Agents, tools and scorers are the user's own. What they leave that cannot be written (an object without a JSON form, a
state that holds itself, a text that cannot be made, a count that is no number) costs neither the attempt nor the run.
"""

import copy
import math
from typing import Any

from rollgrid.agent.run import Metrics, RunOutput

_MOST = 2**53
"""No count beyond this is one of tokens, and beyond it a float, which some readers take, is no exact number."""

_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "retries")
_AMOUNTS = ("cost", "time_to_first_token")


def transcript_of(run: RunOutput | None) -> dict[str, Any]:
    """What is stored as the attempt's body. Never raises: a part that JSON cannot hold is kept as its `repr`."""
    if run is None:
        return {}
    try:
        return run.to_dict()
    except Exception:  # noqa: BLE001 - whatever the user's objects raise when they are looked at
        return _without_odd_parts(run)


def in_words(value: Any) -> str:
    """The `repr`, and for an object that refuses even that, the name of its type."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a `__repr__` of the user's own may raise anything
        return f"<{type(value).__name__}: repr raised {type(error).__name__}>"


def put_right(metrics: Metrics) -> None:
    """Take out what is no figure: a count that is no whole number from 0 on, an amount that is not finite."""
    for name in _COUNTS:
        setattr(metrics, name, _count(getattr(metrics, name)))
    for name in _AMOUNTS:
        setattr(metrics, name, _amount(getattr(metrics, name)))


def _without_odd_parts(run: RunOutput) -> dict[str, Any]:
    plain = copy.copy(run)
    plain.content = plain.session_state = None
    try:
        kept = plain.to_dict()
    except Exception:  # noqa: BLE001 - as above; of such a run the log keeps what the attempt's end says
        return {"status": run.status.value}
    for name in ("content", "session_state"):
        value = getattr(run, name)
        if value is not None:
            kept[name] = _alone(name, value)
    if run.content is not None:
        kept["content_type"] = type(run.content).__name__
    return kept


def _alone(name: str, value: Any) -> Any:
    """This one part of a transcript, or its `repr`."""
    try:
        return RunOutput(**{name: value}).to_dict()[name]
    except Exception:  # noqa: BLE001 - as above
        return in_words(value)


def _count(value: Any) -> int:
    is_whole = isinstance(value, int | float) and math.isfinite(value) and value == int(value)
    return int(value) if is_whole and 0 <= value <= _MOST else 0


def _amount(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < float("inf") else None
