"""`rollgrid demo`: the sample environment on real weights, or loudly on the simulated model without them."""

import importlib.util
from pathlib import Path

import click

from rollgrid.errors import RollgridError
from rollgrid_tui.cli.common import CommandError, Settings, common_options, json_option

SIMULATED = """\
SIMULATED: the demo runs on made-up answers, no model is asked.
Why: {why}
For a real model: {how}"""


@click.command("demo", epilog="Example: rollgrid demo --yes")
@click.option("-k", "--k", "k", type=click.IntRange(min=1), default=8, show_default=True, help="Attempts of each task.")
@click.option("--yes", is_flag=True, help="Agree to the download of the embedded model's weights.")
@click.option("--simulated", is_flag=True, help="Take the simulated model, also when the weights are there.")
@click.option("--headless", is_flag=True, help="Run in this process: progress on stderr, the final grid on stdout.")
@json_option
@common_options(draws=True)
@click.pass_obj
def demo_command(settings: Settings, k: int, yes: bool, simulated: bool, headless: bool, as_json: bool) -> int:
    """Run the sample environment on the embedded model and open the live grid. No key, no network.

    Without the model's weights it offers to fetch them; without that it runs simulated, and says so everywhere.
    """
    from rollgrid_tui.cli.run import Mode, carry_out

    mode = Mode(headless=headless, detach=False, as_json=as_json)
    mode.check()
    missing = None if simulated else why_not_real(agreed=yes)
    if simulated or missing is not None:
        why, how = missing or ("it was asked for.", "leave --simulated out")
        click.echo(SIMULATED.format(why=why, how=how), err=True)
    from rollgrid.runner.machine import author
    from rollgrid.runner.request import RunRequest
    from rollgrid.store.ids import new_run_id

    request = RunRequest(
        run_id=new_run_id(),
        log=settings.log_path(),
        author=author(),
        ref=str(demo_environment()),
        cwd=str(Path.cwd()),
        k=k,
        model="simulated" if simulated or missing is not None else None,
        storm_action="pause" if mode.watched else "stop",
    )
    return carry_out(settings, request, mode, None)


def why_not_real(*, agreed: bool) -> tuple[str, str] | None:
    """None when the embedded model can run; else why not, and how to get it."""
    from rollgrid.models.local import DEFAULT_MODEL
    from rollgrid_tui.cli.model import offer_install

    if importlib.util.find_spec("xllamacpp") is None:
        return ("the embedded model's runtime is not installed.", "pip install 'rollgrid[local]', then rollgrid demo")
    try:
        there = offer_install(DEFAULT_MODEL, agreed=agreed)
    except RollgridError as error:
        return (f"the weights could not be had: {error.message}.", error.hint or "rollgrid model install")
    return None if there else ("the embedded model's weights are not installed.", "rollgrid model install")


def demo_environment() -> Path:
    """The sample environment: inside an installed package, or in the project's own folder of a checkout."""
    here = Path(__file__).resolve().parents[1]
    for folder in (here / "_demo" / "quickstart", here.parents[1] / "sample_envs" / "quickstart"):
        if (folder / "env.py").is_file():
            return folder / "env.py"
    raise CommandError("this installation has no sample environment", "Install rollgrid from its wheel or a checkout.")
