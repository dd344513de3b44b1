"""The root command: what there is to call, and how every failure ends in one line and an exit code.

Nothing here may import openai, textual, scipy or pydantic: `rollgrid --help` and shell completion must be quick.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, TextIO

import click

from rollgrid._version import __version__
from rollgrid.errors import RollgridError
from rollgrid.masking import guard_output
from rollgrid_tui.cli.common import Settings, common_options, one_line

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class Entry(NamedTuple):
    """Where a command is and what `--help` says of it, without importing it."""

    module: str
    summary: str
    section: str


COMMANDS: dict[str, Entry] = {
    "demo": Entry("demo", "Run the sample environment on the embedded model and watch it.", "Run"),
    "run": Entry("run", "Run an environment: every task K times.", "Run"),
    "watch": Entry("watch", "Open the live grid of a run.", "Run"),
    "resume": Entry("run", "Go on with a run that is paused, was stopped or was killed.", "Run"),
    "pause": Entry("control", "Start no further attempt until the run is resumed.", "Run"),
    "cancel": Entry("control", "Stop a run; what is finished stays.", "Run"),
    "retry": Entry("control", "Run a run's failed attempts again.", "Run"),
    "more": Entry("more", "Run further attempts of a run's tasks.", "Run"),
    "concurrency": Entry("control", "Change how many attempts of a live run are made at once.", "Run"),
    "runs": Entry("runs", "List the runs of the log.", "Look"),
    "show": Entry("show", "Print a run, a task or one attempt.", "Look"),
    "errors": Entry("errors", "Print a run's errors by cause, and what to do about them.", "Look"),
    "contrast": Entry("contrast", "Print two attempts of a task step by step.", "Look"),
    "review": Entry("review", "Say whether a score is right, and what people said.", "Look"),
    "audit": Entry("audit", "How far a scorer agrees with people; copies; flaky verdicts.", "Look"),
    "baseline": Entry("baseline", "Pin a run as a reviewed JSON file.", "Compare"),
    "diff": Entry("baseline", "Compare two runs or baseline files.", "Compare"),
    "compare": Entry("compare", "Compare several runs as a table, models against tasks.", "Compare"),
    "history": Entry("history", "Show an environment over its runs, and where its pass rate changed.", "Compare"),
    "gate": Entry("gate", "Decide whether a run is good enough, for CI.", "Compare"),
    "plan": Entry("plan", "Say what is settled, and what it takes to settle the rest.", "Compare"),
    "rescore": Entry("rescore", "Score a run's transcripts anew, without a call to its model.", "Compare"),
    "export": Entry("export", "Write training data from a run.", "Compare"),
    "model": Entry("model", "Install, list and remove the embedded model.", "Set up"),
    "simulate": Entry("simulate", "Serve a simulated model API, with latency and faults.", "Set up"),
    "doctor": Entry("doctor", "Check the terminal, the log, the endpoint and the embedded model.", "Set up"),
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is called, never to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"rollgrid_tui.cli.{entry.module}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        command.short_help = entry.summary
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in COMMANDS.items():
            sections.setdefault(entry.section, []).append((name, entry.summary))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: rollgrid run evals/arithmetic.py -k 8",
)
@click.version_option(__version__, prog_name="rollgrid", message="%(prog)s %(version)s")
@common_options(draws=True)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Evaluate AI agents: run every task K times, watch the grid, keep the evidence.

    Without a command, opens the dashboard on this project's log.
    """
    if ctx.invoked_subcommand is None:
        from rollgrid_tui.cli.watch import open_dashboard

        open_dashboard(ctx.ensure_object(Settings), None)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_a_character(stream)
    guard_output()
    settings = Settings()
    code = run_cli(argv, settings)
    if code == EXIT_INTERRUPTED and not settings.debug:
        # A second Ctrl-C during interpreter shutdown would end in a traceback.
        sys.stderr.flush()
    sys.exit(code)


def run_cli(argv: Sequence[str] | None, settings: Settings) -> int:
    """Carry out one command line; every failure becomes one line on stderr and an exit code."""
    try:
        result: Any = cli.main(
            args=None if argv is None else list(argv), prog_name="rollgrid", standalone_mode=False, obj=settings
        )
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            # From click 8.2 on; before, it showed the help itself. It is a page and no complaint.
            click.echo(error.format_message(), err=True)
            return EXIT_USAGE
        where = error.ctx.command_path if error.ctx is not None else "rollgrid"
        _complain(error.format_message(), f"Try '{where} --help'.")
        return EXIT_USAGE
    except click.ClickException as error:
        _complain(error.format_message(), None)
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted", None)
        return EXIT_INTERRUPTED
    except RollgridError as error:
        _show_traceback(settings)
        _complain(error.message, error.hint)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (a pager, head): nothing more to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001  the last door: a defect of ours becomes one line, or a traceback when asked
        _show_traceback(settings)
        _complain(f"unexpected {type(error).__name__}: {error}", "Run it again with --debug to see where.")
        return EXIT_USAGE
    return result if isinstance(result, int) else 0


def _show_traceback(settings: Settings) -> None:
    if settings.debug:
        import traceback

        traceback.print_exc()


def _complain(message: str, hint: str | None) -> None:
    click.echo(f"rollgrid: {_sentence(message)}" + (f" {_sentence(hint, capital=True)}" if hint else ""), err=True)


def _sentence(text: str, *, capital: bool = False) -> str:
    """One line that ends in a full stop. A hint starts with a capital, unless it starts with a command."""
    text = one_line(text)
    if capital and not text.startswith(("rollgrid ", "`")):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _never_fail_on_a_character(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
