"""Numbers that look random and are the same every time: hashes of what they are about."""

from hashlib import blake2b


def unit(*parts: str | int) -> float:
    """A number in [0, 1) that depends on `parts` and nothing else; evenly spread over different parts."""
    text = "\x1f".join(str(part) for part in parts)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def key_of(text: str) -> str:
    """A short stand-in for a long text, fit to be counted by."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def rate_at(position: float) -> float:
    """The pass rate of a task at `position` in [0, 1), easiest first.

    The first 30 % of tasks always pass, the last 20 % never do, and those between fall from 0.85 to 0.15, so that a
    grid shows all zones.
    """
    if position < 0.3:
        return 1.0
    if position >= 0.8:
        return 0.0
    return 0.85 - 0.7 * (position - 0.3) / 0.5
