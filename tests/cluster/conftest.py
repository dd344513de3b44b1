"""A cluster of three nodes on this machine, a server that answers, and a folder to work in."""

import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from support.cli import Shell
from support.ray_cluster import VARIABLES, ClusterProcess, cluster_process
from support.server import ServerProcess, server_process

KEY = "test-key-9f86d081884c7d659a2feaa0c55ad015"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    try:
        metadata.version("ray")
    except metadata.PackageNotFoundError:
        skip = pytest.mark.skip(reason="no Ray here; `make ray` runs these")
    else:
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def cluster() -> Iterator[ClusterProcess]:
    # Ray makes sockets in it, and their paths may only be short.
    folder = Path(tempfile.mkdtemp(prefix="rg-ray-"))
    try:
        with cluster_process(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def api() -> Iterator[ServerProcess]:
    with server_process(life=3600) as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, api: ServerProcess) -> Iterator[Shell]:
    (tmp_path / "rollgrid.toml").touch()
    opened = Shell(tmp_path, {"OPENAI_BASE_URL": api.url_for("p=1"), "OPENAI_API_KEY": KEY, **VARIABLES})
    api.reset()
    yield opened
    opened.clear_away()
