"""No key gets into anything that is written, printed or shown to others, whatever goes wrong."""

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rollgrid import masking
from rollgrid.store.codec import decode
from support.cli import Shell, wait_for

pytestmark = pytest.mark.e2e

FROM_ENV = "canary7env-Zq4vT9mL2xB8nK1c"
FROM_CODE = "canary7code-Hy6wR3pJ5sD0fG9u"
FROM_HEADER = "canary7header-Ub2eM8kX4tQ7oV1a"
KEYS = (FROM_ENV, FROM_CODE, FROM_HEADER)
MARK = b"canary7"
"""What every key begins with, so that a part of one is found too."""

ENVIRONMENT = '''\
import asyncio, os, sys
from rollgrid import Agent, CodeScorer, Environment, OpenAIChat, Score, Task

from_env = os.environ["OPENAI_API_KEY"]
# Under names that say nothing, so that only the model that is made of them can tell.
case = os.environ["CASE"]
from_code = from_env if case == "env" else os.environ["FIRST"]
from_header = os.environ["SECOND"]
everything = f"{from_env} {from_code} {from_header}"

print("printed at import:", from_env)
if case == "import":
    raise RuntimeError(f"cannot log in with {from_env}")

model = OpenAIChat(
    id="echo",
    base_url=os.environ["ECHO"],
    api_key=None if case == "env" else from_code,
    default_headers={"X-Api-Key": from_header},
    stream=False,
    max_retries=0,
)

def look(query: str) -> str:
    """Look something up."""
    raise PermissionError(f"refused {everything}")

async def bad_agent(prompt: str) -> str:
    raise ConnectionError(f"no way in with {everything}")

async def dying_agent(prompt: str) -> str:
    await asyncio.sleep(0.2)
    raise KeyboardInterrupt(everything)

def score(run, expected):
    print("printed while scoring:", everything)
    print("and to stderr:", everything, file=sys.stderr)
    if case == "scorer":
        raise ValueError(f"cannot score with {everything}")
    return Score(1.0, True, reason=f"scored with {everything}", detail={"used": everything, everything: [everything]})

env = Environment(
    name="echo",
    tasks=[Task(f"Say {n}", metadata={"key": everything}, id=f"n{n}") for n in range(2)],
    scorer=CodeScorer(score),
    agent={"agent": bad_agent, "dies": dying_agent}.get(case) or Agent(model=model, tools=[look]),
    timeout_seconds=20,
)
'''


class Echo(BaseHTTPRequestHandler):
    """A server that says back whatever credentials it was given, as an answer or as an error."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = f"{self.headers['Authorization']} {self.headers['X-Api-Key']}"
        if "/refuse/" in self.path:
            self._answer(401, {"error": {"message": f"Incorrect API key provided: {said}", "code": "invalid_api_key"}})
            return
        message: dict[str, Any] = {"role": "assistant", "content": f"I was asked with {said}"}
        if not any(one["role"] == "tool" for one in body["messages"]):
            call = {"name": "look", "arguments": json.dumps({"query": said})}
            message = {**message, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        self._answer(
            200,
            {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": "echo",
                "choices": [choice],
                "usage": usage,
            },
        )

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@dataclass
class Watched:
    """Commands run in a folder, with everything that they and their children showed."""

    shell: Shell
    printed: list[bytes] = field(default_factory=list)
    commands: set[bytes] = field(default_factory=set)
    """Command lines of all processes that were given a key."""

    def run(self, *args: str, case: str = "ok") -> subprocess.CompletedProcess[bytes]:
        child = subprocess.Popen(
            self.shell.command(*args),
            cwd=self.shell.folder,
            env={**self.shell.env(), "CASE": case},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            umask=0,
        )
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(ended,))
        watcher.start()
        try:
            out, err = child.communicate(timeout=90)
        finally:
            child.kill()
            ended.set()
            watcher.join()
        self.printed += [out, err]
        return subprocess.CompletedProcess(args, child.returncode, out, err)

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(0.02):
            self.look()

    def look(self) -> None:
        """What `ps` shows to everybody, of the processes whose environment has a key in it."""
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if FROM_ENV.encode() in (place / "environ").read_bytes():
                    self.commands.add((place / "cmdline").read_bytes())

    def files(self) -> list[Path]:
        return [path for path in self.shell.folder.rglob("*") if path.is_file() and path.name != "env.py"]


@pytest.fixture
def watched(tmp_path: Path, echo: str) -> Iterator[Watched]:
    (tmp_path / "rollgrid.toml").touch(mode=0o600)
    (tmp_path / "env.py").write_text(ENVIRONMENT)
    variables = {"OPENAI_API_KEY": FROM_ENV, "FIRST": FROM_CODE, "SECOND": FROM_HEADER, "ECHO": f"{echo}/ok/v1"}
    shell = Shell(tmp_path, variables)
    yield Watched(shell)
    shell.clear_away()


def everything_in(path: Path) -> bytes:
    """A file as it is; of a log also what its compressed parts say."""
    data = path.read_bytes()
    if path.suffix != ".db":
        return data
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):
                for value in row:
                    shown = json.dumps(decode(value)) if isinstance(value, bytes) else str(value)
                    data += shown.encode() + b"\n"
    return data


def assert_nothing_got_out(watched: Watched) -> None:
    for text in (*watched.printed, *watched.commands):
        assert MARK not in text, text.decode(errors="replace")
    for path in watched.files():
        found = everything_in(path)
        place = found.find(MARK)
        assert place < 0, f"{path}: {found[max(0, place - 100) : place + 60]!r}"


def test_nothing_of_a_run_that_goes_well_holds_a_key(watched: Watched) -> None:
    """The model, a tool, the scorer, its reason and detail, the metadata and the user's prints all say the keys."""
    done = watched.run("run", "env.py", "-k", "2", "--headless", "--json")
    assert done.returncode == 0, done.stderr
    for args in (
        ["show", "last", "--json"],
        ["show", "last", "n0", "1"],
        ["baseline", "save", "last", "base.json"],
        ["export", "sft", "last", "sft.jsonl", "--all"],
        ["export", "html", "last", "report.html"],
        [
            "gate",
            "last",
            "--min-pass-rate",
            "0",
            "--junit",
            "junit.xml",
            "--markdown",
            "gate.md",
            "--html",
            "gate.html",
        ],
        ["diff", "last", "base.json"],
    ):
        done = watched.run(*args)
        assert done.returncode == 0, done.stderr
    assert b"***" in everything_in(watched.shell.log), "the keys were there to be masked"
    assert b"***" in (watched.shell.folder / "base.json").read_bytes()
    assert {path.name for path in watched.files()} >= {"base.json", "sft.jsonl", "report.html", "junit.xml", "gate.md"}
    assert any(b"rollgrid" in line for line in watched.commands), "the processes were seen"
    assert_nothing_got_out(watched)


@pytest.mark.parametrize("case", ["env", "code"])
def test_a_server_that_says_the_key_back_is_not_quoted(watched: Watched, case: str) -> None:
    watched.shell.variables["ECHO"] = watched.shell.variables["ECHO"].replace("/ok/", "/refuse/")
    done = watched.run("run", "env.py", "-k", "2", "--headless", "--debug", case=case)
    assert done.returncode == 3
    assert b"Incorrect API key provided" in done.stderr
    watched.run("show", "last", "--errors")
    assert_nothing_got_out(watched)


@pytest.mark.parametrize("case", ["agent", "scorer"])
def test_an_exception_of_the_users_own_that_holds_a_key_is_kept_without_it(watched: Watched, case: str) -> None:
    done = watched.run("run", "env.py", "-k", "2", "--headless", "--debug", case=case)
    assert done.returncode == 3
    assert b"***" in done.stderr
    watched.run("show", "last", "--errors")
    watched.run("baseline", "save", "last", "base.json")
    assert_nothing_got_out(watched)


@pytest.mark.parametrize("way", ["--headless", "--detach"])
def test_code_that_fails_at_import_shows_no_key_in_its_traceback(watched: Watched, way: str) -> None:
    done = watched.run("run", "env.py", way, "--debug", case="import")
    assert done.returncode == 2
    assert b"cannot log in with ***" in done.stderr
    assert b"Traceback" in done.stderr
    assert_nothing_got_out(watched)


def test_a_detached_runner_that_breaks_down_leaves_no_key_in_its_output(watched: Watched) -> None:
    assert watched.run("run", "env.py", "-k", "2", "--detach", case="dies").returncode == 0
    (out,) = (watched.shell.folder / ".rollgrid" / "runs").iterdir()

    def broke_down() -> bool:
        watched.look()
        return "KeyboardInterrupt" in out.read_text()

    wait_for(broke_down)
    text = out.read_text()
    assert "printed at import: ***" in text
    assert "KeyboardInterrupt: *** " in text
    assert_nothing_got_out(watched)


def test_only_the_owner_may_read_what_is_written_whatever_the_umask_says(watched: Watched) -> None:
    assert watched.run("run", "env.py", "-k", "1", "--detach").returncode == 0
    watched.shell.wait_for_run(lambda run: run["state"] == "finished")
    watched.run("run", "env.py", "-k", "1", "--headless", "--log", "deep/er/other.db")
    watched.run("baseline", "save", "last", "base.json")
    watched.run("export", "sft", "last", "sft.jsonl", "--all")
    watched.run("export", "html", "last", "report.html")
    open_to_others = {
        path.relative_to(watched.shell.folder).as_posix(): oct(path.stat().st_mode)
        for path in watched.shell.folder.rglob("*")
        if "__pycache__" not in path.parts and path.name not in {"env.py", "home"}
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }
    assert open_to_others == {}


# -- how the mask works


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.endswith(("KEY", "TOKEN", "SECRET")):
            monkeypatch.delenv(name)
    masking.forget()
    yield
    masking.forget()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "api_key", "DB_PASSWORD"]
)
def test_variables_whose_names_say_so_hold_secrets(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, FROM_ENV)
    assert masking.mask(f"a {FROM_ENV} b") == "a *** b"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "MONKEY", "OPENAI_BASE_URL", "TOKENIZERS_PARALLELISM"])
def test_other_variables_do_not(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, FROM_ENV)
    assert masking.mask(f"a {FROM_ENV} b") == f"a {FROM_ENV} b"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "value",
    ["", "none", "EMPTY", "simulated", "no-key-needed", "1234567890123456789012", "two words 1234567890", "/etc"],
)
def test_placeholders_and_numbers_are_no_secrets(value: str) -> None:
    masking.remember(value)
    text = f"a {value} b"
    assert masking.mask(text) == text
    assert masking.mask_json(text.encode()) == text.encode()


@pytest.mark.usefixtures("known")
def test_a_secret_is_found_in_json_and_in_addresses_as_well() -> None:
    secret = 'canary7"quote\\back/slash+plus'
    masking.remember(secret)
    masking.remember_address("https://user:canary7pass1234@host/v1?key=canary7query1234")
    written = json.dumps({"a": secret, "b": ["canary7pass1234", "canary7query1234"]}).encode()
    assert json.loads(masking.mask_json(written)) == {"a": "***", "b": ["***", "***"]}
    assert masking.mask("?key=canary7%22quote%5Cback%2Fslash%2Bplus") == "?key=***"


@pytest.mark.usefixtures("known")
def test_a_header_is_known_with_and_without_its_scheme() -> None:
    masking.remember_headers({"Authorization": f"Bearer {FROM_CODE}", "X-Trace": FROM_HEADER})
    assert masking.mask(f"{FROM_CODE}, {FROM_HEADER}") == f"***, {FROM_HEADER}"


@pytest.mark.usefixtures("known")
def test_what_looks_like_a_great_providers_key_is_masked_though_nobody_told_of_it() -> None:
    assert masking.mask("api_key='sk-proj-aBcDeFgHiJkLmNoPqRsTuVwX'") == "api_key='***'"
    assert (
        masking.mask("sk-learn and a task-oriented-dialogue-system-1")
        == "sk-learn and a task-oriented-dialogue-system-1"
    )


@pytest.mark.usefixtures("known")
def test_data_without_a_secret_is_handed_through_as_it_is() -> None:
    masking.remember(FROM_CODE)
    data = b'{"messages": []}'
    assert masking.mask_json(data) is data


@pytest.mark.usefixtures("known")
def test_a_secret_that_is_taken_away_from_the_environment_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FROM_ENV)
    masking.look_at_the_environment()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert masking.mask(FROM_ENV) == "***"
