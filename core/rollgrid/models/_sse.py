"""Server-sent events, read as bytes."""

MOST_BYTES = 64 * 1024 * 1024
"""No event is longer than this. A server that sends on and on would take all memory, and every run with it."""


class EventTooLong(ValueError):
    """What came without an end is no event any more."""


class EventReader:
    """Cuts a byte stream into events. Nothing is decoded: most events are only looked at by name and dropped."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        """The beginning of an event, as it came: joined once, at its end, however many pieces there are."""
        self._size = 0
        self._held = b""

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The events that are complete now, as (name, data); the name is empty where the server gives none.

        Raises `EventTooLong`.
        """
        if self._held:
            chunk, self._held = self._held + chunk, b""
        if b"\r" in chunk:
            # A carriage return at the very end may be half of a line end.
            if chunk.endswith(b"\r"):
                chunk, self._held = chunk[:-1], b"\r"
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._rest and self._rest[-1].endswith(b"\n"):
            # The blank line that ends an event may be cut in two.
            self._rest[-1] = self._rest[-1][:-1]
            self._size -= 1
            chunk = b"\n" + chunk
        if b"\n\n" not in chunk:
            self._keep(chunk)
            return []
        first, *blocks = chunk.split(b"\n\n")
        blocks = [b"".join((*self._rest, first)), *blocks]
        self._rest, self._size = [], 0
        self._keep(blocks.pop())
        return [event for block in blocks if (event := _parse(block)) is not None]

    def finish(self) -> list[tuple[bytes, bytes]]:
        """What was left when the stream ended without the blank line that closes an event."""
        event = _parse(b"".join(self._rest))
        self._rest, self._size, self._held = [], 0, b""
        return [event] if event is not None else []

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._rest.append(piece)
            self._size += len(piece)
        if self._size > MOST_BYTES:
            raise EventTooLong(f"an event of more than {MOST_BYTES // 1024 // 1024} MB")


def _parse(block: bytes) -> tuple[bytes, bytes] | None:
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        if line.startswith(b"data:"):
            data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            name = line[6:].strip()
    return (name, b"\n".join(data)) if data else None
