"""What a user may set about the dashboard: environment variables beat the project's configuration file.

```toml
[tool.rollgrid.dashboard]       # or [dashboard] in rollgrid.toml
theme = "auto"                  # auto, dark, light, terminal
fps = 10                        # looks at the log a second
ascii = false
hints = true                    # keys, told once to who opens it first
[tool.rollgrid.dashboard.keys]  # by the names that the help screen shows
"run.next_failure" = "n,f8"
```
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rollgrid.config import CONFIG_FILE, ConfigError
from rollgrid.store.paths import project_folder

THEME_NAMES = ("auto", "dark", "light", "terminal")
LOCAL_FPS = 10.0
SSH_FPS = 4.0


@dataclass(frozen=True, slots=True)
class Settings:
    """`fps` is how often a second the log is looked at, and so the most screen updates a second that a run causes."""

    theme: str = "auto"
    fps: float = LOCAL_FPS
    ascii: bool | None = None
    """None leaves it to the terminal."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    over_ssh: bool = False
    hints: bool = True
    """Whether somebody who opens the dashboard for the first time is told its main keys."""

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, start: Path | None = None) -> "Settings":
        """Read environment and configuration file. Raises `ConfigError`, one line, for what is not understood."""
        environ = os.environ if environ is None else environ
        table, source = _dashboard_table(start)
        for key in table:
            if key not in {"theme", "fps", "ascii", "hints", "keys"}:
                hint = "Known: theme, fps, ascii, hints, keys."
                raise ConfigError(f"{source}: unknown dashboard setting {key!r}", hint)
        over_ssh = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
        fps = _fps(
            environ.get("ROLLGRID_FPS") or table.get("fps"), "ROLLGRID_FPS" if environ.get("ROLLGRID_FPS") else source
        )
        theme = environ.get("ROLLGRID_THEME") or table.get("theme") or "auto"
        if theme not in THEME_NAMES:
            raise ConfigError(f"there is no dashboard theme {theme!r}", f"Choose from {', '.join(THEME_NAMES)}.")
        return cls(
            theme=str(theme),
            fps=fps if fps is not None else SSH_FPS if over_ssh else LOCAL_FPS,
            ascii=_ascii(environ.get("ROLLGRID_ASCII"), table.get("ascii"), source),
            keys=_keys(table.get("keys"), source),
            over_ssh=over_ssh,
            hints=_hints(table.get("hints"), source),
        )


def _dashboard_table(start: Path | None) -> tuple[dict[str, Any], str]:
    root = project_folder(start)
    for name, path in ((CONFIG_FILE, ("dashboard",)), ("pyproject.toml", ("tool", "rollgrid", "dashboard"))):
        file = root / name
        if not file.is_file():
            continue
        try:
            table: Any = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{file} cannot be read: {error}", "Fix the file.") from None
        for key in path:
            table = cast("dict[str, Any]", table).get(key, {}) if isinstance(table, dict) else {}
        if not isinstance(table, dict):
            raise ConfigError(
                f"{file}: the dashboard settings are no table", "Write them under [tool.rollgrid.dashboard]."
            )
        return cast("dict[str, Any]", table), str(file)
    return {}, ""


def _fps(value: Any, source: str) -> float | None:
    if value is None:
        return None
    try:
        fps = float(value)
    except (TypeError, ValueError):
        fps = 0.0
    if not 0.1 <= fps <= 60:
        raise ConfigError(f"{source}: fps is {value!r}", "Give a number from 0.1 to 60.")
    return fps


def _ascii(variable: str | None, setting: Any, source: str) -> bool | None:
    if variable:
        return variable.lower() not in {"0", "no", "off", "false"}
    if setting is None or isinstance(setting, bool):
        return setting
    raise ConfigError(f"{source}: ascii is {setting!r}", "Give true or false.")


def _hints(setting: Any, source: str) -> bool:
    if setting is None or isinstance(setting, bool):
        return setting is not False
    raise ConfigError(f"{source}: hints is {setting!r}", "Give true or false.")


def _keys(value: Any, source: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{source}: keys is no table", 'Write one line an action, such as "run.pause" = "space".')
    keys: dict[str, str] = {}
    for action, key in cast("dict[str, Any]", value).items():
        if not isinstance(key, str) or not key.strip():
            raise ConfigError(f"{source}: the key of {action!r} is {key!r}", 'Give a key name, such as "ctrl+t".')
        keys[action] = key
    return keys
