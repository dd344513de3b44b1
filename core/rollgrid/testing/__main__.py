"""`python -m rollgrid.testing --port N --spec ...`: the server as a process of its own."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from rollgrid.errors import RollgridError
from rollgrid.testing.server import SimulatedServer, serve


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rollgrid.testing", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--spec", default="", help="such as lat=200,p=0.7,e429=0.1")
    parser.add_argument("--life", type=float, default=None, help="seconds after which the server ends itself")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input is closed")
    parser.add_argument("--allow-remote", action="store_true", help="permit a host that is not loopback")
    options = parser.parse_args(argv)
    try:
        asyncio.run(_run(options))
    except RollgridError as error:
        print(f"{error.message}; {error.hint}" if error.hint else error.message, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


async def _run(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    serving = asyncio.create_task(
        serve(
            options.spec,
            options.host,
            options.port,
            life=options.life,
            allow_remote=options.allow_remote,
            on_ready=_announce,
        )
    )
    loop.add_signal_handler(signal.SIGTERM, serving.cancel)
    if options.until_eof:
        loop.add_reader(sys.stdin.fileno(), _end_at_eof, serving)
    try:
        await serving
    except asyncio.CancelledError:
        if not serving.cancelled():
            raise


def _end_at_eof(serving: "asyncio.Task[None]") -> None:
    descriptor = sys.stdin.fileno()
    if not os.read(descriptor, 4096):
        asyncio.get_running_loop().remove_reader(descriptor)
        serving.cancel()


def _announce(server: SimulatedServer) -> None:
    print(f"ready {server.base_url}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
