"""`rollgrid simulate`: a model API on this machine that answers, delays and fails as told."""

from typing import TYPE_CHECKING

import click

from rollgrid_tui.cli.common import common_options, emit, wait

if TYPE_CHECKING:
    from rollgrid.testing.server import SimulatedServer


@click.command("simulate", epilog="Example: rollgrid simulate --port 8099 --spec lat=200,p=0.7,e429=0.1")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--spec", default="", metavar="KEY=VALUE,...", help="Latency, pass rate and faults; --keys explains them."
)
@click.option("--life", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End after this long.")
@click.option("--allow-remote", is_flag=True, help="Permit a host that other machines can reach.")
@click.option("--keys", is_flag=True, help="List the keys of --spec and end.")
@common_options()
def simulate_command(port: int, host: str, spec: str, life: float | None, allow_remote: bool, keys: bool) -> None:
    """Serve the Responses and Chat Completions APIs with made-up answers, to rehearse rate limits and outages.

    Point an agent at it with OPENAI_BASE_URL. The first line on stdout is "ready URL". Ctrl-C ends it.
    """
    from rollgrid.testing.spec import describe

    if keys:
        from rollgrid_tui.cli.common import table

        emit(table(("key", "default", "meaning"), describe()))
        return
    wait(_serve(spec, host, port, life, allow_remote=allow_remote))


async def _serve(spec: str, host: str, port: int, life: float | None, *, allow_remote: bool) -> None:
    import asyncio
    import signal

    from rollgrid.testing.server import serve

    serving = asyncio.create_task(
        serve(spec, host, port, life=life, allow_remote=allow_remote, on_ready=_announce), name="simulated server"
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        if not serving.cancelled():
            raise


def _announce(server: "SimulatedServer") -> None:
    emit(f"ready {server.base_url}")
    click.echo(
        f"For an agent: OPENAI_BASE_URL={server.base_url} OPENAI_API_KEY=simulated. Ctrl-C ends the server.", err=True
    )
