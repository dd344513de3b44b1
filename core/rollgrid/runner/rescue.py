"""Results that the log would not take, kept in a file beside it, and taken in when the run is resumed.

One line of JSON for each event: its own JSON as text, and its body in base64.
"""

import asyncio
import base64
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import orjson

from rollgrid.errors import LogError, RunError
from rollgrid.store.codec import from_text, to_text
from rollgrid.store.connection import short_read
from rollgrid.store.events import EVENT_ADAPTER, AnyEvent
from rollgrid.store.lease import acquire
from rollgrid.store.writer import LogWriter, Unsaved


def rescue_path(log: Path, run_id: str) -> Path:
    """Where a resume looks for it."""
    return log.with_name(f"{log.name}.{run_id}.rescue")


def write_rescue(log: Path, run_id: str, unsaved: Sequence[Unsaved]) -> Path | None:
    """Keep the events beside the log or, where that cannot be, in the folder for temporary files. Blocks.

    None when there is room nowhere.
    """
    data = b"".join(
        orjson.dumps(
            {"event": one.text, "body": None if one.body is None else base64.b64encode(one.body).decode("ascii")},
            option=orjson.OPT_APPEND_NEWLINE,
        )
        for one in unsaved
    )
    name = rescue_path(log, run_id)
    for target in (name, Path(tempfile.gettempdir()) / name.name):
        if _write(target, data):
            return target
    return None


def _write(target: Path, data: bytes) -> bool:
    beside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError:
        beside.unlink(missing_ok=True)
        return False
    return True


async def take_in(log: Path, run_id: str) -> int:
    """Write what an earlier session could only keep in a file into the log, and remove the file.

    Gives the number of events. Raises `LogError` when they cannot be written now, and `RunError` when a runner is at
    work on the run; then the file stays.
    """
    path = rescue_path(log, run_id)
    # A session that was killed here may have left the file behind although the log has a part of it, or all.
    kept = await asyncio.to_thread(_read, path)
    if not kept:
        return 0
    async with LogWriter.open_cm(log) as writer:
        lease = await acquire(log, run_id)
        try:
            for event, body in kept[await _n_taken_in(log, run_id, kept) :]:
                writer.append(event, body)
            await writer.flush()
            if writer.unsaved:
                raise LogError(f"what {path.name} holds cannot be written into the log: {writer.fault}")
            await asyncio.to_thread(path.unlink, missing_ok=True)
        finally:
            await lease.release()
    return len(kept)


async def _n_taken_in(log: Path, run_id: str, kept: Sequence[tuple[AnyEvent, bytes | None]]) -> int:
    """How many of the events, from the first on, the log has already: they are written in their order."""
    texts = [to_text(vars(event)) for event, _ in kept]
    async with short_read(log) as connection:
        first = await connection.execute_fetchall(
            "SELECT min(seq) FROM event WHERE run_id = ? AND at = ? AND data = ?", (run_id, kept[0][0].at, texts[0])
        )
        since = next(iter(first))[0]
        if since is None:
            return 0
        rows = await connection.execute_fetchall(
            "SELECT data FROM event WHERE run_id = ? AND seq >= ?", (run_id, since)
        )
    found = {str(row[0]) for row in rows}
    return next((n for n, text in enumerate(texts) if text not in found), len(texts))


def _read(path: Path) -> list[tuple[AnyEvent, bytes | None]]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    try:
        return [_event(line) for line in lines]
    except ValueError as error:
        raise RunError(
            f"{path} should hold results of an earlier session and is damaged", "move it away to go on without them"
        ) from error


def _event(line: bytes) -> tuple[AnyEvent, bytes | None]:
    entry: dict[str, str | None] = orjson.loads(line)
    text, body = entry["event"], entry["body"]
    assert text is not None
    return EVENT_ADAPTER.validate_python(from_text(text)), None if body is None else base64.b64decode(body)
