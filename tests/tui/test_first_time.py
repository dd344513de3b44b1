"""The hint for somebody's first time."""

from pathlib import Path

import pytest

from rollgrid.config import ConfigError
from rollgrid_tui.first_time import is_first_time, remember, state_folder
from rollgrid_tui.settings import Settings
from support.dash import dashboard, lines, settle
from support.fake_log import FakeLog, run_row


def test_it_is_shown_once_and_that_is_kept_with_the_users_own_state(tmp_path: Path):
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert is_first_time(environ)
    remember(environ)
    assert not is_first_time(environ)
    assert [path.name for path in (tmp_path / "state" / "rollgrid").iterdir()] == ["hint-shown"]
    assert state_folder({"HOME": str(tmp_path)}) == tmp_path / ".local" / "state" / "rollgrid"


def test_where_nothing_can_be_kept_nothing_fails(tmp_path: Path):
    (tmp_path / "file").touch()
    environ = {"XDG_STATE_HOME": str(tmp_path / "file")}
    remember(environ)
    assert not is_first_time({})
    remember({})


async def test_it_names_the_main_keys_and_goes_with_the_next_key():
    shown: list[bool] = []
    async with dashboard(FakeLog([run_row()]), on_hint=lambda: shown.append(True)) as (app, pilot):
        assert "? lists all keys, : finds an action by name, q quits and runs go on" in lines(app)[-1]
        await pilot.press("j")
        await settle(pilot)
        assert "lists all keys" not in lines(app)[-1]
        assert shown == [True]


async def test_nothing_is_said_to_somebody_who_knows():
    async with dashboard(FakeLog([run_row()])) as (app, _):
        assert "lists all keys" not in lines(app)[-1]


def test_it_can_be_turned_off(tmp_path: Path):
    config = tmp_path / "rollgrid.toml"
    config.write_text("[dashboard]\nhints = false\n")
    assert not Settings.load({}, tmp_path).hints
    config.write_text("[dashboard]\nhints = 'no'\n")
    with pytest.raises(ConfigError, match="hints is 'no'"):
        Settings.load({}, tmp_path)
    config.write_text("")
    assert Settings.load({}, tmp_path).hints
