"""The model process: llama.cpp's own server, on loopback, for one parent.

Runs as a program of its own, so that a crash of the C++ side, its log and its threads stay here. It needs nothing of
rollgrid, and the parent starts it by its file name: what lies in the user's folder cannot shadow a module of it.

Protocol: one JSON line on stdout, `{"ready": true, "base_url": ..., "api_key": ...}` or
`{"ready": false, "error": ...}`. Then it serves until stdin reaches its end, which is when the parent closes it or is
gone, however that came about.
"""

import argparse
import json
import os
import secrets
import sys
from collections.abc import Sequence
from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the parent is gone; returns only when there is nothing to serve."""
    parser = argparse.ArgumentParser(prog="python -m rollgrid.models.local", description="Serve one GGUF file.")
    parser.add_argument("--model", required=True, help="path of the GGUF file")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--ctx", type=int, required=True, help="context length in tokens")
    options = parser.parse_args(argv)
    # The C++ side prints where it likes. The protocol keeps the real stdout for itself; everything else goes to stderr.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Idle OpenMP threads that spin take the cores from whoever works: on a busy machine decoding falls to a fifth.
    # The library reads the variable when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        _server, reply = start(options.model, options.threads, options.ctx)
    except Exception as error:  # noqa: BLE001 - the library raises bare types; the parent turns the line into its error
        tell(channel, {"ready": False, "error": f"{type(error).__name__}: {error}"})
        return 1
    tell(channel, reply)
    wait_for_parent()
    sys.stderr.flush()
    # The parent is gone or waits for this end. Letting go of the server would wait for an answer that nobody reads.
    os._exit(0)


def start(model: str, threads: int, ctx: int) -> tuple[Any, dict[str, Any]]:
    """Load the model and listen. Returns the server, which stops when it is dropped, and the ready line."""
    import xllamacpp  # pyright: ignore[reportMissingImports]

    api: Any = xllamacpp
    params = api.CommonParams()
    params.model.path = model
    params.n_ctx = ctx
    # One slot: with a seed a request then gives the same answer every time. More slots are no faster on few cores.
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.endpoint_slots = False
    key = secrets.token_urlsafe(24)
    params.api_keys = [key]
    server = api.Server(params)
    return server, {"ready": True, "base_url": f"{server.listening_address}/v1", "api_key": key}


def tell(channel: Any, line: dict[str, Any]) -> None:
    channel.write(json.dumps(line) + "\n")
    channel.close()


def wait_for_parent() -> None:
    while os.read(0, 4096):
        pass


if __name__ == "__main__":
    sys.exit(main())
