"""`rollgrid baseline` and `rollgrid diff`: runs pinned as files, and two of them compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rollgrid.errors import RollgridError
from rollgrid_tui.cli.common import (
    CommandError,
    Settings,
    common_options,
    emit,
    emit_json,
    find_run,
    json_option,
    open_reader,
    rate,
    table,
    wait,
)

if TYPE_CHECKING:
    from rollgrid.environments import EnvironmentDiff, EnvironmentRunResult

SIMULATED_NOTE = "SIMULATED: these answers are made up, no model was asked\n"
SKIPPED_FOLDERS = {"node_modules", "site-packages", "__pycache__", "dist", "build"}
LARGEST_BASELINE = 1 << 28


@click.group("baseline", epilog="Example: rollgrid baseline save last baselines/arithmetic.json")
def baseline_command() -> None:
    """Pin a run as a reviewed JSON file. It holds prompts and responses: treat it as sensitive."""


@baseline_command.command("save", epilog="Example: rollgrid baseline save last baselines/arithmetic.json")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@common_options()
@click.pass_obj
def save_command(settings: Settings, run: str, file: Path, force: bool) -> None:
    """Write RUN to FILE, readable by you alone. The old file stays whole if anything fails."""
    from rollgrid.analysis.text import counted

    if file.exists() and not force:
        raise CommandError(f"{file} is there already", "Choose another name, or add --force.")
    result = load_run(settings, run)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        result.save(file)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}", "Choose another place.") from error
    emit(f"Saved {file}: {result.env_name}, {counted(result.n_attempts, 'attempt')}. It holds prompts and responses.")


@baseline_command.command("list", epilog="Example: rollgrid baseline list baselines/")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@json_option
@common_options()
def list_command(folder: Path, as_json: bool) -> None:
    """List the baseline files in FOLDER and below it."""
    if not folder.is_dir():
        raise CommandError(f"{folder} is no folder", "Name the folder that holds baseline files.")
    found = [(path, result) for path in json_files(folder) if (result := _if_baseline(path)) is not None]
    if as_json:
        emit_json({"baselines": [{"file": str(path), **facts(result)} for path, result in found]})
    elif found:
        rows = [
            [
                str(path),
                result.env_name,
                str(result.k),
                str(len(result.task_results)),
                rate(n_passed(result), result.n_scored),
                (result.env_fingerprint or "none")[-8:],
            ]
            for path, result in found
        ]
        emit(table(("file", "environment", "k", "tasks", "passed", "environment fingerprint"), rows, right=(2, 3, 4)))
    else:
        emit(f"No baseline file below {folder}. Save one with: rollgrid baseline save RUN FILE")


@baseline_command.command("show", epilog="Example: rollgrid baseline show baselines/arithmetic.json")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@common_options()
def show_command(file: Path, as_json: bool) -> None:
    """Print the grid of a baseline FILE."""
    result = load_file(file)
    if as_json:
        emit_json({"file": str(file), "simulated": is_simulated(result), "summary": result.summary()})
    else:
        emit(SIMULATED_NOTE + str(result) if is_simulated(result) else str(result))


@click.command("diff", epilog="Example: rollgrid diff baselines/arithmetic.json last")
@click.argument("a")
@click.argument("b")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of every interval and verdict.",
)
@click.option("--prompts", is_flag=True, help="Prompts and rates side by side, without a verdict; of any two.")
@json_option
@common_options()
@click.pass_obj
def diff_command(settings: Settings, a: str, b: str, confidence: float, prompts: bool, as_json: bool) -> int:
    """Compare B with its baseline A: each is a run or a baseline file.

    Exit code 1 when B as a whole, or a task of it, regressed by more than chance. Runs of different environments are
    only shown side by side, with what differs between them, part by part: --prompts.
    """
    baseline, current = load_either(settings, a), load_either(settings, b)
    if prompts:
        from rollgrid.environments.prompts import compare_prompts

        beside = compare_prompts(baseline, current)
        if as_json:
            emit_json(beside.to_dict())
        else:
            emit(str(beside))
        return 0
    compared = diff_results(current, baseline)
    told = compared.statistics(confidence)
    if as_json:
        emit_json(compared.to_dict() | {"statistics": told.to_dict()})
    else:
        emit(SIMULATED_NOTE + str(told) if is_simulated(current) else str(told))
    return 1 if told.regressed or told.verdict == "regressed" else 0


def diff_results(current: "EnvironmentRunResult", baseline: "EnvironmentRunResult") -> "EnvironmentDiff":
    """`current` against `baseline`; one line when they do not come from the same environment."""
    from rollgrid.environments import MismatchError

    if is_simulated(current) != is_simulated(baseline):
        raise CommandError("one side is simulated and the other is real", "Made-up answers compare with nothing.")
    try:
        return current.diff(baseline)
    except MismatchError as error:
        raise CommandError(str(error), "rollgrid diff A B --prompts shows both sides.") from error


def is_simulated(result: "EnvironmentRunResult") -> bool:
    return result.about.get("model_kind") == "simulated"


def load_run(settings: Settings, text: str) -> "EnvironmentRunResult":
    """A run of the log as a result; transcripts are read when they are asked for.

    `RUN@SCORING` is the run as a later scoring sees it: its number, `latest`, or `original`.
    """
    path = settings.log_path()
    run, at, scoring = text.partition("@")
    run_id = wait(_resolve(path, run))
    if at:
        from rollgrid.environments.scored import ascored_from_log

        return wait(ascored_from_log(path, run_id, scoring))
    from rollgrid.environments.from_log import result_from_log

    return result_from_log(path, run_id)


async def _resolve(path: Path, run: str) -> str:
    async with open_reader(path) as reader:
        return (await find_run(reader, run)).run_id


def load_file(path: Path) -> "EnvironmentRunResult":
    """A baseline file; whatever is wrong with it is one line."""
    from rollgrid.environments import EnvironmentRunResult

    try:
        return EnvironmentRunResult.load(path)
    except RollgridError:
        raise
    except FileNotFoundError:
        raise CommandError(f"no such file: {path}", "rollgrid baseline list shows the files there are.") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}", "Name a baseline file.") from error


def load_either(settings: Settings, text: str) -> "EnvironmentRunResult":
    """What looks like a file is one; anything else names a run."""
    path = Path(text)
    if path.is_file() or path.suffix == ".json" or path.parent != Path():
        return load_file(path)
    return load_run(settings, text)


def json_files(folder: Path) -> list[Path]:
    """JSON files below a folder, hidden and built folders left out."""
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in SKIPPED_FOLDERS:
                found += json_files(path)
        elif path.suffix == ".json" and path.stat().st_size <= LARGEST_BASELINE:
            found.append(path)
    return found


def _if_baseline(path: Path) -> "EnvironmentRunResult | None":
    """The result in a file, or None for JSON of another kind."""
    if b'"format_version"' not in path.read_bytes():
        return None
    try:
        return load_file(path)
    except RollgridError as error:
        click.echo(f"rollgrid: passed over: {error.message}", err=True)
        return None


def facts(result: "EnvironmentRunResult") -> dict[str, Any]:
    return {
        "env": result.env_name,
        "k": result.k,
        "n_tasks": len(result.task_results),
        "n_scored": result.n_scored,
        "n_passed": n_passed(result),
        "pass_rate": result.pass_rate,
        "env_fingerprint": result.env_fingerprint,
        "policy_fingerprint": result.policy_fingerprint,
    }


def n_passed(result: "EnvironmentRunResult") -> int:
    return sum(task.n_passed for task in result.task_results)
