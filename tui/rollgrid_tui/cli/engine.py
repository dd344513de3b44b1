"""Options that say where the attempts of a run are carried out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rollgrid_tui.cli.common import CommandError

if TYPE_CHECKING:
    from rollgrid.runner.ray_options import RayOptions

F = TypeVar("F", bound=Callable[..., Any])


def engine_options(function: F) -> F:
    """`--engine` and the `--ray-...` options that go with it."""
    for option in (
        click.option(
            "--ray-env",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            metavar="FILE",
            help="A Ray runtime environment as JSON to build on: pip, working_dir, ...",
        ),
        click.option("--ray-pass", multiple=True, metavar="NAME,...", help="Environment variables that workers get."),
        click.option("--ray-workers", type=click.IntRange(min=1), help="Workers; default one a processor."),
        click.option(
            "--ray-address", metavar="HOST:PORT", help="The Ray cluster; default the one this machine belongs to."
        ),
        click.option(
            "--engine",
            type=click.Choice(["local", "ray"]),
            help="Where attempts run: in this process, or on the workers of a Ray cluster. Default local.",
        ),
    ):
        function = option(function)
    return function


def ray_options_of(
    engine: str | None,
    *,
    ray_address: str | None,
    ray_workers: int | None,
    ray_pass: tuple[str, ...],
    ray_env: Path | None,
) -> "RayOptions":
    """What the options say. Refuses `--ray-...` beside another engine."""
    from rollgrid.runner.ray_options import RayOptions

    given = {"--ray-address": ray_address, "--ray-workers": ray_workers, "--ray-pass": ray_pass, "--ray-env": ray_env}
    first = next((name for name, value in given.items() if value), None)
    if first is not None and engine == "local":
        raise CommandError(f"{first} goes with --engine ray", "Give both, or neither.")
    return RayOptions(
        address=ray_address,
        workers=ray_workers,
        passed=tuple(name for text in ray_pass for name in text.split(",") if name),
        runtime_env={} if ray_env is None else _runtime_env(ray_env),
    )


def _runtime_env(path: Path) -> dict[str, Any]:
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise CommandError(f"--ray-env {path} cannot be read as JSON: {error}", "Write an object in it.") from None
    if not isinstance(value, dict):
        raise CommandError(f"--ray-env {path} holds no JSON object", 'Write one, such as {"pip": ["pandas"]}.')
    return cast("dict[str, Any]", value)
