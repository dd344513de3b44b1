"""Server-sent events, read as bytes."""


class EventReader:
    """Cuts a byte stream into events. Nothing is decoded: most events are only looked at by name and dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._held = b""

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The events that are complete now, as (name, data); the name is empty where the server gives none."""
        if self._held:
            chunk, self._held = self._held + chunk, b""
        if b"\r" in chunk:
            # A carriage return at the very end may be half of a line end.
            if chunk.endswith(b"\r"):
                chunk, self._held = chunk[:-1], b"\r"
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, self._rest = (self._rest + chunk if self._rest else chunk).split(b"\n\n")
        return [event for block in blocks if (event := _parse(block)) is not None]

    def finish(self) -> list[tuple[bytes, bytes]]:
        """What was left when the stream ended without the blank line that closes an event."""
        event = _parse(self._rest)
        self._rest = self._held = b""
        return [event] if event is not None else []


def _parse(block: bytes) -> tuple[bytes, bytes] | None:
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        if line.startswith(b"data:"):
            data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            name = line[6:].strip()
    return (name, b"\n".join(data)) if data else None
