"""Server-sent events, however the bytes are cut."""

import pytest

from rollgrid.models import _sse
from rollgrid.models._sse import EventReader

STREAM = (
    'event: a\ndata: {"x": "ä"}\n\n: keep alive\n\ndata:no space\ndata: second line\n\nevent: b\nid: 7\ndata: 2\n\n'
).encode()
EVENTS = [(b"a", '{"x": "ä"}'.encode()), (b"", b"no space\nsecond line"), (b"b", b"2")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_the_stream_is_cut(size: int, end: bytes):
    data = STREAM.replace(b"\n", end)
    reader = EventReader()
    found = [event for start in range(0, len(data), size) for event in reader.feed(data[start : start + size])]
    found += reader.finish()
    assert found == EVENTS


def test_events_come_as_soon_as_they_are_complete():
    reader = EventReader()
    assert reader.feed(b"data: 1\n") == []
    assert reader.feed(b"\ndata: 2") == [(b"", b"1")]
    assert reader.finish() == [(b"", b"2")]
    assert reader.finish() == []


@pytest.mark.parametrize(
    ("piece", "events"), [(b"x" * 1000, [b"end"]), (b"data: x\n", [b"\n".join([b"x"] * 1000), b"end"])]
)
def test_a_long_event_is_put_together_once(piece: bytes, events: list[bytes]):
    """What is kept of an event that has not ended is the pieces: none of them grows with those that came before."""
    reader = EventReader()
    for _ in range(1000):
        reader.feed(piece)
    assert max(map(len, reader._rest)) <= len(piece) + 1
    assert [data for _, data in reader.feed(b"\ndata: end\n\n")] == events


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_sse, "MOST_BYTES", 10_000)
    reader = EventReader()
    reader.feed(b"data: " + b"x" * 9_000)
    with pytest.raises(_sse.EventTooLong):
        reader.feed(b"x" * 2_000)


def test_events_that_end_are_not_counted_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_sse, "MOST_BYTES", 1_000)
    reader = EventReader()
    for _ in range(100):
        assert len(reader.feed(b"data: " + b"x" * 300 + b"\n")) == 0
        assert len(reader.feed(b"\n")) == 1
