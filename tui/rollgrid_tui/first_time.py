"""What a person is told once, when they see the dashboard for the first time, and where it is kept that they were."""

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = "rollgrid"
FILE = "hint-shown"


def state_folder(environ: Mapping[str, str]) -> Path | None:
    """Where the user's own state lies: `XDG_STATE_HOME`, by default `~/.local/state`; None when there is no home."""
    given = environ.get("XDG_STATE_HOME", "")
    if given and Path(given).is_absolute():
        return Path(given) / FOLDER
    home = environ.get("HOME", "")
    return Path(home) / ".local" / "state" / FOLDER if home else None


def is_first_time(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the hint is still to be shown; without a place to keep that it was, it would come every time."""
    folder = state_folder(environ)
    try:
        return folder is not None and not (folder / FILE).exists()
    except OSError:
        return False


def remember(environ: Mapping[str, str] = os.environ) -> None:
    """Keep that the hint was seen. Where that cannot be kept it comes again, which does no harm."""
    folder = state_folder(environ)
    if folder is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / FILE).touch(mode=0o600)
    except OSError:
        return
