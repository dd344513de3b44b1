"""Starts a runner as a process of its own, which outlives the terminal that asked for it."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson

from rollgrid.errors import RunError
from rollgrid.runner.request import RunRequest
from rollgrid.store.opening import make_folder

HANDSHAKE_FD = "ROLLGRID_HANDSHAKE_FD"


def output_path(log: Path, run_id: str) -> Path:
    """Where a detached runner's own stdout and stderr go."""
    return log.parent / "runs" / f"{run_id}.out"


def start_runner(request: RunRequest) -> str:
    """Start the runner and wait until its run is in the log; returns the run id.

    The child is in a session of its own, so neither a closed terminal nor Ctrl-C reaches it. It answers on a pipe with
    one JSON line: ready, or the reason why not, which is raised here as `RunError`. Blocks while the user's code is
    imported.
    """
    out = output_path(request.log, request.run_id)
    try:
        make_folder(out.parent)
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise RunError(
            f"cannot write to {out.parent}: {error.strerror}", "choose another log with --log PATH"
        ) from error
    reading, writing = os.pipe()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "rollgrid.runner"],
            stdin=subprocess.PIPE,
            stdout=handle,
            stderr=handle,
            pass_fds=(writing,),
            start_new_session=True,
            env={**os.environ, HANDSHAKE_FD: str(writing)},
        )
    finally:
        os.close(handle)
        os.close(writing)
    assert child.stdin is not None
    try:
        with child.stdin:
            child.stdin.write(request.to_json())
    except BrokenPipeError:
        pass  # the child died at once; the empty handshake below says so
    with os.fdopen(reading, "rb") as pipe:
        line = pipe.readline()
    # A child that ends while this process lives must not stay a zombie.
    threading.Thread(target=child.wait, name=f"reap-{request.run_id}", daemon=True).start()
    answer: dict[str, Any] = orjson.loads(line) if line.strip() else {}
    if answer.get("ready"):
        return request.run_id
    if "error" in answer:
        raise RunError(answer["error"], answer.get("hint"))
    raise RunError("the runner ended before it was ready", f"see {out}")
