"""The server as a process of its own."""

import asyncio
import os
import subprocess
import sys

import pytest
from openai import OpenAI

from rollgrid.testing import serve
from rollgrid.testing.__main__ import main
from support.server import server_process


def test_a_child_serves_until_the_block_ends():
    with server_process("p=1,text=1") as child:
        with OpenAI(base_url=child.base_url, api_key="none", max_retries=0) as client:
            assert client.responses.create(model="m", input="ANS=3;").output_text == "The answer is 3."
        with OpenAI(base_url=child.url_for("p=0"), api_key="none", max_retries=0) as client:
            assert client.responses.create(model="m", input="ANS=3;").output_text == "The answer is 4."
        assert child.stats()["kinds"] == {"ok": 2}
        child.reset()
        assert child.stats()["requests"] == 0
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rollgrid.testing", *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", ["eof", "terminate", "life"])
def test_a_child_ends_by_itself_and_cleanly(how: str):
    options = {"eof": ["--until-eof"], "terminate": [], "life": ["--life", "0.2"]}[how]
    with start(*options) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stderr is not None
        assert child.stdout.readline().startswith("ready http://127.0.0.1:")
        if how == "eof":
            child.stdin.close()
        elif how == "terminate":
            child.terminate()
        assert child.wait(20) == 0
        assert child.stderr.read() == ""


@pytest.mark.parametrize(
    "options", [["--spec", "lta=5"], ["--host", "0.0.0.0"], ["--spec", "p=2"]], ids=["key", "host", "value"]
)
def test_bad_options_are_one_line_and_exit_code_2(options: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(options) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1


async def test_serve_ends_at_the_end_of_its_life_and_tells_when_it_is_ready():
    urls = []
    await serve("p=1", life=0.01, on_ready=lambda server: urls.append(server.base_url))
    assert len(urls) == 1


async def test_serve_ends_when_it_is_cancelled():
    ready = asyncio.Event()
    serving = asyncio.create_task(serve(on_ready=lambda _: ready.set()))
    await ready.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
