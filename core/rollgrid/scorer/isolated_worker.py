"""The process that `rollgrid.scorer.isolated` talks to: `python -m rollgrid.scorer.isolated_worker`.

Frames on stdin and stdout, each a length and a pickle. The first names the function, every other one is a call.
"""

import asyncio
import importlib
import importlib.util
import inspect
import os
import pickle
import queue
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from rollgrid.masking import guard_output

HEADER = struct.Struct("!Q")
IN_WORKER = "ROLLGRID_IN_SCORER"
"""Set in a process like this one, so that a script which runs rollouts when it is imported can be told."""


def main() -> None:
    # What the user's code prints must not get between the frames.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    guard_output()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    module, name, file = pickle.loads(requests.get())
    try:
        function = _find(module, name, file)
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        _answer(answers, {"fault": f"the scorer's process cannot import {module}: {type(error).__name__}: {error}"})
        return
    _answer(answers, {})
    while True:
        _answer(answers, _call(function, requests.get()))


def _read(source: BinaryIO, requests: "queue.SimpleQueue[bytes]") -> None:
    while len(header := source.read(HEADER.size)) == HEADER.size:
        (size,) = HEADER.unpack(header)
        requests.put(source.read(size))
    # Whoever started this process is gone, whatever the function is doing.
    os._exit(0)


def _find(module: str, name: str, file: str | None) -> Callable[..., Any]:
    found: Any = _main_script(file) if module == "__main__" else _module(module, file)
    for part in name.split("."):
        found = getattr(found, part)
    # `CodeScorer(score)` may have taken the name of the function that it was made of.
    return getattr(found, "fn", found) if not inspect.isroutine(found) else found


def _module(name: str, file: str | None) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name or file is None:
            raise
    return _from_file(name, file)


def _main_script(file: str | None) -> Any:
    if file is None:
        raise RuntimeError("the function was typed at a prompt; isolate=True needs it in a file")
    # As multiprocessing does it: what stands under `if __name__ == "__main__"` is not run again.
    module = _from_file("__mp_main__", file)
    sys.modules["__main__"] = module
    return module


def _from_file(name: str, file: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(file))
    spec.loader.exec_module(module)
    return module


def _call(function: Callable[..., Any], request: bytes) -> dict[str, Any]:
    try:
        run, expected = pickle.loads(request)
        result = function(run, expected)
        if inspect.isawaitable(result):
            result = asyncio.run(_wait(result))
        return {"result": pickle.loads(pickle.dumps(result))}
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        return {"error": (type(error).__name__, str(error))}


async def _wait(result: Any) -> Any:
    return await result


def _answer(answers: BinaryIO, answer: dict[str, Any]) -> None:
    data = pickle.dumps(answer)
    answers.write(HEADER.pack(len(data)) + data)
    answers.flush()


if __name__ == "__main__":
    main()
