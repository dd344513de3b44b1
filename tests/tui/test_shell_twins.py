"""What the dashboard shows or does can be had from a shell, as JSON: each action names the command."""

import re

import click
import pytest

from rollgrid_tui.actions import ACTIONS, Action
from rollgrid_tui.cli.root import COMMANDS, cli

MOVES = {
    "cursor",
    "page",
    "edge",
    "edge_row",
    "edge_column",
    "move",
    "scroll",
    "section",
    "step",
    "task",
    "failure",
    "difference",
    "other",
    "switch_pane",
    "pane",
    "back",
}
"""What moves an eye over what is there already."""

OF_THE_SCREEN = {
    "run.filter": "the JSON of `show` has every task; a reader picks",
    "run.sort": "as with the filter",
    "attempt.search": "grep does that",
    "attempt.copy_answer": "`show` prints it",
    "list.open": "what it opens has a command of its own",
    "baselines.refresh": "a command always looks anew",
    "history.refresh": "a command always looks anew",
    "diff.align": "`contrast` takes the two attempts",
    "review.next": "moves in the queue",
    "review.previous": "moves in the queue",
    "review.next_open": "moves in the queue",
    "review.which": "which attempts the queue holds",
    "review.filter": "which attempts the queue holds",
    "app.help": "--help",
    "app.commands": "--help",
    "app.suspend": "a shell is there",
    "app.redraw": "about the screen",
    "app.theme": "about the screen",
    "app.quit": "a shell is there",
}

NO_JSON = {"watch": "opens the dashboard", "run": "takes --json with --headless or --detach"}


def call_of(action: Action) -> str:
    return action.call.partition("(")[0]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_that_shows_or_does_something_names_its_command(action: Action) -> None:
    if action.command:
        assert action.id not in OF_THE_SCREEN
    else:
        assert call_of(action) in MOVES or action.id in OF_THE_SCREEN, f"{action.id} needs a shell twin"


@pytest.mark.parametrize("line", sorted({action.command for action in ACTIONS if action.command}))
def test_the_command_exists_and_prints_json(line: str) -> None:
    program, name, *words = line.split()
    assert (program, name in COMMANDS) == ("rollgrid", True)
    command = cli.get_command(click.Context(cli), name)
    if isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
    assert command is not None
    options = {opt: parameter for parameter in command.params for opt in parameter.opts}
    for word in words:
        if word.startswith("-"):
            assert word in options, f"{line}: there is no {word}"
        else:
            assert re.fullmatch(r"[A-Z]+|auto|latest", word), line
    assert "--json" in options or name in NO_JSON


def test_the_reasons_are_about_actions_that_exist() -> None:
    assert set(OF_THE_SCREEN) <= {action.id for action in ACTIONS}
