"""Where installed models live, and what is there."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from rollgrid.errors import RollgridError
from rollgrid.models.local.catalog import CATALOG, ModelCard, card

MODELS_DIR_VARIABLE = "ROLLGRID_MODELS_DIR"
_LOCK_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model whose file is in the cache. `size` in bytes."""

    name: str
    title: str
    path: Path
    size: int
    licence: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CachePaths:
    """The final file of one model and everything an unfinished install leaves beside it."""

    final: Path
    partial: Path
    state: Path
    work: Path
    hub: Path

    @property
    def leftovers(self) -> tuple[Path, ...]:
        return (self.partial, self.state, self.work, self.hub)


def models_dir() -> Path:
    """The folder of installed models: `ROLLGRID_MODELS_DIR`, else `models` in the user's cache folder for rollgrid."""
    named = os.environ.get(MODELS_DIR_VARIABLE)
    if named:
        return Path(named).expanduser()
    return platformdirs.user_cache_path("rollgrid") / "models"


def cache_paths(model: ModelCard) -> CachePaths:
    final = models_dir() / model.filename
    return CachePaths(
        final=final,
        partial=final.with_name(final.name + ".partial"),
        state=final.with_name(final.name + ".partial.json"),
        work=final.with_name(final.name + ".work"),
        hub=final.with_name(final.name + ".hub"),
    )


def find(name: str) -> Path | None:
    """The installed file of that model, or None. The hash was verified when it was installed; here only the size is."""
    model = card(name)
    path = cache_paths(model).final
    try:
        return path if path.stat().st_size == model.size else None
    except OSError:
        return None


def installed() -> list[InstalledModel]:
    """Every model of the catalogue whose file is in the cache, in the catalogue's order."""
    found: list[InstalledModel] = []
    for model in CATALOG.values():
        path = find(model.name)
        if path is not None:
            found.append(
                InstalledModel(
                    name=model.name,
                    title=model.title,
                    path=path,
                    size=model.size,
                    licence=model.licence,
                    sha256=model.sha256,
                )
            )
    return found


def remove(name: str) -> int:
    """Delete the model's file and whatever an unfinished install left. Returns the bytes that were freed, 0 if none."""
    paths = cache_paths(card(name))
    if not paths.final.parent.is_dir():
        return 0
    with install_lock():
        return sum(delete(path) for path in (paths.final, *paths.leftovers))


def delete(path: Path) -> int:
    """Delete a file or a folder if it is there; returns its size in bytes."""
    size = tree_size(path)
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise RollgridError(f"cannot delete {path}: {error.strerror or error}") from error
    return size


def tree_size(path: Path) -> int:
    """Bytes in a file or below a folder, as far as they can be seen: other programs may be writing there."""
    try:
        if not path.is_dir():
            return path.lstat().st_size
    except OSError:
        return 0
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:  # a temporary file that was moved between the listing and here
                continue
    return total


@contextmanager
def install_lock(on_wait: Callable[[], None] | None = None) -> Generator[None]:
    """Hold the cache for one installer at a time. `on_wait` is told once when another one has it.

    The lock is the kernel's: it goes with the process, so a killed installer never leaves it behind.
    """
    folder = models_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RollgridError(
            f"cannot write to the model cache {folder}: {error.strerror or error}",
            hint=f"set {MODELS_DIR_VARIABLE} to a folder that can be written",
        ) from error
    try:
        waiting = False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waiting and on_wait is not None:
                    on_wait()
                waiting = True
                time.sleep(_LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(handle)
