import re
from pathlib import Path

import pytest

from rollgrid.store.ids import ALPHABET, new_run_id
from rollgrid.store.paths import default_log_path, log_is_off


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv("ROLLGRID_LOG", raising=False)


@pytest.mark.parametrize("mark", ["pyproject.toml", "rollgrid.toml", ".git", ".rollgrid"])
def test_the_log_is_in_the_project_that_holds_the_working_directory(tmp_path: Path, mark):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / mark).touch()
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    assert default_log_path(deep) == tmp_path / "project" / ".rollgrid" / "log.db"


def test_the_nearest_project_wins(tmp_path: Path):
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / "pyproject.toml").touch()
    (inner / "pyproject.toml").touch()
    assert default_log_path(inner) == inner / ".rollgrid" / "log.db"


def test_without_a_project_the_log_is_in_the_working_directory(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert default_log_path() == tmp_path / ".rollgrid" / "log.db"


def test_the_variable_names_the_log(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROLLGRID_LOG", "elsewhere/my.db")
    assert default_log_path() == tmp_path / "elsewhere" / "my.db"
    assert not log_is_off()


@pytest.mark.parametrize("word", ["off", "OFF", " off "])
def test_the_variable_turns_the_log_off(tmp_path: Path, monkeypatch, word):
    monkeypatch.setenv("ROLLGRID_LOG", word)
    assert log_is_off()
    assert default_log_path(tmp_path).name == "log.db"


def test_an_empty_variable_says_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("ROLLGRID_LOG", "")
    assert not log_is_off()
    assert default_log_path(tmp_path) == tmp_path / ".rollgrid" / "log.db"


def test_run_ids_can_be_typed_and_spell_nothing():
    ids = {new_run_id() for _ in range(500)}
    assert len(ids) == 500
    assert all(re.fullmatch(rf"[a-z][{ALPHABET}]{{5}}", run_id) for run_id in ids)
    assert not set(ALPHABET) & set("aeiou01l")
