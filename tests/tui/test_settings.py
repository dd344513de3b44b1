"""What a user may set about the dashboard."""

import pytest

from rollgrid.config import ConfigError
from rollgrid_tui.settings import Settings


def load(tmp_path, text="", environ=None, name="rollgrid.toml"):
    (tmp_path / name).write_text(text)
    return Settings.load(environ or {}, tmp_path)


def test_without_settings_the_log_is_looked_at_ten_times_a_second_and_four_over_ssh(tmp_path):
    assert load(tmp_path).fps == 10
    over_ssh = load(tmp_path, environ={"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    assert (over_ssh.fps, over_ssh.over_ssh) == (4, True)


def test_the_file_sets_and_the_environment_beats_it(tmp_path):
    text = '[dashboard]\ntheme = "light"\nfps = 2\nascii = true\n[dashboard.keys]\n"run.sort" = "o"\n'
    settings = load(tmp_path, text)
    assert (settings.theme, settings.fps, settings.ascii, settings.keys) == ("light", 2, True, {"run.sort": "o"})
    environ = {"ROLLGRID_FPS": "1", "ROLLGRID_THEME": "dark", "ROLLGRID_ASCII": "0"}
    settings = load(tmp_path, text, environ)
    assert (settings.theme, settings.fps, settings.ascii) == ("dark", 1, False)


def test_pyproject_works_as_well(tmp_path):
    settings = load(tmp_path, '[tool.rollgrid.dashboard]\ntheme = "terminal"\n', name="pyproject.toml")
    assert settings.theme == "terminal"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[dashboard]\nthemes = 1", "unknown dashboard setting 'themes'"),
        ('[dashboard]\ntheme = "pink"', "no dashboard theme 'pink'"),
        ("[dashboard]\nfps = 0", "fps is 0"),
        ('[dashboard]\nfps = "fast"', "fps is 'fast'"),
        ('[dashboard]\nascii = "yes"', "ascii is 'yes'"),
        ("[dashboard]\nkeys = 3", "keys is no table"),
        ('[dashboard.keys]\n"run.sort" = 3', "the key of 'run.sort' is 3"),
        ("dashboard = 3", "are no table"),
        ("[dashboard", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_one_line(tmp_path, text, what):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_wrong_variable_is_named(tmp_path):
    with pytest.raises(ConfigError, match="ROLLGRID_FPS: fps is 'many'"):
        load(tmp_path, environ={"ROLLGRID_FPS": "many"})
