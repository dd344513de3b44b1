"""What makes two errors the same error."""

import re

_PATTERNS = (
    (re.compile(r"https?://\S+"), "<url>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b(?:req|resp|chatcmpl|msg|call|run|org|proj)[-_][A-Za-z0-9_-]{6,}"), "<id>"),
    (re.compile(r"0x[0-9a-f]+", re.I), "<hex>"),
    (re.compile(r"\b[0-9a-f]{12,}\b", re.I), "<hex>"),
    (re.compile(r"(?<![A-Za-z_])[+-]?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?"), "<n>"),
    (re.compile(r"\s+"), " "),
)

_LIMIT = 160


def normalise(message: str) -> str:
    """The message with what changes from call to call (numbers, ids, addresses) replaced by placeholders."""
    text = message[:2000]
    for pattern, placeholder in _PATTERNS:
        text = pattern.sub(placeholder, text)
    return text.strip()[:_LIMIT]


def error_signature(error_type: str, status: int | None, message: str) -> str:
    """`Type 429: message`, equal for errors of one cause."""
    head = error_type if status is None else f"{error_type} {status}"
    return f"{head}: {normalise(message)}"
