"""One connection: bytes to requests, replies to bytes, timers between them."""

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import cast

from rollgrid.testing.backend import JSON_TYPE, Backend, Pending, Reply
from rollgrid.testing.faults import error_body
from rollgrid.testing.http import HttpError, Request, RequestParser, head

_READ_AHEAD = 1024 * 1024
_LINGER_SECONDS = 1.0


class Connection(asyncio.Protocol):
    """Serves requests strictly one after another, in the order they came; what is pipelined waits in the parser."""

    __slots__ = (
        "_backend",
        "_closing",
        "_flying",
        "_hung",
        "_loop",
        "_parser",
        "_peers",
        "_reading",
        "_request",
        "_stream",
        "_timer",
        "_transport",
        "_writable",
    )

    def __init__(self, backend: Backend, peers: "set[Connection]", loop: asyncio.AbstractEventLoop) -> None:
        self._backend = backend
        self._peers = peers
        self._loop = loop
        self._parser = RequestParser()
        self._transport: asyncio.Transport | None = None
        self._request: Request | None = None  # the one being served
        self._flying = False  # it is counted as in flight
        self._hung = False
        self._timer: asyncio.TimerHandle | None = None
        self._stream: _Stream | None = None
        self._reading = True
        self._writable = True
        self._closing = False

    # -- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._peers.add(self)
        self._backend.connections += 1
        self._backend.open_connections += 1
        if self._backend.closed:  # it was accepted while the server was closing
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._peers.discard(self)
        self._backend.open_connections -= 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._flying:
            self._flying = False
            self._backend.in_flight -= 1
            if not self._hung:
                self._backend.kinds["gone"] += 1
        self._request = None
        self._stream = None

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._parser.feed(data)
        if self._request is None:
            self._advance()
        elif self._reading and self._parser.buffered > _READ_AHEAD and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        if self._request is None:
            self._advance()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- requests

    def _advance(self) -> None:
        """Serve what is whole. A loop, since a pipelined burst answered by recursion would end at the stack's limit."""
        while self._request is None and self._writable and not self._closing and self._transport is not None:
            try:
                request = self._parser.next()
            except HttpError as error:
                self._refuse(error)
                return
            if request is None:
                if self._parser.wants_continue:
                    self._parser.wants_continue = False
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                if not self._reading:
                    self._reading = True
                    self._transport.resume_reading()
                return
            self._request = request
            plan = self._backend.handle(request)
            if isinstance(plan, Reply):
                self._send(plan)
                continue
            self._take_off()
            if plan.delay > 0:
                self._timer = self._loop.call_later(plan.delay, self._due, plan)
            else:
                self._send(plan.make())

    def _due(self, plan: Pending) -> None:
        self._timer = None
        self._send(plan.make())
        if self._request is None:
            self._advance()

    def _take_off(self) -> None:
        backend = self._backend
        self._flying = True
        backend.in_flight += 1
        backend.max_in_flight = max(backend.max_in_flight, backend.in_flight)

    # -- replies

    def _send(self, reply: Reply) -> None:
        transport, request = self._transport, self._request
        assert transport is not None
        assert request is not None
        if reply.ending == "hang":
            self._hung = True  # in flight until the client goes away
            self._backend.kinds[reply.kind] += 1
        elif reply.ending == "drop":
            self._finish(reply.kind)
            # Without lingering the kernel sends a reset, not an orderly end.
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif reply.events is not None:
            self._start_stream(reply, reply.events, request)
        else:
            cut = reply.ending == "cut"
            keep = request.keep_alive and not cut
            body = reply.body[: len(reply.body) // 2] if cut else reply.body
            lead = head(reply.status, reply.content_type, len(reply.body), reply.headers, close=not keep)
            self._write(lead if request.method == "HEAD" else lead + body)
            self._finish(reply.kind, close=not keep)

    def _start_stream(self, reply: Reply, events: list[bytes], request: Request) -> None:
        chunked = request.version == "HTTP/1.1"
        keep = request.keep_alive and chunked
        headers = [*reply.headers, ("Connection", "close")] if chunked and not keep else reply.headers
        lead = head(200, reply.content_type, None, headers, close=not chunked)
        whole = reply.ending == "whole"
        stream = _Stream(reply.kind, events[::-1], reply.gap, chunked, whole, close=not (keep and whole))
        if reply.gap > 0:
            self._stream = stream
            self._write(lead)
            self._stream_on(stream)
            return
        body = b"".join(events)
        self._write(lead + (stream.framed(body) if body else b"") + stream.end)
        self._finish(reply.kind, close=stream.close)

    def _stream_on(self, stream: "_Stream") -> None:
        """Send the next event now and the one after it when the gap has passed."""
        self._timer = None
        if stream.events:
            self._write(stream.framed(stream.events.pop()))
        if stream.events:
            self._timer = self._loop.call_later(stream.gap, self._stream_on, stream)
            return
        self._write(stream.end)
        self._stream = None
        self._finish(stream.kind, close=stream.close)
        self._advance()

    def _finish(self, kind: str, *, close: bool = False) -> None:
        self._request = None
        if self._flying:
            self._flying = False
            self._backend.in_flight -= 1
            self._backend.kinds[kind] += 1
        if close and self._transport is not None:
            self._closing = True
            self._transport.close()

    def _refuse(self, error: HttpError) -> None:
        """Say what is wrong with the bytes, then end the connection.

        What the client is still sending is read and dropped for a moment: closing at once would reset the connection,
        and the client would never see the answer.
        """
        assert self._transport is not None
        body = error_body(error.message)
        self._write(head(error.status, JSON_TYPE, len(body), (), close=True) + body)
        self._closing = True
        self._transport.write_eof()
        self._timer = self._loop.call_later(_LINGER_SECONDS, self.abort)

    def _write(self, data: bytes) -> None:
        if self._transport is not None and data:
            self._backend.bytes_out += len(data)
            self._transport.write(data)


@dataclass(slots=True)
class _Stream:
    """A stream under way; `events` are those still to be sent, last one first."""

    kind: str
    events: list[bytes]
    gap: float
    chunked: bool
    whole: bool
    close: bool

    def framed(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data

    @property
    def end(self) -> bytes:
        return b"0\r\n\r\n" if self.chunked and self.whole else b""
