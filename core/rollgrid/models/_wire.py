"""One request over the openai client, its answer read as bytes.

The client does what it is good for: addresses, authentication, headers, proxies, connections. Its own parsing costs
more than all of that together, so answers are taken raw and parsed here.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

import orjson

from rollgrid.errors import ModelError
from rollgrid.models import _errors
from rollgrid.models._sse import EventReader, EventTooLong

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OnHeaders = Callable[[Mapping[str, str]], None] | None

AFTER_THE_END_SECONDS = 2.0
"""How long a stream may stay open after its last event before its connection is given up."""


class EventSink(Protocol):
    """What takes the events of a stream."""

    def on_event(self, name: bytes, data: bytes) -> bool:
        """Take one event; True when it was the last."""
        ...

    def is_complete(self) -> bool:
        """Whether what has arrived is a whole answer, though the last event may be missing."""
        ...


async def post(
    client: "AsyncOpenAI", path: str, body: dict[str, Any], options: Mapping[str, Any], on_headers: OnHeaders = None
) -> Mapping[str, Any]:
    """Send and return the JSON object that came back. Raises `ModelError`."""
    import httpx2

    response: Any = await _send(client, path, body, options, on_headers, cast_to=httpx2.Response)
    return loads(response.content)


async def post_streaming(
    client: "AsyncOpenAI",
    path: str,
    body: dict[str, Any],
    options: Mapping[str, Any],
    sink: EventSink,
    on_headers: OnHeaders = None,
) -> Mapping[str, Any] | None:
    """Send and give each event to `sink` as it arrives, until it has seen the last one.

    Returns None; or, from a server that answered with plain JSON instead of a stream, that object. Raises `ModelError`,
    also when the stream ends before the answer does.
    """
    import httpx2
    import openai

    response: Any = await _send(
        client,
        path,
        body,
        options,
        on_headers,
        cast_to=httpx2.Response,
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )
    try:
        if "json" in response.headers.get("content-type", ""):
            return loads(await response.aread())
        await _read(response, sink)
    except ModelError:
        raise
    except EventTooLong as error:
        raise _errors.too_long(str(error)) from error
    except Exception as error:
        raise _errors.from_exception(error) from error
    finally:
        await response.aclose()
    return None


async def _read(response: Any, sink: EventSink) -> None:
    reader = EventReader()
    chunks = response.aiter_bytes()
    async for chunk in chunks:
        for name, data in reader.feed(chunk):
            if sink.on_event(name, data):
                # A connection is used again only when its answer was read to the end.
                with suppress(TimeoutError):
                    async with asyncio.timeout(AFTER_THE_END_SECONDS):
                        async for _ in chunks:
                            pass
                return
    for name, data in reader.finish():
        if sink.on_event(name, data):
            return
    if not sink.is_complete():
        raise _errors.protocol("the stream ended before the answer did")


async def _send(
    client: "AsyncOpenAI",
    path: str,
    body: dict[str, Any],
    options: Mapping[str, Any],
    on_headers: OnHeaders,
    **how: Any,
) -> Any:
    import openai

    # Azure and other subclasses look into the body to find the address; for them it stays an object.
    payload: dict[str, Any] = {"content": dumps(body)} if type(client) is openai.AsyncOpenAI else {"body": body}
    try:
        response = await client.post(path, options=cast("Any", options), **payload, **how)
    except Exception as error:
        if on_headers is not None and isinstance(error, openai.APIStatusError):
            on_headers(error.response.headers)
        raise _errors.from_exception(error) from error
    if on_headers is not None:
        on_headers(response.headers)
    return response


def dumps(body: Mapping[str, Any]) -> bytes:
    """The body as JSON. What UTF-8 or 64 bits cannot hold is escaped or written out, not refused."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()


def loads(data: bytes) -> dict[str, Any]:
    """A JSON object. Raises `ModelError` for anything else."""
    try:
        value: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            # The standard library also takes escaped halves of surrogate pairs, which some models emit.
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _errors.protocol(f"the server answered with broken JSON: {error}") from error
    if not isinstance(value, dict):
        raise _errors.protocol("the server answered with JSON that is no object")
    return cast("dict[str, Any]", value)
