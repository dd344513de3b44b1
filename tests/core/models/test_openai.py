"""Both APIs against a server, streamed and not: replies, faults, connections, credentials."""

import asyncio
import copy
import gc
import subprocess
import sys
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel

from rollgrid.agent import Agent, RunContext
from rollgrid.errors import ModelError
from rollgrid.models import openai as models
from rollgrid.models._client import CONNECTIONS, Endpoint, shared_client
from rollgrid.models.base import ModelReply, ModelRequest
from rollgrid.models.messages import Message
from rollgrid.models.openai import OpenAIChat, OpenAIResponses, close_clients
from rollgrid.models.retry import RetryPolicy
from support.server import running_server, stats_when

KINDS = (OpenAIResponses, OpenAIChat)
WAYS = [(kind, stream) for kind in KINDS for stream in (True, False)]


class Answer(BaseModel):
    value: int


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ROLLGRID_MAX_RETRIES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
async def _closed():
    """The server is gone before the loop ends, so connections are closed first."""
    yield
    await close_clients()


async def ask(model: models.OpenAIResponses | models.OpenAIChat, text: str = "ANS=4") -> ModelReply:
    return await model.respond(ModelRequest([Message("user", text)]))


@pytest.mark.parametrize(("kind", "stream"), WAYS)
async def test_an_answer(kind: Any, stream: bool):
    pieces: list[str] = []
    async with running_server("p=1,text=1,chunks=3") as server:
        model = kind("m", base_url=server.base_url, stream=stream)
        reply = await model.respond(ModelRequest([Message("user", "ANS=4")]), pieces.append)
    assert "4" in reply.text
    assert reply.finish == "stop"
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert "".join(pieces) == (reply.text if stream else "")
    assert len(pieces) == (3 if stream else 0)
    assert (reply.time_to_first_token is not None) is stream


@pytest.mark.parametrize(("kind", "stream"), WAYS)
async def test_a_whole_conversation_with_tools(kind: Any, stream: bool):
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    async with running_server("p=1,tool=2", record=10) as server:
        agent = Agent(kind("m", base_url=server.base_url, stream=stream), tools=[add], output_schema=Answer)
        run = await agent.arun("ANS=4")
        assert run.content == Answer(value=4)
        assert len(run.tools) == 2
        assert run.metrics.model_calls == len(server.requests) == 3


@pytest.mark.parametrize(("kind", "stream"), WAYS)
@pytest.mark.parametrize(
    ("fault", "problem"), [("refusal", "refusal"), ("incomplete", "truncated"), ("filter", "content_filter")]
)
async def test_an_answer_that_is_none_is_a_reply(kind: Any, stream: bool, fault: str, problem: str):
    async with running_server(f"{fault}=1") as server:
        run = await Agent(kind("m", base_url=server.base_url, stream=stream), output_schema=Answer).arun("ANS=4")
    assert run.problem == problem
    assert run.content is None
    assert run.metrics.input_tokens > 0
    assert run.metrics.retries == 0


FAULTS = {
    "e400": ("bad_request", 400, False),
    "e401": ("auth", 401, False),
    "e403": ("auth", 403, False),
    "e404": ("unknown_model", 404, False),
    "quota": ("quota", 429, False),
    "e429": ("rate_limit", 429, True),
    "e500": ("server", 500, True),
    "malformed": ("protocol", None, True),
    "trunc": ("connection", None, True),
    "drop": ("connection", None, True),
}


@pytest.mark.parametrize(("kind", "stream"), WAYS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_of_one_kind(kind: Any, stream: bool, fault: str):
    async with running_server(f"{fault}=1,ra=3") as server:
        with pytest.raises(ModelError) as caught:
            await ask(kind("m", base_url=server.base_url, stream=stream))
    error = caught.value
    assert (error.kind, error.status, error.retryable) == FAULTS[fault]
    assert error.retry_after == (3.0 if fault == "e429" else None)
    assert "\n" not in str(error)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_ends_too_early_is_an_error(kind: Any):
    async with running_server("cutstream=1") as server:
        with pytest.raises(ModelError) as caught:
            await ask(kind("m", base_url=server.base_url))
    assert (caught.value.kind, caught.value.retryable) == ("protocol", True)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_response_that_failed_on_the_way_is_an_error(stream: bool):
    async with running_server("failed=1") as server:
        with pytest.raises(ModelError) as caught:
            await ask(OpenAIResponses("m", base_url=server.base_url, stream=stream))
    assert caught.value.retryable


@pytest.mark.parametrize(("kind", "stream"), WAYS)
async def test_a_server_that_says_nothing_is_a_timeout_of_one_try(kind: Any, stream: bool):
    async with running_server("hang=1") as server:
        with pytest.raises(ModelError) as caught:
            await ask(kind("m", base_url=server.base_url, stream=stream, timeout=0.05))
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)


async def test_nobody_there_is_a_failed_connection_that_names_the_address():
    async with running_server() as server:
        url = server.base_url
    with pytest.raises(ModelError, match=r"connection to http://127\.0\.0\.1:\d+ failed: Connection refused") as caught:
        await ask(OpenAIResponses("m", base_url=url))
    assert (caught.value.kind, caught.value.retryable) == ("connection", True)


@pytest.mark.parametrize("url", ["127.0.0.1:80/v1", "ftp://127.0.0.1/v1"])
async def test_an_address_that_is_none_is_refused_before_any_request(url: str):
    for attempt in (OpenAIResponses("m", base_url=url).check(), ask(OpenAIResponses("m", base_url=url))):
        with pytest.raises(ModelError, match="base_url must begin with http"):
            await attempt


async def test_retries_are_ours_alone_and_counted():
    async with running_server("p=1,e500=1,upto=2") as server:
        run = await Agent(OpenAIResponses("m", base_url=server.base_url, retry=RetryPolicy(2, base=0))).arun("ANS=4")
        assert run.metrics.retries == 2
        assert server.stats()["requests"] == 3
        server.reset()
        with pytest.raises(ModelError):
            await ask(OpenAIResponses("m", base_url=server.base_url))
        assert server.stats()["requests"] == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_is_cancelled_keeps_the_text_that_had_arrived(kind: Any):
    arrived = asyncio.Event()

    class Watch:
        on_model_call = on_tool_start = on_tool_end = on_retry = lambda self, *told: None

        def on_text(self, run: Any) -> None:
            arrived.set()

    async with running_server("p=1,text=1,pad=300,chunks=100,slow=50") as server:
        context = RunContext(observer=Watch())
        task = asyncio.create_task(Agent(kind("m", base_url=server.base_url)).arun("ANS=4", context))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The cut-off request is given up, not read to its end in the background.
        await stats_when(server, lambda stats: stats["in_flight"] == 0)
    assert context.output.partial_text
    assert context.output.is_cancelled


@pytest.mark.parametrize("stream", [True, False])
async def test_connections_are_shared_and_used_again(stream: bool):
    async with running_server("p=1") as server:
        agents = [Agent(OpenAIResponses("m", base_url=server.base_url, stream=stream)) for _ in range(3)]
        for _ in range(4):
            for agent in agents:
                await agent.arun("ANS=4")
        assert server.stats()["requests"] == 12
        assert server.stats()["connections"] == 1


async def test_a_hundred_requests_go_out_at_once():
    async with running_server("p=1,lat=100") as server:
        model = OpenAIResponses("m", base_url=server.base_url)
        async with asyncio.TaskGroup() as group:
            for _ in range(120):
                group.create_task(ask(model))
        assert server.stats()["max_in_flight"] == 120
    assert CONNECTIONS > 120


async def test_clients_are_told_apart_by_everything_that_matters():
    one = Endpoint(base_url="http://localhost/v1")
    assert await shared_client(one) is await shared_client(Endpoint(base_url="http://localhost/v1"))
    others = [
        Endpoint(base_url="http://localhost/v2"),
        Endpoint(base_url="http://localhost/v1", api_key="k"),
        Endpoint(base_url="http://localhost/v1", organization="o"),
        Endpoint(base_url="http://localhost/v1", project="p"),
        Endpoint(base_url="http://localhost/v1", headers=(("a", "b"),)),
        Endpoint(base_url="http://localhost/v1", query=(("a", "b"),)),
    ]
    clients = [await shared_client(endpoint) for endpoint in (one, *others)]
    assert len({id(client) for client in clients}) == len(clients)


async def test_closed_clients_are_made_anew():
    async with running_server("p=1") as server:
        model = OpenAIResponses("m", base_url=server.base_url)
        await ask(model)
        await close_clients()
        await close_clients()
        await ask(model)
        assert server.stats()["connections"] == 2


def test_every_loop_closes_its_clients_when_it_ends():
    async def once() -> Any:
        async with running_server("p=1") as server:
            await Agent(OpenAIResponses("m", base_url=server.base_url)).arun("ANS=4")
            return await shared_client(Endpoint(base_url=server.base_url))

    first, second = asyncio.run(once()), asyncio.run(once())
    assert first is not second
    assert first.is_closed()
    assert second.is_closed()
    # An unclosed connection would warn here, and warnings are errors.
    gc.collect()


async def test_a_server_of_ones_own_needs_no_key():
    async with running_server("p=1", record=1) as server:
        model = OpenAIResponses("m", base_url=server.base_url)
        await model.check()
        await ask(model)
        assert server.recorded[0].headers["authorization"] == "Bearer no-key-needed"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_missing_key_is_one_line_that_says_what_to_do(kind: Any):
    for attempt in (kind("m").check(), ask(kind("m"))):
        with pytest.raises(ModelError, match="no API key: set OPENAI_API_KEY, or pass api_key= or base_url=") as caught:
            await attempt
        assert (caught.value.kind, caught.value.retryable) == ("auth", False)


async def test_the_environment_gives_key_and_address(monkeypatch: pytest.MonkeyPatch):
    async with running_server("p=1", record=1) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        model = OpenAIResponses("m")
        await model.check()
        await ask(model)
        assert server.recorded[0].headers["authorization"] == "Bearer sk-from-environment"
        assert model.policy()["base_url"] == server.base_url


async def test_what_the_user_sets_for_the_connection_is_sent():
    async with running_server("p=1", record=1) as server:
        model = OpenAIChat(
            "m",
            base_url=server.base_url,
            api_key="sk-mine",
            organization="org",
            project="proj",
            default_headers={"x-one": "1"},
            extra_headers={"x-two": "2"},
        )
        await ask(model)
        headers = server.recorded[0].headers
    assert headers["authorization"] == "Bearer sk-mine"
    assert (headers["openai-organization"], headers["openai-project"]) == ("org", "proj")
    assert (headers["x-one"], headers["x-two"]) == ("1", "2")
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize(("kind", "stream"), WAYS)
async def test_a_client_of_the_users_own_is_used_and_left_open(kind: Any, stream: bool):
    async with (
        running_server("p=1,e500=1,upto=1", record=1) as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-own", max_retries=7) as client,
    ):
        model = kind("m", client=client, stream=stream)
        with pytest.raises(ModelError):
            await ask(model)
        assert server.stats()["requests"] == 1
        await ask(model)
        assert server.recorded[0].headers["authorization"] == "Bearer sk-own"
        await close_clients()
        assert not client.is_closed()
        assert model.policy()["base_url"] == server.base_url


async def test_an_azure_client_finds_its_deployment_address():
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        message = {"role": "assistant", "content": "hi"}
        return httpx2.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})

    transport = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    async with openai.AsyncAzureOpenAI(
        azure_endpoint="https://mine.example", api_key="k", api_version="2024-10-21", http_client=transport
    ) as client:
        reply = await ask(OpenAIChat("gpt-4o", client=client))
    assert reply.text == "hi"
    assert seen == ["https://mine.example/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"]


async def test_an_http_client_of_the_users_own_is_used_and_left_open():
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={"status": "completed", "output": []})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http_client:
        # The server was asked for a stream and answered with plain JSON, as some do.
        reply = await ask(OpenAIResponses("m", api_key="k", http_client=http_client))
        await close_clients()
        assert not http_client.is_closed
    assert reply.text == ""
    assert str(seen[0].url) == "https://api.openai.com/v1/responses"


async def test_text_that_utf8_cannot_hold_is_sent_escaped():
    async with running_server("p=1", record=1) as server:
        await ask(OpenAIResponses("m", base_url=server.base_url), "half \ud800 ANS=4")
        assert server.requests[0]["input"][0]["content"] == "half \ud800 ANS=4"


def test_a_policy_holds_what_shapes_sampling_and_no_secret():
    model = OpenAIResponses(
        "gpt-5.5",
        reasoning_effort="low",
        temperature=0.5,
        extra_body={"top_k": 1},
        api_key="sk-secret",
        base_url="https://user:secret@host.example/v1/?key=secret",
        default_headers={"authorization": "secret"},
        timeout=3,
        max_retries=1,
        store=True,
        user="secret",
    )
    assert model.policy() == {
        "class": "OpenAIResponses",
        "provider": "openai",
        "id": "gpt-5.5",
        "base_url": "https://host.example/v1",
        "reasoning_effort": "low",
        "temperature": 0.5,
        "extra_body": {"top_k": 1},
    }
    assert "secret" not in repr(model)
    assert "secret" not in repr(model._endpoint())


def test_an_address_is_the_same_with_and_without_a_slash():
    assert OpenAIChat("m", base_url="http://h/v1/").policy() == OpenAIChat("m", base_url="http://h/v1").policy()


async def test_a_key_never_shows_in_an_error():
    async with running_server("e401=1") as server:
        with pytest.raises(ModelError) as caught:
            await ask(OpenAIResponses("m", base_url=server.base_url, api_key="sk-abcdefghijkl"))
    assert "abcdefghijkl" not in repr(caught.value)


def test_models_are_copied_without_their_client():
    client: Any = object()
    model = OpenAIResponses("m", client=client, extra_body={"a": 1})
    assert copy.deepcopy(model).client is client
    assert copy.copy(model).client is client


def test_an_unknown_parameter_is_a_type_error():
    with pytest.raises(TypeError, match="temprature"):
        OpenAIResponses("m", temprature=1)  # pyright: ignore[reportCallIssue]


def test_importing_the_models_does_not_import_openai():
    code = "import sys, rollgrid.models.openai; print('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_what_a_server_on_this_machine_is_asked_does_not_go_to_a_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
):
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with await asyncio.start_server(proxy, "127.0.0.1") as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(ModelError):
            await OpenAIChat("m", base_url=f"http://{host}:9/v1").respond(ModelRequest([Message("user", "x")]))
        assert asked == []
        with pytest.raises(ModelError, match="502"):
            await OpenAIChat("m", base_url="http://models.invalid/v1").respond(ModelRequest([Message("user", "x")]))
        assert [line.split()[1] for line in asked] == [b"http://models.invalid/v1/chat/completions"]
