"""Every failure ends in one line and an exit code."""

import click
import pytest

from rollgrid.errors import RollgridError
from rollgrid_tui.cli import root
from rollgrid_tui.cli.common import Settings


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """Make the command `runs` raise what a test wants."""

    def raise_in_command(error: BaseException) -> None:
        @click.command("runs")
        def command() -> None:
            raise error

        monkeypatch.setattr("rollgrid_tui.cli.runs.runs_command", command)

    return raise_in_command


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (RollgridError("the disk is full", "free some space"), 2, "rollgrid: the disk is full. Free some space."),
        (RollgridError("no run", "rollgrid runs lists them"), 2, "rollgrid: no run. rollgrid runs lists them."),
        (RollgridError("two\nlines\x1b[2J"), 2, "rollgrid: two lines\\x1b[2J."),
        (KeyboardInterrupt(), 130, "rollgrid: interrupted."),
        (
            ZeroDivisionError("oh"),
            2,
            "rollgrid: unexpected ZeroDivisionError: oh. Run it again with --debug to see where.",
        ),
    ],
)
def test_a_failure_is_one_line(failing, capsys, error: BaseException, code: int, line: str) -> None:
    failing(error)
    assert root.run_cli(["runs"], Settings()) == code
    seen = capsys.readouterr()
    assert (seen.out, seen.err.lstrip("\n")) == ("", line + "\n")


def test_an_error_keeps_its_own_exit_code(failing) -> None:
    error = RollgridError("nothing was scored")
    error.exit_code = 3
    failing(error)
    assert root.run_cli(["runs"], Settings()) == 3


def test_debug_shows_where(failing, capsys) -> None:
    failing(RollgridError("no"))
    assert root.run_cli(["--debug", "runs"], Settings()) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["baseline", "export", "model"])
def test_a_group_without_a_command_shows_its_help_as_a_page(group: str, capsys) -> None:
    root.run_cli([group], Settings())
    seen = capsys.readouterr()
    lines = (seen.out + seen.err).splitlines()
    assert lines[0].startswith(f"Usage: rollgrid {group}")
    assert len(lines) > 8


@pytest.mark.parametrize("args", [["nothing"], ["runs", "--nothing"], ["show"], ["runs", "-n", "0"]])
def test_usage_names_the_help(args: list[str], capsys) -> None:
    assert root.run_cli(args, Settings()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rollgrid: ")
    assert "--help" in line


@pytest.mark.parametrize("name", root.COMMANDS)
def test_the_list_of_commands_is_that_of_the_modules(name: str) -> None:
    command = root.cli.get_command(click.Context(root.cli), name)
    assert command is not None
    assert command.name == name


def test_the_option_nearest_to_the_end_wins(tmp_path, capsys) -> None:
    settings = Settings()
    root.run_cli(["--log", str(tmp_path / "a.db"), "runs", "--log", str(tmp_path / "b.db"), "--json"], settings)
    assert settings.log_path() == tmp_path / "b.db"
    assert "b.db" in capsys.readouterr().out
