"""What goes wrong is told in one line that says what to do, without a traceback."""

import sqlite3
from pathlib import Path

import pytest

from support.cli import Shell, assert_one_line
from support.server import ServerProcess

pytestmark = pytest.mark.e2e

RUN = ("run", "env.py", "-k", "2", "--headless")


def write(shell: Shell, text: str) -> None:
    (shell.folder / "env.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("way", ["--headless", "--detach"])
def test_no_such_file(shell: Shell, way: str) -> None:
    assert_one_line(shell.run("run", "nowhere.py", way), "no such file", "nowhere.py")


@pytest.mark.parametrize("way", ["--headless", "--detach"])
def test_a_file_without_an_environment(shell: Shell, way: str) -> None:
    write(shell, "x = 1\n")
    assert_one_line(shell.run("run", "env.py", way), "env.py", "no Environment")


def test_a_file_with_several_environments(shell: Shell) -> None:
    path = shell.environment()
    path.write_text(path.read_text() + "\nother = Environment('other', env.tasks, env.scorer, env.agent)\n")
    assert_one_line(shell.run(*RUN), "env.py:env", "other")
    assert shell.run("run", "env.py:other", "-k", "1", "--headless").returncode == 0


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["--headless", "--detach"])
def test_an_import_error_shows_the_users_own_line(shell: Shell, way: str) -> None:
    write(shell, "import json\n\nimport no_such_package_anywhere\n")
    assert_one_line(
        shell.run("run", "env.py", way), "env.py:3", "import no_such_package_anywhere", "ModuleNotFoundError"
    )


def test_a_syntax_error_shows_the_users_own_line(shell: Shell) -> None:
    write(shell, "x = 1\nif x\n")
    assert_one_line(shell.run(*RUN), "env.py:2", "if x")


@pytest.mark.parametrize("way", ["--headless", "--detach"])
def test_no_api_key(shell: Shell, way: str) -> None:
    shell.environment()
    shell.variables.clear()
    assert_one_line(shell.run("run", "env.py", way), "OPENAI_API_KEY")
    assert shell.runs() == []


def test_an_unreachable_endpoint(shell: Shell) -> None:
    shell.environment(tasks=1)
    shell.variables["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    assert_one_line(shell.run(*RUN), "127.0.0.1:9", code=(2, 3))


def test_an_unknown_model(shell: Shell, api: ServerProcess) -> None:
    shell.environment(tasks=1)
    shell.variables["OPENAI_BASE_URL"] = api.url_for("e404=1")
    assert_one_line(shell.run(*RUN), "404", "test-model", code=(2, 3))


def test_a_wrong_key_stops_at_once(shell: Shell, api: ServerProcess) -> None:
    shell.environment(tasks=20)
    shell.variables["OPENAI_BASE_URL"] = api.url_for("e401=1")
    done = shell.run("run", "env.py", "-k", "8", "--headless")
    assert_one_line(done, "no attempt was scored", "401", code=3)
    (run,) = shell.runs()
    assert run["stopped_early"] == "error-storm"
    assert run["n_ended"] <= 8


def test_k_of_zero(shell: Shell) -> None:
    shell.environment()
    assert_one_line(shell.run("run", "env.py", "-k", "0", "--headless"), "-k")


def test_a_word_that_is_no_number(shell: Shell) -> None:
    shell.environment()
    assert_one_line(shell.run("run", "env.py", "-k", "many", "--headless"), "many")


def test_a_folder_for_the_log_that_cannot_be_made(shell: Shell) -> None:
    """A file stands where the folder would be: that stops root too, whom permissions do not."""
    shell.environment()
    (shell.folder / "file").touch()
    assert_one_line(shell.run(*RUN, "--log", "file/log.db"), "file", "--log")
    assert_one_line(shell.run("run", "env.py", "--detach", "--log", "file/log.db"), "file", "--log")


def test_a_log_of_a_newer_version_is_left_alone(shell: Shell) -> None:
    shell.environment(tasks=1)
    assert shell.run(*RUN).returncode == 0
    with sqlite3.connect(shell.log) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    before = shell.log.read_bytes()
    for command in (RUN, ("runs",), ("show", "last"), ("watch",), ("resume", "last", "--headless")):
        if command != ("watch",):
            assert_one_line(shell.run(*command), "newer")
    assert shell.log.read_bytes() == before


def test_a_file_that_is_no_log(shell: Shell) -> None:
    (shell.folder / "notes.txt").write_text("not a database, but long enough to look at" * 100)
    assert_one_line(shell.run("runs", "--log", "notes.txt"), "notes.txt")


@pytest.mark.parametrize("command", [(), ("watch",), ("run", "env.py"), ("demo",)], ids=lambda c: " ".join(c) or "bare")
def test_a_dashboard_without_a_terminal(shell: Shell, command: tuple[str, ...]) -> None:
    shell.environment()
    assert_one_line(shell.run(*command), "terminal")
    assert not shell.log.exists()


@pytest.mark.parametrize("command", [("show", "zzzzzz"), ("resume", "zzzzzz", "--headless"), ("pause", "zzzzzz")])
def test_a_run_that_is_not_there(shell: Shell, command: tuple[str, ...]) -> None:
    shell.environment(tasks=1)
    assert shell.run("run", "env.py", "-k", "1", "--headless").returncode == 0
    assert_one_line(shell.run(*command), "zzzzzz")


def test_steering_a_run_that_has_ended(shell: Shell) -> None:
    shell.environment(tasks=1)
    assert shell.run("run", "env.py", "-k", "1", "--headless").returncode == 0
    assert_one_line(shell.run("pause", "last"), "finished", "rollgrid resume")


def test_a_setting_that_is_not_known(shell: Shell) -> None:
    shell.environment()
    (shell.folder / "rollgrid.toml").write_text("kk = 3\n")
    assert_one_line(shell.run(*RUN), "rollgrid.toml", "kk")


def test_a_baseline_that_is_none(shell: Shell) -> None:
    shell.environment(tasks=1)
    (shell.folder / "b.json").write_text("{}")
    assert_one_line(shell.run(*RUN, "--baseline", "b.json"), "b.json")
    assert not shell.log.exists()


def test_a_traceback_comes_when_it_is_asked_for(shell: Shell) -> None:
    done = shell.run("run", "nowhere.py", "--headless", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_an_unwritable_path_is_no_traceback_for_exports(shell: Shell, tmp_path: Path) -> None:
    shell.environment(tasks=1)
    assert shell.run("run", "env.py", "-k", "1", "--headless").returncode == 0
    (tmp_path / "file").touch()
    assert_one_line(shell.run("baseline", "save", "last", "file/b.json"), "file/b.json")
