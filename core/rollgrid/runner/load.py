"""From what a user types (`path.py`, `path.py:name`, `module:name`) to an Environment."""

import importlib
import importlib.util
import linecache
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from rollgrid.environments.environment import Environment
from rollgrid.errors import EnvironmentLoadError
from rollgrid.masking import mask


@dataclass(frozen=True, slots=True)
class LoadedEnvironment:
    """`ref` names the environment again from `cwd`, also when the user gave no name."""

    env: Environment
    ref: str
    cwd: str


def load_environment(ref: str, cwd: str | None = None) -> LoadedEnvironment:
    """Import the user's code and pick the Environment out of it.

    Raises `EnvironmentLoadError`, which names the user's own line when the code fails. A file is imported once a
    process, with its folder on `sys.path`, as if it were run as a script (but not as `__main__`).
    """
    base = Path(cwd or os.getcwd())
    target, name = _split(ref)
    if target.endswith(".py") or "/" in target or (base / target).exists():
        module = _import_file(ref, base / target)
    else:
        module = _import_module(ref, target, base)
    name, env = _pick(module, target, name)
    return LoadedEnvironment(env=env, ref=f"{target}:{name}", cwd=str(base))


def _split(ref: str) -> tuple[str, str | None]:
    target, colon, name = ref.rpartition(":")
    if not colon or "/" in name or name.endswith(".py"):
        return ref, None
    return target, name or None


def _import_file(ref: str, path: Path) -> ModuleType:
    if path.is_dir():
        candidate = path / "env.py"
        if not candidate.is_file():
            raise EnvironmentLoadError(f"{ref} is a folder without an env.py", "name the Python file")
        path = candidate
    if not path.is_file():
        raise EnvironmentLoadError(f"no such file: {ref}", "give the path of a Python file that makes an Environment")
    path = path.resolve()
    name = f"rollgrid_env_{path.stem.replace('-', '_')}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise EnvironmentLoadError(f"{ref} is not a Python file", "give the path of a .py file")
    _put_on_path(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _user_error(ref, error, path.parent) from error
    return module


def _import_module(ref: str, target: str, base: Path) -> ModuleType:
    _put_on_path(str(base))
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is not None and (target == error.name or target.startswith(error.name + ".")):
            raise EnvironmentLoadError(
                f"no such file or module: {ref}", "give path.py, path.py:name or module:name"
            ) from error
        raise _user_error(ref, error, base) from error
    except (Exception, SystemExit) as error:
        raise _user_error(ref, error, base) from error


def _put_on_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _user_error(ref: str, error: BaseException, folder: Path) -> EnvironmentLoadError:
    """One line that shows the deepest line of the user's own code that led to the error."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        where, line = f"{Path(error.filename).name}:{error.lineno}", (error.text or "").strip()
        what = f"SyntaxError: {error.msg}"
    else:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_users(f.filename, folder)]
        where, line = ref, ""
        if frames:
            frame = frames[-1]
            line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
            where = f"{Path(frame.filename).name}:{frame.lineno}"
        what = f"{type(error).__name__}: {error}"
    shown = f" in `{line}`" if line else ""
    return EnvironmentLoadError(
        mask(f"{where}: {_one_line(what)}{shown}"), "fix the file, or run with --debug for the traceback"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_users(filename: str, folder: Path) -> bool:
    path = Path(filename)
    return path.is_relative_to(folder) and "site-packages" not in path.parts


def _pick(module: ModuleType, target: str, name: str | None) -> tuple[str, Environment]:
    found = {key: value for key, value in vars(module).items() if isinstance(value, Environment)}
    if name is not None:
        if name in found:
            return name, found[name]
        if not hasattr(module, name):
            known = f"; it has {', '.join(sorted(found))}" if found else ""
            raise EnvironmentLoadError(f"{target} has no `{name}`{known}", "name an Environment of that file")
        kind = type(getattr(module, name)).__name__
        raise EnvironmentLoadError(f"`{name}` in {target} is no Environment but {kind}", "name an Environment")
    distinct = {id(value): key for key, value in reversed(found.items())}
    if not found:
        raise EnvironmentLoadError(
            f"{target} makes no Environment", "assign one to a module-level name, such as env = Environment(...)"
        )
    if len(distinct) > 1:
        names = ", ".join(sorted(distinct.values()))
        raise EnvironmentLoadError(f"{target} has several Environments: {names}", f"name one: {target}:{min(found)}")
    only = next(iter(distinct.values()))
    return only, found[only]
