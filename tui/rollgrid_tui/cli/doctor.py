"""`rollgrid doctor`: what works here and what does not, one line each."""

import importlib.util
import locale
import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from rollgrid.errors import RollgridError
from rollgrid_tui.cli.common import Settings, common_options, emit, emit_json, json_option, open_reader, wait

PACKAGES = ("openai", "textual", "pydantic", "aiosqlite", "orjson", "click")
ENDPOINT_SECONDS = 5.0

Status = Literal["ok", "note", "bad"]


class Finding(NamedTuple):
    """`bad` needs attention before a run can work; `note` is good to know."""

    name: str
    status: Status
    text: str


@click.command("doctor", epilog="Example: rollgrid doctor")
@json_option
@common_options()
@click.pass_obj
def doctor_command(settings: Settings, as_json: bool) -> int:
    """Check the terminal, the log, the endpoint and the embedded model. Exit code 2 when something is bad.

    The endpoint is asked for its list of models, which costs nothing; without an API key it is not asked.
    """
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("versions", versions),
        ("configuration", lambda: configuration(settings)),
        ("terminal", terminal),
        ("log", lambda: log_health(settings)),
        ("endpoint", endpoint),
        ("embedded model", embedded_model),
    ]
    findings = [_safely(name, check) for name, check in checks]
    if as_json:
        emit_json({"findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            emit(f"{finding.status:<5} {finding.name}: {finding.text}")
    return 2 if any(finding.status == "bad" for finding in findings) else 0


def _safely(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except RollgridError as error:
        return Finding(name, "bad", f"{error.message}. {error.hint or ''}".rstrip())
    except Exception as error:  # noqa: BLE001  a check that fails is a finding, and the other checks still run
        return Finding(name, "bad", f"{type(error).__name__}: {error}")


def versions() -> Finding:
    from rollgrid._version import __version__

    parts = [f"rollgrid {__version__}", f"Python {platform.python_version()}", platform.platform(terse=True)]
    parts += [f"{package} {metadata.version(package)}" for package in PACKAGES]
    return Finding("versions", "ok", ", ".join(parts))


def configuration(settings: Settings) -> Finding:
    source = settings.config.source
    return Finding("configuration", "ok", str(source) if source is not None else "none, defaults hold")


def terminal() -> Finding:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return Finding("terminal", "note", "none here; the dashboard needs one, --headless does not")
    size = os.get_terminal_size()
    encoding = (sys.stdout.encoding or locale.getpreferredencoding()).lower()
    facts = [
        f"TERM={os.environ.get('TERM', '(not set)')}",
        f"{size.columns}x{size.lines}",
        encoding,
        *(name for name in ("TMUX", "SSH_CONNECTION", "NO_COLOR") if os.environ.get(name)),
    ]
    text = ", ".join(facts)
    if size.columns < 80 or size.lines < 24:
        return Finding("terminal", "note", f"{text}; the dashboard wants at least 80x24")
    if "utf" not in encoding:
        return Finding("terminal", "note", f"{text}; no UTF-8, so use --ascii")
    return Finding("terminal", "ok", text)


def log_health(settings: Settings) -> Finding:
    path = settings.log_path()
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        if not os.access(folder, os.W_OK):
            return Finding("log", "bad", f"{path} is not there and {folder} cannot be written; use --log PATH")
        return Finding("log", "ok", f"{path}, not there yet; the first run makes it")
    from rollgrid.analysis.text import counted

    runs = counted(wait(_count_runs(path)), "run")
    others = path.stat().st_mode & 0o077
    if others:
        return Finding("log", "note", f"{path}, {runs}; others can read it: chmod 600 {path}")
    if not os.access(path, os.W_OK):
        return Finding("log", "note", f"{path}, {runs}; it can be read, not written")
    return Finding("log", "ok", f"{path}, {runs}, {path.stat().st_size / 1e6:.1f} MB")


async def _count_runs(path: Path) -> int:
    async with open_reader(path) as reader:
        return len(await reader.runs(100_000))


def endpoint() -> Finding:
    url = os.environ.get("OPENAI_BASE_URL") or "the openai package's default endpoint"
    if not os.environ.get("OPENAI_API_KEY"):
        return Finding("endpoint", "note", f"OPENAI_API_KEY is not set, so {url} was not asked")
    return wait(_ask(url))


async def _ask(url: str) -> Finding:
    import openai

    client: Any = openai.AsyncOpenAI(timeout=ENDPOINT_SECONDS, max_retries=0)
    try:
        models = await client.models.list()
    except openai.AuthenticationError:
        return Finding("endpoint", "bad", f"{url} refuses the key in OPENAI_API_KEY")
    except openai.APIStatusError as error:
        return Finding("endpoint", "note", f"{url} answers, but gives no list of models (status {error.status_code})")
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        return Finding("endpoint", "bad", f"{url} cannot be reached: {cause}")
    finally:
        await client.close()
    return Finding("endpoint", "ok", f"{url} answers, {len(models.data)} models")


def embedded_model() -> Finding:
    from rollgrid.models.local import installed

    there = ", ".join(model.name for model in installed())
    if importlib.util.find_spec("xllamacpp") is None:
        return Finding("embedded model", "note", "no runtime; pip install 'rollgrid[local]'")
    if not there:
        return Finding("embedded model", "note", "no weights; rollgrid model install")
    return Finding("embedded model", "ok", there)
