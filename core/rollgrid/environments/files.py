"""Writing a file so that it is whole or not there, and JSON that holds whatever text a model emits."""

import contextlib
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rollgrid.masking import look_at_the_environment, mask_json

__all__ = ["MaskedFile", "atomic_file", "json_bytes", "plain_json_bytes"]


@contextmanager
def atomic_file(path: str | Path) -> Generator["MaskedFile", None, None]:
    """A file that takes the place of `path` when the block ends well, readable by its owner only.

    It is written beside `path`, brought to the disk, and then renamed, so whatever fails on the way (a full disk, a
    value that cannot be written, a kill) leaves the old file whole. A symbolic link stays one and its target is
    replaced. Secrets are masked in what is written.
    """
    look_at_the_environment()
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"the folder of {path} does not exist; make it first") from error
    try:
        with os.fdopen(descriptor, "wb", buffering=1 << 18) as file:
            yield MaskedFile(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk as well. Some file systems cannot; the content itself is safe by then."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


class MaskedFile:
    """A file that takes text in UTF-8 and lets no secret through that stands within one write."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(mask_json(data))
        return len(data)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\u0085\u2028\u2029"}


def json_bytes(value: Any) -> bytes:
    """`value` as one line of UTF-8 JSON.

    Text that UTF-8 cannot hold (lone surrogates) is escaped, and so are the characters that some readers take for the
    end of a line. Raises `TypeError` or `ValueError` for what JSON cannot hold: NaN and infinity, objects, keys that
    are neither text nor a number, a bool or None (which become text).
    """
    try:
        return plain_json_bytes(value)
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def plain_json_bytes(value: Any) -> bytes:
    """As `json_bytes`, but raises `UnicodeEncodeError` (a `ValueError`) for text that UTF-8 cannot hold."""
    try:
        text = _ENCODER.encode(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    # All three can only stand inside a string, where the escape means the same.
    return text.translate(_LINE_BREAKS).encode() if not text.isascii() else text.encode()
