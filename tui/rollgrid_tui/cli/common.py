"""What the commands share: settings, the log's path, tables, JSON, and the one way to read the log."""

import json
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rollgrid.errors import RollgridError, RunError

if TYPE_CHECKING:
    from rollgrid.config import Config
    from rollgrid.store.reader import LogReader
    from rollgrid.store.rows import RunRow

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class CommandError(RollgridError):
    """A command was asked for something that cannot be done."""


@dataclass(slots=True)
class Settings:
    """The options that every command takes. The nearest one to the end of the command line wins."""

    log: Path | None = None
    debug: bool = False
    ascii: bool | None = None
    fps: float | None = None
    _config: "Config | None" = None

    @property
    def config(self) -> "Config":
        if self._config is None:
            from rollgrid.config import load_config

            self._config = load_config()
        return self._config

    @property
    def use_ascii(self) -> bool:
        return bool(self.config.ascii if self.ascii is None else self.ascii)

    def log_path(self) -> Path:
        """`--log`, then ROLLGRID_LOG, then the configuration, then `.rollgrid/log.db` of the project."""
        if self.log is not None:
            return self.log.expanduser().absolute()
        from rollgrid.store.paths import default_log_path, log_is_off

        if log_is_off():
            raise CommandError("ROLLGRID_LOG is off, and this command needs a log", "Name one with --log PATH.")
        return default_log_path()


def _store_log(ctx: click.Context, _param: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.ensure_object(Settings).log = value


def _store_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Settings).debug = True


def _store_ascii(ctx: click.Context, _param: click.Parameter, value: bool | None) -> None:
    if value is not None:
        ctx.ensure_object(Settings).ascii = value


def _store_fps(ctx: click.Context, _param: click.Parameter, value: float | None) -> None:
    if value is not None:
        ctx.ensure_object(Settings).fps = value


def common_options(*, draws: bool = False) -> Callable[[F], F]:
    """`--log` and `--debug`, for every command, and `--ascii` and `--fps` for those that draw."""

    def decorate(function: F) -> F:
        function = click.option(
            "--debug", is_flag=True, expose_value=False, callback=_store_debug, help="Show tracebacks."
        )(function)
        if draws:
            function = click.option(
                "--fps",
                type=click.FloatRange(min=0, min_open=True, max=60),
                expose_value=False,
                callback=_store_fps,
                help="Update the dashboard at most so often a second.",
            )(function)
            function = click.option(
                "--ascii",
                is_flag=True,
                default=None,
                envvar="ROLLGRID_ASCII",
                expose_value=False,
                callback=_store_ascii,
                help="Draw with ASCII characters only.",
            )(function)
        return click.option(
            "--log",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="PATH",
            expose_value=False,
            callback=_store_log,
            help="The log file; default ROLLGRID_LOG, else .rollgrid/log.db in the project.",
        )(function)

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")


def one_line(text: str) -> str:
    """Text for one line of a terminal: sanitised, and no line break survives."""
    from rollgrid.text import clean_line

    return clean_line(" ".join(text.split()))


def emit_json(value: Any) -> None:
    """One line on stdout, ASCII only, so that no terminal or locale can damage it."""
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False))


def emit(text: str) -> None:
    """Sanitised text on stdout, a line break at its end."""
    from rollgrid.text import clean_block

    click.echo(clean_block(text))


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end. asyncio is imported here, since `--help` of every command would pay for it."""
    import asyncio

    return asyncio.run(work)


def on_a_terminal() -> bool:
    """Both ends are a terminal, so a full-screen dashboard can be shown."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_reader(path: Path) -> "AbstractAsyncContextManager[LogReader]":
    """The log for reading, closed at the end. Raises `RollgridError` with one line when it cannot be read."""
    if not path.exists():
        raise CommandError(f"there is no log at {path}", "Start a run (rollgrid run ENV), or name a log with --log.")
    return _reader(path)


@asynccontextmanager
async def _reader(path: Path) -> "AsyncGenerator[LogReader]":
    from rollgrid.store.reader import LogReader

    reader = await LogReader.open(path)
    try:
        yield reader
    finally:
        await reader.aclose()


async def find_run(reader: "LogReader", text: str) -> "RunRow":
    """A run by id, unique prefix or `last`."""
    row = await reader.run(await reader.resolve(text))
    if row is None:
        raise RunError(f"there is no run {text!r}", "rollgrid runs lists them.")
    return row


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Columns padded by what a terminal shows, two spaces between; the columns in `right` are right-aligned."""
    from rich.cells import cell_len

    from rollgrid.text import clean_line

    lines = [list(headers), *([clean_line(cell) for cell in row] for row in rows)]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(headers))]
    out: list[str] = []
    for line in lines:
        cells: list[str] = []
        for i, cell in enumerate(line):
            pad = " " * (widths[i] - cell_len(cell))
            cells.append(pad + cell if i in right else cell + pad)
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def rate(passed: int, scored: int) -> str:
    """A pass rate with its n; nothing scored has no rate."""
    return "-" if scored == 0 else f"{passed}/{scored} {100 * passed / scored:.0f}%"


def span(seconds: float) -> str:
    """A duration for people: 42 s, 3 min, 5 h, 2 d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
