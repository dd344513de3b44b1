"""Baseline files of the project. Everything here blocks, so the screens call it in threads."""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rollgrid.errors import RollgridError
from rollgrid.store.rows import RunRow

if TYPE_CHECKING:
    from rollgrid.analysis.comparison import Comparison
    from rollgrid.environments.result import EnvironmentRunResult

SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "dist", "build", "venv"})
MOST_FILES = 200
MOST_ENTRIES = 20_000
"""Files and folders that are looked at, so that a huge project is not gone through for minutes."""

LARGEST = 64 << 20
"""Bytes of a file that is read for the list."""

HEAD = 4096


class BaselineFile(NamedTuple):
    """A file of the list. `fault` says why it cannot be read; then the figures are empty. `at` is seconds, epoch."""

    path: Path
    shown: str
    at: float
    fault: str | None = None
    env_name: str = ""
    model: str = ""
    k: int = 0
    n_tasks: int = 0
    n_passed: int = 0
    n_scored: int = 0
    env_fingerprint: str | None = None
    policy_fingerprint: str | None = None
    simulated: bool = False


class Found(NamedTuple):
    files: tuple[BaselineFile, ...]
    complete: bool
    """False when the project has more than is looked at."""


def find_baselines(folder: Path) -> Found:
    """The baseline files in `folder` and below, the newest first; hidden and built folders are passed over."""
    files: list[BaselineFile] = []
    complete = True
    for path in _json_files(folder):
        if path is None or len(files) == MOST_FILES:
            complete = False
            break
        one = _look(path, folder)
        if one is not None:
            files.append(one)
    return Found(tuple(sorted(files, key=lambda one: (-one.at, one.shown))), complete)


def _json_files(folder: Path) -> Iterator[Path | None]:
    """None ends it early: there is more than is looked at."""
    seen = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        seen += len(folders) + len(names)
        if seen > MOST_ENTRIES:
            yield None
            return
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith("."):
                yield Path(root, name)


def _look(path: Path, folder: Path) -> BaselineFile | None:
    """None for JSON of another kind."""
    shown = str(path.relative_to(folder))
    try:
        stat = path.stat()
        with path.open("rb") as file:
            if b'"format_version"' not in file.read(HEAD):
                return None
        if stat.st_size > LARGEST:
            return BaselineFile(path, shown, stat.st_mtime, f"{stat.st_size >> 20} MB, too large for the list")
        return described(load_baseline(path), path, shown, stat.st_mtime)
    except RollgridError as error:
        return BaselineFile(path, shown, 0.0, error.message.removeprefix(f"{path}: "))
    except OSError as error:
        return BaselineFile(path, shown, 0.0, error.strerror or str(error))


def described(result: "EnvironmentRunResult", path: Path, shown: str, at: float) -> BaselineFile:
    made = result.about.get("created_at")
    return BaselineFile(
        path,
        shown,
        float(made) if isinstance(made, int | float) else at,
        env_name=result.env_name,
        model=str(result.about.get("model") or ""),
        k=result.k,
        n_tasks=len(result.task_results),
        n_passed=result.n_passed,
        n_scored=result.n_scored,
        env_fingerprint=result.env_fingerprint,
        policy_fingerprint=result.policy_fingerprint,
        simulated=result.about.get("model_kind") == "simulated",
    )


def load_baseline(path: Path) -> "EnvironmentRunResult":
    """Raises `RollgridError`, one line, and `OSError`."""
    from rollgrid.environments.baseline import load_result

    return load_result(path)


def load_run(log: Path, run_id: str) -> "EnvironmentRunResult":
    from rollgrid.environments.from_log import result_from_log

    return result_from_log(log, run_id)


def match(one: BaselineFile, run: RunRow | None) -> str:
    """Whether rates may be compared: `same`, or in a word or two why not; empty without a run."""
    if run is None or one.fault:
        return ""
    if one.simulated != (run.model_kind == "simulated"):
        return "simulated" if one.simulated else "real"
    if one.env_fingerprint is None or run.env_fingerprint is None:
        return "unknown"
    return "same" if one.env_fingerprint == run.env_fingerprint else "differs"


Counts = Mapping[str, tuple[int, int]]
"""Passed and scored by task id."""


def counts_of(result: "EnvironmentRunResult") -> dict[str, tuple[int, int]]:
    return {str(one.task.id): (one.n_passed, one.n_scored) for one in result.task_results}


def compare(old: Counts, new: Counts, *, env_name: str, policy_changed: bool) -> "Comparison":
    """Task by task and overall, with exact tests. The first call imports scipy."""
    from rollgrid.analysis.comparison import Count, compare_counts

    return compare_counts(
        {name: Count(*count) for name, count in old.items()},
        {name: Count(*count) for name, count in new.items()},
        env_name=env_name,
        policy_changed=policy_changed,
    )


def parts_of(current: "EnvironmentRunResult", baseline: "EnvironmentRunResult") -> list[tuple[str, str, str]]:
    """The parts of the environment as (name, what it is, same, differs or unknown), those that differ first."""
    from rollgrid.environments.diff import compare_parts
    from rollgrid.environments.fingerprint import PARTS

    told = compare_parts(current, baseline)
    order = {"differs": 0, "unknown": 1, "same": 2}
    return sorted(((part, PARTS[part], told[part]) for part in PARTS), key=lambda one: order[one[2]])


def prompts_text(baseline: "EnvironmentRunResult", current: "EnvironmentRunResult") -> str:
    """Both prompts and rates side by side, without any claim of better or worse. Reads every transcript."""
    from rollgrid.environments.prompts import compare_prompts

    return str(compare_prompts(baseline, current))


def attempt_body(attempt: Any) -> dict[str, Any] | None:
    """The transcript of an attempt of a result, in the shape that the log keeps it in."""
    run = attempt.read_run()
    return None if run is None else run.to_dict()


def date(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at)) if at else "-"
