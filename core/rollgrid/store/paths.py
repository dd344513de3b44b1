"""Where the log lives."""

import os
from pathlib import Path

LOG_VARIABLE = "ROLLGRID_LOG"
FOLDER = ".rollgrid"
_MARKS = ("pyproject.toml", "rollgrid.toml", ".git", FOLDER)
_OFF = "off"


def log_is_off() -> bool:
    """Whether `ROLLGRID_LOG=off` asks that rollouts of scripts leave no log."""
    return os.environ.get(LOG_VARIABLE, "").strip().lower() == _OFF


def default_log_path(start: Path | None = None) -> Path:
    """The log that is meant when none is named, absolute.

    `ROLLGRID_LOG` where it is set (and not `off`); else `log` of the project's configuration (`ConfigError` when that
    cannot be read); else `.rollgrid/log.db` in the project of `start` (default: the working directory). The project is
    the nearest folder from there upwards that holds pyproject.toml, rollgrid.toml, .git or .rollgrid; without one it is
    `start` itself.
    """
    named = os.environ.get(LOG_VARIABLE, "").strip()
    if named and named.lower() != _OFF:
        return Path(named).expanduser().absolute()
    from rollgrid.config import load_config  # it looks for the project with this module

    return load_config(start).log or project_folder(start) / FOLDER / "log.db"


def project_folder(start: Path | None = None) -> Path:
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return here
