"""One model process, shared, started again after a crash, and never left behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rollgrid.errors import ModelError
from rollgrid.models.local import process, server
from rollgrid.models.local.process import ServerSettings, close_local_models, shared_server
from support import fake_model

SETTINGS = ServerSettings(Path("weights.gguf"), threads=1, ctx=256)


def is_gone(pid):
    """No process of that id runs, and no zombie of ours holds it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z" and os.getpid() != int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - another process's end gives no event here
            await asyncio.sleep(0.02)


async def test_everyone_who_asks_gets_the_same_process(fake):
    endpoints = await asyncio.gather(*(shared_server(SETTINGS).endpoint() for _ in range(10)))
    assert len(set(endpoints)) == 1
    assert shared_server(SETTINGS).starts == 1
    assert len(fake.pids()) == 1


async def test_other_settings_are_another_process(fake):
    one = await shared_server(SETTINGS).endpoint()
    other = await shared_server(ServerSettings(Path("other.gguf"), threads=1, ctx=256)).endpoint()
    assert one.pid != other.pid


async def test_idle_threads_of_the_process_do_not_spin(fake):
    await shared_server(SETTINGS).endpoint()
    assert fake.seen()[0]["omp"] == "PASSIVE"


async def test_a_process_that_crashed_is_started_again(fake):
    first = await shared_server(SETTINGS).endpoint()
    os.kill(first.pid, signal.SIGKILL)
    assert await shared_server(SETTINGS).ended(first, within=10) == "signal 9"
    second = await shared_server(SETTINGS).endpoint()
    assert second.pid != first.pid
    assert shared_server(SETTINGS).starts == 2
    assert is_gone(first.pid)


async def test_a_running_process_has_not_ended(fake):
    endpoint = await shared_server(SETTINGS).endpoint()
    assert await shared_server(SETTINGS).ended(endpoint, within=0) is None


async def test_closing_leaves_no_process_and_no_zombie(fake):
    endpoint = await shared_server(SETTINGS).endpoint()
    await close_local_models()
    assert is_gone(endpoint.pid)
    again = await shared_server(SETTINGS).endpoint()
    assert again.pid != endpoint.pid


async def test_closing_while_it_starts_ends_the_start(fake):
    fake.plan(mode="silent")
    asked = asyncio.create_task(shared_server(SETTINGS).endpoint())
    await until(lambda: fake._requests.exists() and fake.pids())
    await close_local_models()
    with pytest.raises(ModelError, match="did not start"):
        await asked
    assert is_gone(fake.pids()[0])


async def test_one_caller_who_gives_up_does_not_end_the_start_of_the_others(fake):
    impatient = asyncio.create_task(shared_server(SETTINGS).endpoint())
    patient = asyncio.create_task(shared_server(SETTINGS).endpoint())
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    assert (await patient).base_url.startswith("http://127.0.0.1:")
    assert len(fake.pids()) == 1


@pytest.mark.parametrize(
    ("mode", "why"), [("exit", "it ended with exit code 3"), ("error", "RuntimeError: not a GGUF file")]
)
async def test_a_process_that_cannot_start_says_why_and_where_its_log_is(fake, mode, why):
    fake.plan(mode=mode)
    with pytest.raises(ModelError, match=why) as caught:
        await shared_server(SETTINGS).endpoint()
    assert "local-model-" in str(caught.value)
    assert not caught.value.retryable
    fake.plan()
    assert (await shared_server(SETTINGS).endpoint()).pid == fake.pids()[-1]


async def test_a_process_that_is_never_ready_is_ended(fake, monkeypatch):
    monkeypatch.setattr(process, "START_SECONDS", 1.0)
    fake.plan(mode="silent")
    with pytest.raises(ModelError, match="not ready after 1 s"):
        await shared_server(SETTINGS).endpoint()
    assert all(is_gone(pid) for pid in fake.pids())


def test_scripts_that_use_several_event_loops_share_one_process(fake_sync):
    async def pid():
        return (await shared_server(SETTINGS).endpoint()).pid

    assert asyncio.run(pid()) == asyncio.run(pid())


@pytest.fixture
def fake_sync(monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE_MODEL", json.dumps({"requests": str(tmp_path / "r")}))
    monkeypatch.setattr(process, "server_command", lambda settings: [sys.executable, fake_model.__file__])
    monkeypatch.setattr(process, "log_folder", lambda: tmp_path / "logs")
    yield
    process._stop_all()


@pytest.mark.parametrize("ending", ["return", "kill"])
async def test_the_process_goes_when_its_parent_goes(tmp_path, ending):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio, sys, time
        from pathlib import Path
        from rollgrid.models.local import process
        process.server_command = lambda settings: [sys.executable, {fake_model.__file__!r}]
        process.log_folder = lambda: Path({str(tmp_path)!r})
        settings = process.ServerSettings(Path("x"), 1, 256)
        print(asyncio.run(process.shared_server(settings).endpoint()).pid, flush=True)
        if {ending!r} == "kill":
            time.sleep(60)
        """)
    )
    env = {**os.environ, "FAKE_MODEL": json.dumps({"requests": str(tmp_path / "r")})}
    parent = await asyncio.create_subprocess_exec(sys.executable, str(script), stdout=subprocess.PIPE, env=env)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    if ending == "kill":
        assert not is_gone(pid)
        parent.kill()
    await parent.wait()
    await until(lambda: is_gone(pid))


async def test_only_a_few_logs_are_kept(fake, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(20):
        (logs / f"local-model-20200101-0000{number:02}-1.log").write_text("old")
    await shared_server(SETTINGS).endpoint()
    kept = sorted(logs.iterdir())
    assert len(kept) == process.KEPT_LOGS
    assert kept[-1] == shared_server(SETTINGS).log_path
    assert kept[-1].stat().st_mode & 0o777 == 0o600


def test_the_key_of_an_endpoint_is_not_in_its_text():
    assert "hush" not in repr(process.Endpoint("http://127.0.0.1:1/v1", "hush", 1))


FAKE_RUNTIME = """
import os
print("C++ says hello on stdout")
os.write(1, b"and so does printf\\n")

class Part:
    pass

class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = Part(), Part(), Part()

class Server:
    def __init__(self, params):
        if params.model.path == "bad.gguf":
            raise RuntimeError("not a GGUF file")
        assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
        assert (params.hostnames, params.port, params.n_parallel, params.ui) == (["127.0.0.1"], 0, 1, False)
        assert (params.n_ctx, params.cpuparams.n_threads) == (256, 2)
        assert len(params.api_keys[0]) >= 32
        self.listening_address = "http://127.0.0.1:4711"
"""


def run_program(tmp_path, model):
    (tmp_path / "xllamacpp.py").write_text(FAKE_RUNTIME)
    env = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    return subprocess.Popen(
        [sys.executable, "-P", server.__file__, "--model", model, "--threads", "2", "--ctx", "256"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**env, "PYTHONPATH": str(tmp_path)},
    )


def test_the_program_listens_on_loopback_with_a_key_of_its_own_and_ends_with_stdin(tmp_path):
    with run_program(tmp_path, "good.gguf") as program:
        line = json.loads(program.stdout.readline())
        assert line["ready"] is True
        assert line["base_url"] == "http://127.0.0.1:4711/v1"
        assert len(line["api_key"]) >= 32
        time.sleep(0.05)
        assert program.poll() is None
        rest, noise = program.communicate(timeout=20)
    assert program.returncode == 0
    assert rest == b""
    assert b"C++ says hello" in noise
    assert b"printf" in noise


def test_the_program_tells_of_a_model_that_it_cannot_load(tmp_path):
    with run_program(tmp_path, "bad.gguf") as program:
        out, _ = program.communicate(timeout=20)
    assert json.loads(out) == {"ready": False, "error": "RuntimeError: not a GGUF file"}
    assert program.returncode == 1
