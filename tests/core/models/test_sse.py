"""Server-sent events, however the bytes are cut."""

import pytest

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
