"""Who and where this process is."""

import getpass
import os
import platform
from importlib import metadata

from rollgrid._version import __version__


def author() -> str:
    """The name under which this person's commands and runs are kept: `ROLLGRID_AUTHOR`, else the login name."""
    name = os.environ.get("ROLLGRID_AUTHOR")
    if name:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def versions() -> dict[str, str]:
    """What a run was made with."""
    found = {"rollgrid": __version__, "python": platform.python_version()}
    for package in ("openai", "pydantic"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
