"""The project's own defaults."""

from pathlib import Path

import pytest

from rollgrid.config import Config, ConfigError, load_config


def test_a_project_without_settings_has_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert load_config(tmp_path) == Config()


def test_settings_are_found_from_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.rollgrid]\nk = 3\nconcurrency = 2\nmodel = "local"\nascii = true\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    found = load_config(below)
    assert (found.k, found.concurrency, found.model, found.ascii) == (3, 2, "local", True)
    assert found.source == tmp_path / "pyproject.toml"


def test_a_file_of_our_own_wins(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.rollgrid]\nk = 3\n")
    (tmp_path / "rollgrid.toml").write_text("k = 4\n")
    assert load_config(tmp_path).k == 4


def test_a_relative_log_counts_from_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "rollgrid.toml").write_text('log = "runs/log.db"\n')
    below = tmp_path / "a"
    below.mkdir()
    assert load_config(below).log == tmp_path / "runs" / "log.db"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("kk = 1", "kk"),
        ("k = 0", "k"),
        ("k = true", "k"),
        ('concurrency = "4"', "concurrency"),
        ("model = 1", "model"),
        ('log = ""', "log"),
        ("ascii = 1", "ascii"),
        ("k = ", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_told_with_the_files_name(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "rollgrid.toml").write_text(text + "\n")
    with pytest.raises(ConfigError, match=word) as caught:
        load_config(tmp_path)
    assert "rollgrid.toml" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
