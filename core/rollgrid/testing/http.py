"""As much of HTTP/1.1 as a server of small JSON requests needs: an incremental parser and response heads."""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class HttpError(Exception):
    """The bytes are no request that can be served; the connection ends after `status` was sent."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(slots=True)
class Request:
    """A whole request. Names of headers are in lower case, repeated ones are joined by a comma."""

    method: str
    target: str
    version: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def keep_alive(self) -> bool:
        wish = self.headers.get("connection", "").lower()
        return "close" not in wish if self.version == "HTTP/1.1" else "keep-alive" in wish


class RequestParser:
    """Cuts a byte stream into requests. `feed` what arrives, then take requests with `next` until it gives None."""

    __slots__ = ("_body", "_buffer", "_head", "_need", "_seen", "wants_continue")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: Request | None = None
        self._need: int | None = None  # None: the body comes in chunks
        self._body = bytearray()
        self._seen = 0
        self.wants_continue = False
        """The client waits for `100 Continue` before it sends the body; whoever answers it clears this."""

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Request | None:
        """The next whole request, or None until more bytes come. Raises `HttpError`."""
        if self._head is None and not self._read_head():
            return None
        request = self._head
        assert request is not None
        if self._need is None:
            if not self._read_chunks():
                return None
            request.body = bytes(self._body)
            self._body.clear()
        else:
            if len(self._buffer) < self._need:
                return None
            if self._need:
                request.body = bytes(self._buffer[: self._need])
                del self._buffer[: self._need]
        self._head = None
        self.wants_continue = False
        return request

    def _read_head(self) -> bool:
        buffer = self._buffer
        while buffer.startswith(b"\r\n"):  # some clients send an empty line between requests
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", max(0, self._seen - 3))
        if end < 0:
            self._seen = len(buffer)
            if self._seen > MAX_HEAD:
                raise HttpError(431, "the request head is too large")
            return False
        if end > MAX_HEAD:
            raise HttpError(431, "the request head is too large")
        lines = buffer[:end].decode("latin-1").split("\r\n")
        del buffer[: end + 4]
        self._seen = 0
        self._head = _request_of(lines)
        self._need = _length_of(self._head)
        if self._need is not None and self._need > MAX_BODY:
            raise HttpError(413, "the request body is too large")
        self.wants_continue = self._head.headers.get("expect", "").lower() == "100-continue"
        return True

    def _read_chunks(self) -> bool:
        buffer = self._buffer
        while True:
            end = buffer.find(b"\r\n")
            if end < 0:
                if len(buffer) > 1024:
                    raise HttpError(400, "a chunk has no size")
                return False
            size = _hex(bytes(buffer[:end].partition(b";")[0]).strip())
            if size == 0:
                return self._read_trailers(end)
            if len(self._body) + size > MAX_BODY:
                raise HttpError(413, "the request body is too large")
            stop = end + 2 + size
            if len(buffer) < stop + 2:
                return False
            if not buffer.startswith(b"\r\n", stop):
                raise HttpError(400, "a chunk is longer than it says")
            self._body += buffer[end + 2 : stop]
            del buffer[: stop + 2]

    def _read_trailers(self, end: int) -> bool:
        if self._buffer.startswith(b"\r\n", end + 2):
            stop = end + 4
        else:
            found = self._buffer.find(b"\r\n\r\n", end)
            if found < 0:
                if len(self._buffer) > MAX_HEAD:
                    raise HttpError(431, "the trailers are too large")
                return False
            stop = found + 4
        del self._buffer[:stop]
        return True


def _request_of(lines: list[str]) -> Request:
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[1] or not parts[0] or not _TOKEN.issuperset(parts[0]):
        raise HttpError(400, "the request line is malformed")
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise HttpError(505 if version.startswith("HTTP/") else 400, "only HTTP/1.1 is spoken here")
    if "://" in target.partition("/")[0] + "//" and target.startswith(("http://", "https://")):
        target = "/" + target.split("://", 1)[1].partition("/")[2]
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or not _TOKEN.issuperset(name):
            raise HttpError(400, "a header is malformed")
        name, value = name.lower(), value.strip()
        if name in headers:
            if name == "content-length" and headers[name] != value:
                raise HttpError(400, "two lengths are given for one body")
            headers[name] = value if name == "content-length" else f"{headers[name]}, {value}"
        else:
            headers[name] = value
    return Request(method, target, version, headers)


def _length_of(request: Request) -> int | None:
    """The length of the body, None for a chunked one."""
    coding = request.headers.get("transfer-encoding")
    length = request.headers.get("content-length")
    if coding is not None:
        if length is not None:
            raise HttpError(400, "a body has either a length or chunks")
        if coding.lower() != "chunked":
            raise HttpError(501, "the only transfer coding spoken here is chunked")
        return None
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit()):
        raise HttpError(400, "Content-Length is no number")
    if len(length) > 18:
        raise HttpError(413, "the request body is too large")
    return int(length)


def _hex(text: bytes) -> int:
    if not text or len(text) > 15 or text.strip(b"0123456789abcdefABCDEF"):
        raise HttpError(400, "a chunk has no size")
    return int(text, 16)


_REASONS = {status.value: status.phrase for status in HTTPStatus}


def head(status: int, content_type: str, length: int | None, extra: Iterable[tuple[str, str]], *, close: bool) -> bytes:
    """The head of a response. `length` None means chunks, or until the connection closes when `close` is set."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}", f"Content-Type: {content_type}"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    elif not close:
        lines.append("Transfer-Encoding: chunked")
    if close:
        lines.append("Connection: close")
    lines.extend(f"{name}: {value}" for name, value in extra)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
