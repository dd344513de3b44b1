"""A server that answers, and a folder to work in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import Shell
from support.server import ServerProcess, server_process


@pytest.fixture(scope="session")
def api() -> Iterator[ServerProcess]:
    """One server for all tests; each takes the behaviour it needs by URL."""
    with server_process(life=7200) as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, api: ServerProcess) -> Iterator[Shell]:
    (tmp_path / "rollgrid.toml").touch()
    opened = Shell(tmp_path, {"OPENAI_BASE_URL": api.url_for("p=1"), "OPENAI_API_KEY": "test-key-not-a-secret"})
    yield opened
    opened.clear_away()
