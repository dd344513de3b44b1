"""The model process from the parent's side: started when first asked for, shared, started again after a crash.

A server belongs to this process, not to an event loop: several `asyncio.run` calls in one script share one model
process.
"""

import asyncio
import atexit
import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import platformdirs

from rollgrid.errors import ModelError
from rollgrid.models.local import server as server_program

START_SECONDS = 180.0
"""How long a model may take to load. A cold 1 GB file on a slow disk takes most of it."""
STOP_SECONDS = 3.0
KEPT_LOGS = 8


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What makes two models share a process: the file, the threads and the context length in tokens."""

    model: Path
    threads: int
    ctx: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one life of the process can be reached. A process that was started again is another endpoint."""

    base_url: str
    api_key: str = field(repr=False)
    pid: int


def runtime_is_installed() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def default_threads() -> int:
    """Threads for the model: the cores that this process may use, at most 4 (more do not help a small model)."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min(usable, 4))


def server_command(settings: ServerSettings) -> list[str]:
    """The command line of the model process."""
    return [
        sys.executable,
        "-P",
        str(Path(server_program.__file__)),
        "--model",
        str(settings.model),
        "--threads",
        str(settings.threads),
        "--ctx",
        str(settings.ctx),
    ]


def server_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the model process. OpenMP must not spin while it waits (see `server`)."""
    return {**base, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONUNBUFFERED": "1"}


def log_folder() -> Path:
    """Where the C++ side's log goes, one file for each model process."""
    return platformdirs.user_log_path("rollgrid")


class LocalServer:
    """One model process and its restarts. All methods may be called from any thread."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.starts = 0
        self.log_path: Path | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoint: Endpoint | None = None
        self._starting: Future[Endpoint] | None = None
        self._loading: subprocess.Popen[bytes] | None = None
        self._stopping = False

    async def endpoint(self) -> Endpoint:
        """Where the running process can be reached; starts it when it does not run. Raises `ModelError`.

        Callers that come while it starts wait for the same start, and one of them being cancelled does not end it.
        """
        with self._lock:
            if self._process is not None and self._endpoint is not None and self._process.poll() is None:
                return self._endpoint
            if self._starting is None:
                self._starting = Future()
                self._starting.set_running_or_notify_cancel()
                # A thread of its own: the loop's executor belongs to the scorers.
                threading.Thread(target=self._start, args=(self._starting,), name="model-start", daemon=True).start()
            starting = self._starting
        return await asyncio.shield(asyncio.wrap_future(starting))

    async def ended(self, endpoint: Endpoint, within: float) -> str | None:
        """How the process behind `endpoint` ended, or None if it still runs `within` seconds from now."""
        deadline = time.monotonic() + within
        while True:
            with self._lock:
                if self._endpoint != endpoint or self._process is None:
                    return "it was stopped"
                code = self._process.poll()
            if code is not None:
                return f"signal {-code}" if code < 0 else f"exit code {code}"
            if time.monotonic() >= deadline:
                return None
            await asyncio.sleep(0.02)

    def stop(self) -> None:
        """End the process, if there is one, and wait for it. Blocks up to a few seconds."""
        with self._lock:
            self._stopping = True
            starting = self._starting
            if self._loading is not None:
                self._loading.kill()
        if starting is not None:
            starting.exception(timeout=2 * STOP_SECONDS)
        with self._lock:
            self._stopping = False
            process, self._process, self._endpoint = self._process, None, None
        if process is not None:
            _end(process)

    def _start(self, result: "Future[Endpoint]") -> None:
        try:
            process, endpoint = self._launch()
        except BaseException as error:  # noqa: BLE001 - handed to everyone who waits for the start
            with self._lock:
                self._starting = None
            result.set_exception(error if isinstance(error, ModelError) else _start_error(str(error), self.log_path))
            return
        with self._lock:
            self.starts += 1
            self._process, self._endpoint, self._starting = process, endpoint, None
        result.set_result(endpoint)

    def _launch(self) -> tuple[subprocess.Popen[bytes], Endpoint]:
        with self._lock:
            dead, self._process, self._endpoint = self._process, None, None
        if dead is not None:
            _end(dead)
        log, self.log_path = _open_log()
        with log:
            process = subprocess.Popen(
                server_command(self.settings),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=server_environment(os.environ),
                # Ctrl-C and a lost terminal are the parent's to handle; it closes stdin when it is done.
                start_new_session=True,
            )
        try:
            with self._lock:
                self._loading = process
                if self._stopping:
                    process.kill()
            line = _ready_line(process, START_SECONDS)
            with self._lock:
                self._loading = None
            if line is None:
                raise _start_error(_how_it_ended(process), self.log_path)
            if not line.get("ready"):
                raise _start_error(str(line.get("error")), self.log_path)
            return process, Endpoint(str(line["base_url"]), str(line["api_key"]), process.pid)
        except BaseException:
            _end(process)
            raise


_servers: dict[ServerSettings, LocalServer] = {}
_servers_lock = threading.Lock()


def shared_server(settings: ServerSettings) -> LocalServer:
    """The one server of this process with these settings. It is started when its endpoint is first asked for."""
    with _servers_lock:
        if not _servers:
            # For a script that never closes; idempotent, and the children would see the end of stdin in any case.
            atexit.register(_stop_all)
        server = _servers.get(settings)
        if server is None:
            server = _servers[settings] = LocalServer(settings)
        return server


async def close_local_models() -> None:
    """Stop every model process of this process and wait for their ends. They start again when asked for."""
    await asyncio.to_thread(_stop_all)


def _stop_all() -> None:
    with _servers_lock:
        servers = list(_servers.values())
        _servers.clear()
    atexit.unregister(_stop_all)
    for server in servers:
        server.stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the process's stdin, wait, kill if it does not listen, and reap it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ready_line(process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any] | None:
    """The process's first line of stdout as JSON; None if it ended or said nothing in time."""
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    said = b""
    while b"\n" not in said:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            return None
        chunk = os.read(process.stdout.fileno(), 65536)
        if not chunk:
            return None
        said += chunk
    process.stdout.close()
    try:
        line = json.loads(said.split(b"\n", 1)[0])
    except ValueError:
        return None
    return line if isinstance(line, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(1.0)
    except subprocess.TimeoutExpired:
        return f"it was not ready after {START_SECONDS:.0f} s"
    return f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"


def _start_error(why: str, log: Path | None) -> ModelError:
    where = f" (its log: {log})" if log is not None else ""
    return ModelError(f"the embedded model did not start: {why}{where}", kind="other")


def _open_log() -> tuple[IO[bytes], Path]:
    """A new log file for one model process; older ones beyond a few are deleted."""
    folder = log_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    old = sorted(folder.glob("local-model-*.log"))
    for path in old[: max(0, len(old) - KEPT_LOGS + 1)]:
        path.unlink(missing_ok=True)
    path = folder / f"local-model-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "wb", buffering=0), path
