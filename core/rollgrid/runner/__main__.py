"""The runner process: `python -m rollgrid.runner`, with a request as JSON on stdin."""

import asyncio
import os
import sys
from typing import Any

import orjson

from rollgrid.errors import RollgridError
from rollgrid.masking import guard_output, mask
from rollgrid.runner.execute import execute
from rollgrid.runner.request import RunRequest
from rollgrid.runner.spawn import HANDSHAKE_FD


def main() -> int:
    guard_output()
    answer = _Answer(int(os.environ.pop(HANDSHAKE_FD)))
    request = RunRequest.from_json(sys.stdin.buffer.read())
    try:
        outcome = asyncio.run(
            execute(
                request,
                handle_signals=True,
                on_ready=lambda run_id: answer.send({"ready": True, "run_id": run_id}),
                on_message=lambda text: print(f"rollgrid: {text}", file=sys.stderr, flush=True),
            )
        )
    except RollgridError as error:
        answer.send({"error": error.message, "hint": error.hint})
        print(f"rollgrid: {error.message}", file=sys.stderr)
        return error.exit_code
    except BaseException as error:
        answer.send({"error": mask(f"the runner failed: {type(error).__name__}: {error}")})
        raise
    return outcome.exit_code


class _Answer:
    """The pipe to whoever started this process; answers once."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def send(self, answer: dict[str, Any]) -> None:
        fd, self._fd = self._fd, None
        if fd is None:
            return
        try:
            os.write(fd, orjson.dumps(answer) + b"\n")
        except BrokenPipeError:
            print("whoever started this runner is gone; it runs on", file=sys.stderr)
        finally:
            os.close(fd)


if __name__ == "__main__":
    sys.exit(main())
