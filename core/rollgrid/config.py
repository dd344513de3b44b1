"""The project's own defaults: `[tool.rollgrid]` of pyproject.toml, or rollgrid.toml.

Flags beat environment variables, which beat this. Only the standard library is used, since every command reads it.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rollgrid.errors import RollgridError
from rollgrid.store.paths import project_folder

CONFIG_FILE = "rollgrid.toml"


class ConfigError(RollgridError):
    """A configuration file cannot be read, or says something that is not understood."""


@dataclass(frozen=True, slots=True)
class Config:
    """What the project sets. A field is None when nothing is set; `log` is absolute.

    `concurrency` is a number or `auto`, `max_time` is in seconds, `model` a name as `rollgrid run --model` takes it.
    `gate` holds the rules of `rollgrid gate`, unchecked. `source` is the file it came from.
    """

    k: int | None = None
    concurrency: int | str | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_time: float | None = None
    model: str | None = None
    log: Path | None = None
    ascii: bool | None = None
    gate: dict[str, Any] | None = None
    source: Path | None = None


def load_config(start: Path | None = None) -> Config:
    """Read the project's configuration; rollgrid.toml wins over pyproject.toml in the same folder.

    Raises `ConfigError`, one line with the file's name, for a broken file, an unknown key or a value of a wrong kind.
    """
    root = project_folder(start)
    own = root / CONFIG_FILE
    if own.is_file():
        return _parse(_read(own), own)
    project = root / "pyproject.toml"
    if project.is_file():
        tool = _read(project).get("tool")
        table = cast("dict[str, Any]", tool).get("rollgrid") if isinstance(tool, dict) else None
        if isinstance(table, dict):
            return _parse(cast("dict[str, Any]", table), project)
    return Config()


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", "Fix the file, or take its rollgrid settings out."
        ) from None


def _parse(table: dict[str, Any], path: Path) -> Config:
    known = ("k", "concurrency", "max_cost", "max_tokens", "max_time", "model", "log", "ascii", "dashboard", "gate")
    for key in table:
        if key not in known:
            raise ConfigError(f"{path}: unknown rollgrid setting {key!r}", f"Known ones: {', '.join(known)}.")
    log = _text(table, "log", path)
    return Config(
        k=_positive(table, "k", path),
        concurrency="auto" if table.get("concurrency") == "auto" else _positive(table, "concurrency", path),
        max_cost=_amount(table, "max_cost", path),
        max_tokens=_positive(table, "max_tokens", path),
        max_time=_amount(table, "max_time", path),
        model=_text(table, "model", path),
        log=None if log is None else (path.parent / Path(log).expanduser()),
        ascii=_flag(table, "ascii", path),
        gate=_table(table, "gate", path),
        source=path,
    )


def _positive(table: dict[str, Any], key: str, path: Path) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{path}: rollgrid setting {key!r} is {value!r}", "Give a whole number of at least 1.")
    return value


def _amount(table: dict[str, Any], key: str, path: Path) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise ConfigError(f"{path}: rollgrid setting {key!r} is {value!r}", "Give a number above 0.")
    return float(value)


def _text(table: dict[str, Any], key: str, path: Path) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{path}: rollgrid setting {key!r} is {value!r}", "Give a text.")
    return value


def _flag(table: dict[str, Any], key: str, path: Path) -> bool | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, bool):
        raise ConfigError(f"{path}: rollgrid setting {key!r} is {value!r}", "Give true or false.")
    return value


def _table(table: dict[str, Any], key: str, path: Path) -> dict[str, Any] | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: rollgrid setting {key!r} is {value!r}", f"Make it a table: [tool.rollgrid.{key}].")
    return cast("dict[str, Any]", value)
