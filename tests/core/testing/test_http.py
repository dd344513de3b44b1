"""HTTP as raw bytes: keep-alive, pipelining, chunks, and bytes that are no request."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollgrid.testing import SimulatedServer
from rollgrid.testing.http import MAX_HEAD, HttpError, RequestParser
from support.server import stats_when

BODY = json.dumps({"model": "m", "input": "ANS=41;"}).encode()


def post(body: bytes = BODY, path: str = "/p=1/v1/responses", *headers: str, version: str = "1.1") -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: x", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def wire(server: SimulatedServer) -> AsyncGenerator["Wire", None]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), headers

    async def reply(self) -> tuple[int, dict]:
        status, headers = await self.head()
        return status, json.loads(await self.reader.readexactly(int(headers["content-length"])))


async def value_of(wired: Wire) -> int:
    status, reply = await wired.reply()
    assert status == 200
    return json.loads(reply["output"][0]["content"][0]["text"])["value"]


async def test_one_connection_serves_many_requests(server: SimulatedServer):
    async with wire(server) as wired:
        for _ in range(5):
            wired.send(post())
            assert await value_of(wired) == 41
    assert server.stats()["connections"] == 1


async def test_pipelined_requests_are_answered_in_order(server: SimulatedServer):
    bodies = [json.dumps({"model": "m", "input": f"ANS={n};"}).encode() for n in range(2000)]
    async with wire(server) as wired:
        # The even ones are answered by a timer, the odd ones at once.
        wired.send(b"".join(post(body, f"/p=1,lat={(n + 1) % 2 * 0.01}/v1/responses") for n, body in enumerate(bodies)))
        assert [await value_of(wired) for _ in bodies] == list(range(2000))


async def test_a_request_may_follow_a_stream_on_the_same_connection(server: SimulatedServer):
    streamed = json.dumps({"model": "m", "input": "ANS=1;", "stream": True}).encode()
    async with wire(server) as wired:
        wired.send(post(streamed, "/p=1,slow=1/v1/responses") + post())
        status, headers = await wired.head()
        assert (status, headers["transfer-encoding"]) == (200, "chunked")
        events = await wired.reader.readuntil(b"\r\n0\r\n\r\n")
        assert b"response.completed" in events
        assert await value_of(wired) == 41


async def test_a_request_may_arrive_byte_by_byte(server: SimulatedServer):
    async with wire(server) as wired:
        for byte in post():
            wired.send(bytes([byte]))
            await asyncio.sleep(0)
        assert await value_of(wired) == 41


async def test_a_chunked_request_is_read(server: SimulatedServer):
    chunks = b"".join(
        b"%x;note=1\r\n%b\r\n" % (len(BODY[at : at + 7]), BODY[at : at + 7]) for at in range(0, len(BODY), 7)
    )
    head = b"POST /p=1/v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with wire(server) as wired:
        wired.send((head + chunks + b"0\r\n\r\n") + (head + chunks + b"0\r\nTrailer: x\r\n\r\n"))
        assert [await value_of(wired) for _ in range(2)] == [41, 41]


async def test_a_client_that_waits_for_permission_gets_it_once(server: SimulatedServer):
    whole = post(BODY, "/p=1/v1/responses", "Expect: 100-continue")
    head, body = whole[: -len(BODY)], whole[-len(BODY) :]
    async with wire(server) as wired:
        wired.send(head)
        assert await wired.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        wired.send(body[:5])
        await asyncio.sleep(0.01)
        wired.send(body[5:])
        assert await value_of(wired) == 41


async def test_connection_close_is_honoured(server: SimulatedServer):
    async with wire(server) as wired:
        wired.send(post(BODY, "/v1/responses", "Connection: close") + post())
        status, headers = await wired.head()
        assert (status, headers["connection"]) == (200, "close")
        rest = await wired.reader.read()
        assert len(rest) == int(headers["content-length"])


async def test_an_http_1_0_client_gets_a_stream_that_ends_with_the_connection(server: SimulatedServer):
    streamed = json.dumps({"model": "m", "input": "x", "stream": True}).encode()
    async with wire(server) as wired:
        wired.send(post(streamed, version="1.0"))
        _, headers = await wired.head()
        assert "transfer-encoding" not in headers
        assert (await wired.reader.read()).startswith(b"event: response.created\n")


async def test_head_of_models_has_the_length_and_no_body(server: SimulatedServer):
    async with wire(server) as wired:
        wired.send(b"HEAD /v1/models HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
        status, headers = await wired.head()
        assert status == 200
        again, reply = await wired.reply()
        assert again == 200
        assert len(json.dumps(reply, separators=(",", ":"))) == int(headers["content-length"])


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /nowhere", 404),
        ("POST /v1/embeddings", 404),
        ("GET /v1/responses", 405),
        ("DELETE /v1/models", 405),
        ("GET /reset", 405),
        ("POST /stats", 405),
    ],
)
async def test_what_is_not_served_is_refused_in_json_and_the_connection_lives_on(
    server, request_line: str, status: int
):
    async with wire(server) as wired:
        wired.send(f"{request_line} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + post())
        got, reply = await wired.reply()
        assert got == status
        assert reply["error"]["message"]
        assert await value_of(wired) == 41


async def test_stats_and_reset_are_routes(server: SimulatedServer):
    async with wire(server) as wired:
        wired.send(post() + b"GET /stats HTTP/1.1\r\nHost: x\r\n\r\n")
        await wired.reply()
        assert (await wired.reply())[1]["kinds"] == {"ok": 1}
        wired.send(b"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert (await wired.reply())[0] == 200
    assert server.stats()["requests"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"model": 1, "input": "x"}',
        b'{"model": "m", "input": 1}',
        b"[" * 100_000,
    ],
)
async def test_a_body_that_is_no_request_is_a_400_in_json(server: SimulatedServer, body: bytes):
    async with wire(server) as wired:
        wired.send(post(body) + post())
        status, reply = await wired.reply()
        assert (status, reply["error"]["type"]) == (400, "invalid_request_error")
        assert await value_of(wired) == 41
    assert server.stats()["kinds"] == {"bad request": 1, "ok": 1}


@pytest.mark.parametrize(
    "content", ["null", "[]", "[1, null]", '[{"role": "user"}]', '[{"role": "user", "content": 7}]']
)
@pytest.mark.parametrize("api", ["responses", "chat/completions"])
async def test_an_odd_history_is_answered_all_the_same(server: SimulatedServer, api: str, content: str):
    name = "input" if api == "responses" else "messages"
    async with wire(server) as wired:
        wired.send(post(f'{{"model": "m", "{name}": {content}, "tools": 3, "text": []}}'.encode(), f"/tool=1/v1/{api}"))
        assert (await wired.reply())[0] == (400 if content == "null" else 200)


async def test_lone_surrogates_and_huge_integers_come_back_as_they_went(server: SimulatedServer):
    asked = {"model": "m", "input": "\ud800", "instructions": "\udc80", "metadata": {"n": 10**30}}
    async with wire(server) as wired:
        wired.send(post(json.dumps(asked).encode()))
        status, reply = await wired.reply()
    assert (status, reply["instructions"], reply["metadata"]) == (200, "\udc80", {"n": 10**30})


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * MAX_HEAD + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * (MAX_HEAD + 1), 431),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2000, 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", 413),
    ],
)
async def test_bytes_that_are_no_request_are_answered_once_and_the_connection_ends(server, data: bytes, status: int):
    async with wire(server) as wired:
        wired.send(data)
        got, reply = await wired.reply()
        assert got == status
        assert reply["error"]["message"]
        assert await wired.reader.read() == b""
    assert server.stats()["requests"] == 0


async def test_half_a_request_and_an_early_goodbye_leave_nothing_behind(server: SimulatedServer):
    async with wire(server) as wired:
        wired.send(post()[:-3])
    async with wire(server) as wired:
        wired.send(post(path="/lat=60000/v1/responses"))
        await stats_when(server, lambda stats: stats["in_flight"] == 1)
    stats = await stats_when(server, lambda stats: stats["open_connections"] == 0)
    assert (stats["in_flight"], stats["max_in_flight"], stats["kinds"]) == (0, 1, {"gone": 1})


async def test_a_dropped_connection_is_reset(server: SimulatedServer):
    async with wire(server) as wired:
        wired.send(post(path="/drop=1/v1/responses"))
        with pytest.raises(ConnectionResetError):
            await wired.reader.read()


async def test_a_client_that_does_not_read_is_not_read_from_without_end(server: SimulatedServer):
    async with wire(server) as wired:
        flood = post(path="/pad=60000,p=1/v1/responses") * 500
        wired.send(flood)
        await stats_when(server, lambda stats: stats["requests"] >= 5)
        await asyncio.sleep(0.05)
        assert server.stats()["requests"] < 500
        assert [await value_of(wired) for _ in range(500)] == [41] * 500


async def test_closing_the_server_cuts_hung_clients_and_frees_the_port():
    async with SimulatedServer("hang=1") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(post(path="/v1/responses"))
        await stats_when(server, lambda stats: stats["in_flight"] == 1)
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    async with SimulatedServer(port=server.port) as again:
        assert again.port == server.port


@given(st.data())
def test_requests_are_the_same_however_the_bytes_are_cut(data: st.DataObject):
    chunked = b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0\r\n\r\n0\r\n\r\n"
    whole = post() + b"\r\n" + chunked + b"\r\nGET /y HTTP/1.1\r\nA: 1\r\nA: 2\r\n\r\n"
    # The second chunk is ten bytes long and looks like the end of the body.
    whole = whole.replace(b"a\r\n0\r\n\r\n0\r\n\r\n", b"a\r\n0\r\n\r\n.....\r\n0\r\n\r\n")
    parser, got, at = RequestParser(), [], 0
    while at < len(whole):
        size = data.draw(st.integers(1, 40))
        parser.feed(whole[at : at + size])
        at += size
        while (request := parser.next()) is not None:
            got.append((request.method, request.target, request.body))
    assert got == [
        ("POST", "/p=1/v1/responses", BODY),
        ("POST", "/x", b"abc0\r\n\r\n....."),
        ("GET", "/y", b""),
    ]


@given(st.binary(max_size=300))
def test_no_bytes_make_the_parser_raise_anything_but_its_own_error(data: bytes):
    parser = RequestParser()
    parser.feed(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + data)
    with suppress(HttpError):
        while parser.next() is not None:
            pass
