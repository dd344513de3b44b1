"""Actions and their keys."""

import inspect

import pytest

from rollgrid.config import ConfigError
from rollgrid_tui.actions import ACTIONS, SCOPES, in_scope
from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.glyphs import UNICODE
from rollgrid_tui.keymap import TOGETHER, Keymap, show_key
from rollgrid_tui.screens.alerts import AlertsScreen
from rollgrid_tui.screens.attempt import AttemptScreen
from rollgrid_tui.screens.baselines import BaselinesScreen
from rollgrid_tui.screens.contrast import ContrastScreen
from rollgrid_tui.screens.diff import DiffScreen
from rollgrid_tui.screens.help import help_blocks
from rollgrid_tui.screens.history import HistoryScreen
from rollgrid_tui.screens.mismatch import MismatchScreen
from rollgrid_tui.screens.review import ReviewScreen
from rollgrid_tui.screens.run import RunScreen
from rollgrid_tui.screens.run_control import ControlScreen
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from rollgrid_tui.widgets.runs_list import RunsList
from rollgrid_tui.widgets.table import Table
from rollgrid_tui.widgets.transcript import TranscriptView

HOMES = {
    "app": Dashboard,
    "runs": RunsList,
    "run": RunScreen,
    "grid": RolloutGrid,
    "attempt": AttemptScreen,
    "transcript": TranscriptView,
    "control": ControlScreen,
    "contrast": ContrastScreen,
    "baselines": BaselinesScreen,
    "diff": DiffScreen,
    "mismatch": MismatchScreen,
    "alerts": AlertsScreen,
    "review": ReviewScreen,
    "list": Table,
    "history": HistoryScreen,
}

EATEN = {"ctrl+b", "ctrl+s", "ctrl+a", "ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+left_square_bracket"}
"""Keys that tmux, screen, flow control or the terminal itself take, or that arrive as another key."""


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_method_where_it_works_and_says_what_it_does(action):
    name = action.call.partition("(")[0]
    assert inspect.isfunction(getattr(HOMES[action.scope], f"action_{name}"))
    assert action.scope in SCOPES
    assert action.label
    assert action.description


def test_ids_are_unique():
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)


@pytest.mark.parametrize("scopes", TOGETHER)
def test_a_key_means_one_thing_at_a_time(scopes):
    keys = [key for action in ACTIONS if action.scope in scopes for key in action.keys]
    assert sorted(keys) == sorted(set(keys))


def test_no_action_needs_a_key_that_something_else_eats():
    for action in ACTIONS:
        assert not action.keys or set(action.keys) - EATEN, action.id


def test_escape_never_leaves_the_application():
    assert all("escape" not in action.keys for action in ACTIONS if action.scope in {"app", "runs"})


def test_a_key_can_be_given_to_an_action_and_shows_as_a_person_writes_it():
    keymap = Keymap({"run.next_failure": "ctrl+n, f8"})
    assert keymap.keys("run.next_failure") == ("ctrl+n", "f8")
    assert keymap.all("run.next_failure") == "Ctrl+n f8"
    assert keymap.for_textual() == {"run.next_failure": "ctrl+n,f8"}
    assert keymap.first("app.help") == "?"


def test_an_unknown_action_and_a_key_with_two_meanings_are_refused_in_one_line():
    with pytest.raises(ConfigError, match=r"no action 'run\.fly'"):
        Keymap({"run.fly": "f"})
    with pytest.raises(ConfigError, match=r"'s' would mean both run\.sort and run\.next_failure"):
        Keymap({"run.next_failure": "s"})


def test_two_actions_can_swap_their_keys():
    keymap = Keymap({"run.next_failure": "s", "run.sort": "n"})
    assert keymap.first("run.sort") == "n"


def test_keys_are_shown_without_arrows_that_some_terminals_draw_wide():
    assert [show_key(key) for key in ("left", "ctrl+d", "right_square_bracket", "G")] == ["Left", "Ctrl+d", "]", "G"]


def test_help_names_the_actions_that_a_configuration_can_give_keys_to_and_shows_the_keys_given():
    keymap = Keymap({"control.more": "f6"})
    text = "\n".join(block.text for block in help_blocks(("grid", "control"), keymap, UNICODE))
    assert "f6" in text.casefold()
    assert "plus,f6" in text, "the example"
    for action in in_scope("grid", "control", "app"):
        assert action.id in text
