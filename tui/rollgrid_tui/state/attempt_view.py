"""An attempt's evidence as a flat list of blocks, in the order in which things happened.

Blocks hold the raw text of the transcript. They are cleaned and laid out when they are shown, see `layout`.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from rollgrid.store.rows import AttemptRow
from rollgrid_tui.state import show
from rollgrid_tui.state.figures import cell_of


class Kind(StrEnum):
    """How a block looks. A heading starts a section; the others belong to the heading before them."""

    heading = "heading"
    text = "text"
    quiet = "quiet"
    code = "code"
    good = "good"
    bad = "bad"
    warn = "warn"
    gap = "gap"


@dataclass(slots=True)
class Block:
    """`note` stands behind a heading, muted. Lines that had to be wrapped go on `hang` columns further in."""

    kind: Kind
    text: str = ""
    note: str = ""
    indent: int = 0
    hang: int = 0


JsonDict = Mapping[str, Any]
BODY = 2
"""Columns that a section's content is set in from its heading."""


def attempt_blocks(
    row: AttemptRow | None,
    transcript: JsonDict | None,
    *,
    live: bool = False,
    prompt: str = "",
    expected: Any = None,
) -> list[Block]:
    """Everything that is known of an attempt: what was said and done, then the verdict, the error, usage and timing.

    `transcript` is a stored body, or the snapshot of a running attempt; None when there is none. `prompt` stands in for
    a conversation that has not begun.
    """
    talk = conversation(transcript)
    if not talk and prompt:
        talk = section("user", Block(Kind.text, prompt, indent=BODY))
    if row is None:
        return [*talk, *expected_blocks(expected)]
    return [*talk, *verdict(row, transcript), *expected_blocks(expected), *figures(row, transcript, live=live)]


def pane_blocks(row: AttemptRow | None, transcript: JsonDict | None, prompt: str = "") -> list[Block]:
    """The attempt in brief: verdict first, then what was said without the system prompt."""
    talk = conversation(transcript, system=False)
    if not talk and prompt:
        talk = section("user", Block(Kind.text, prompt, indent=BODY))
    return [*verdict(row, transcript, brief=True), *talk]


def expected_blocks(expected: Any) -> list[Block]:
    return [] if expected is None else section("expected", Block(Kind.quiet, _pretty(expected), indent=BODY))


# -- what was said and done


def conversation(transcript: JsonDict | None, *, system: bool = True) -> list[Block]:
    if transcript is None:
        return []
    blocks: list[Block] = []
    executions = {t["tool_call_id"]: t for t in _dicts(transcript.get("tools")) if t.get("tool_call_id")}
    shown: set[str] = set()
    reasoned = False
    messages = _dicts(transcript.get("messages"))
    for message in messages:
        role = _text(message.get("role")) or "message"
        if not system and role in {"system", "developer"}:
            continue
        if message.get("reasoning"):
            reasoned = True
            blocks += section("reasoning", Block(Kind.quiet, _text(message["reasoning"]), indent=BODY))
        if role == "tool":
            blocks += _tool_message(message, executions, shown)
            continue
        content = _text(message.get("content"))
        calls = _dicts(message.get("tool_calls"))
        if content or not calls:
            kind = Kind.quiet if role in {"system", "developer"} else Kind.text
            body = Block(kind, content, indent=BODY) if content else Block(Kind.quiet, "(empty)", indent=BODY)
            blocks += section(role, body)
        for call in calls:
            blocks += _call(call)
    if not messages and transcript.get("input"):
        blocks += section("user", Block(Kind.text, _text(transcript["input"]), indent=BODY))
    if transcript.get("reasoning") and not reasoned:
        blocks += section("reasoning", Block(Kind.quiet, _text(transcript["reasoning"]), indent=BODY))
    for execution in _dicts(transcript.get("tools")):
        if execution.get("tool_call_id") not in shown:
            blocks += _execution(execution)
    if transcript.get("partial_text"):
        blocks += section(
            "assistant", Block(Kind.text, _text(transcript["partial_text"]), indent=BODY), note="not finished"
        )
    elif not any(message.get("role") == "assistant" for message in messages):
        answer = transcript.get("raw_text") or transcript.get("content")
        if answer:
            blocks += section("assistant", Block(Kind.text, _text(answer), indent=BODY))
    return blocks


def section(title: str, *body: Block, note: str = "") -> list[Block]:
    return [Block(Kind.heading, title, note), *body, Block(Kind.gap)]


def _call(call: JsonDict) -> list[Block]:
    function = call.get("function")
    inner: JsonDict = cast("JsonDict", function) if isinstance(function, dict) else call
    name = _text(inner.get("name")) or "?"
    return section("tool call", Block(Kind.code, _pretty(inner.get("arguments")), indent=BODY), note=name)


def _tool_message(message: JsonDict, executions: Mapping[str, JsonDict], shown: set[str]) -> list[Block]:
    call_id = _text(message.get("tool_call_id"))
    execution = executions.get(call_id, {})
    if call_id in executions:
        shown.add(call_id)
    failed = bool(message.get("tool_call_error") or execution.get("tool_call_error"))
    name = _text(message.get("name") or execution.get("tool_name")) or "?"
    body = _text(message.get("content") if message.get("content") is not None else execution.get("result"))
    return _result(name, body, failed, execution.get("duration"))


def _execution(execution: JsonDict) -> list[Block]:
    name = _text(execution.get("tool_name")) or "?"
    call = section("tool call", Block(Kind.code, _pretty(execution.get("tool_args")), indent=BODY), note=name)
    if execution.get("is_paused"):
        return [*call, *section("tool result", Block(Kind.warn, "paused: it was not carried out", indent=BODY))]
    failed = bool(execution.get("tool_call_error"))
    return [*call, *_result(name, _text(execution.get("result")), failed, execution.get("duration"))]


def _result(name: str, body: str, failed: bool, duration: Any) -> list[Block]:
    took = f"  {show.seconds(float(duration))}" if isinstance(duration, int | float) else ""
    title = "tool error" if failed else "tool result"
    kind = Kind.bad if failed else Kind.text
    return section(title, Block(kind, body or "(empty)", indent=BODY), note=f"{name}{took}")


# -- what it came to


def verdict(row: AttemptRow | None, transcript: JsonDict | None, *, brief: bool = False) -> list[Block]:
    """Score, problem, error. In `brief` only what the line that says passed or failed does not say already."""
    blocks: list[Block] = []
    score = _dict(transcript.get("score")) if transcript is not None else {}
    passed = score.get("passed") if score else (row.passed if row else None)
    if passed is not None:
        value = score.get("value", row.value if row else None)
        reason = _text(score.get("reason") or (row.reason if row else None))
        figure = f"  {float(value):.2f}" if isinstance(value, int | float) else ""
        word = Block(Kind.good if passed else Kind.bad, f"{'passed' if passed else 'failed'}{figure}", indent=BODY)
        body = [] if brief else [word]
        if reason:
            body.append(Block(Kind.text, reason, indent=BODY))
        if score.get("detail") and not brief:
            body.append(Block(Kind.quiet, _pretty(score["detail"]), indent=BODY))
        if body:
            blocks += section("score", *body)
    problem = _text(transcript.get("problem")) if transcript is not None else ""
    if problem and transcript is not None:
        detail = _text(transcript.get("problem_detail"))
        blocks += section("answer", Block(Kind.warn, f"{problem}: {detail}" if detail else problem, indent=BODY))
    if row is not None and row.error:
        status = f"HTTP {row.status}" if row.status else ""
        note = "  ".join(part for part in (row.error_type, status) if part)
        blocks += section("error", Block(Kind.bad, row.error, indent=BODY), note=note)
    if row is not None and row.superseded:
        why = SUPERSEDED.get(row.superseded, row.superseded)
        blocks += section("superseded", Block(Kind.quiet, f"{why}; it does not count", indent=BODY))
    return blocks


SUPERSEDED = {
    "storm": "it failed in an error storm and is run again",
    "resume": "the run was resumed and ran it again",
    "retry": "it was run again on request",
    "late": "its result came after the attempt had ended",
}


def figures(row: AttemptRow | None, transcript: JsonDict | None, *, live: bool) -> list[Block]:
    metrics = _dict(transcript.get("metrics")) if transcript is not None else {}
    pairs: list[tuple[str, str]] = []
    if row is not None:
        pairs.append(("outcome", outcome(row, live=live)))
        pairs.append(("time", show.seconds(row.duration_seconds)))
    if metrics.get("time_to_first_token") is not None:
        pairs.append(("first token", show.seconds(float(metrics["time_to_first_token"]))))
    tokens_in = _int(metrics.get("input_tokens")) or (row.input_tokens if row else 0)
    tokens_out = _int(metrics.get("output_tokens")) or (row.output_tokens if row else 0)
    extra = [f"{_int(metrics.get(f'{name}_tokens'))} {name}" for name in ("cached", "reasoning")]
    extra = [text for text in extra if not text.startswith("0 ")]
    pairs.append(("tokens", f"{tokens_in} in, {tokens_out} out" + "".join(f", {text}" for text in extra)))
    cost = row.cost if row is not None else metrics.get("cost")
    if cost is not None:
        pairs.append(("cost", show.cost(float(cost))))
    if metrics.get("model_calls"):
        pairs.append(("model calls", str(metrics["model_calls"])))
    if row is not None and row.retries:
        pairs.append(("retries", str(row.retries)))
    if transcript is not None and transcript.get("model"):
        pairs.append(("model", _text(transcript["model"])))
    if transcript is not None and transcript.get("tool_call_limit_hit"):
        pairs.append(("tool calls", "the limit was hit"))
    width = max(len(name) for name, _ in pairs)
    return section("figures", *(Block(Kind.quiet, f"{name:<{width}}  {text}", indent=BODY) for name, text in pairs))


def outcome(row: AttemptRow, *, live: bool, now: float | None = None) -> str:
    """The attempt's state in words, with what a running one is doing at `now` (seconds since the epoch)."""
    cell = cell_of(row, live=live)
    if row.phase == "ended" or row.superseded is not None:
        return cell.value
    if not live:
        return "lost: the runner ended while it was running"
    doing = {
        "model": "waiting for the model",
        "tool": f"running the tool {row.detail}" if row.detail else "running a tool",
        "scoring": "being scored",
        "retrying": _retrying(row, time.time() if now is None else now),
        "waiting": f"held back: {row.detail}" if row.detail else "held back",
    }
    return doing.get(row.phase, row.phase)


def _retrying(row: AttemptRow, now: float) -> str:
    """`retrying in 12 s (3/5, 429)`; the reason where there is no status."""
    count, comma, reason = (row.detail or "").partition(", ")
    if row.retry_at is None or not comma or "/" not in count:
        return f"retrying: {row.detail}" if row.detail else "retrying"
    wait = max(0.0, row.retry_at - now)
    return f"retrying in {wait:.0f} s ({count}, {row.status or reason})"


# -- values of any shape as text


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _dicts(value: Any) -> Sequence[dict[str, Any]]:
    return list(_only_dicts(cast("Sequence[Any]", value))) if isinstance(value, list | tuple) else []


def _only_dicts(values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    return (cast("dict[str, Any]", value) for value in values if isinstance(value, dict))


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _pretty(value)


def _pretty(value: Any) -> str:
    """JSON on several lines; a string that holds JSON is opened up, any other shows as it is."""
    if isinstance(value, str):
        if len(value) > 100_000 or value[:1] not in {"{", "["}:
            return value
        try:
            value = json.loads(value)
        except ValueError:
            return value
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


__all__ = ["Block", "Kind", "attempt_blocks", "conversation", "outcome", "pane_blocks", "section", "verdict"]
