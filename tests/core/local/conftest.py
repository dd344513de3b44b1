import json
import sys

import pytest

from rollgrid.models.local import model as model_module
from rollgrid.models.local import process
from support import fake_model


class FakeModel:
    """Sets what the next model process does, and reads what it saw."""

    def __init__(self, monkeypatch, tmp_path):
        self._monkeypatch = monkeypatch
        self._requests = tmp_path / "requests.jsonl"
        self.plan()
        monkeypatch.setattr(
            process, "server_command", lambda settings: [sys.executable, fake_model.__file__, str(settings.model)]
        )
        monkeypatch.setattr(process, "log_folder", lambda: tmp_path / "logs")

    def plan(self, *replies, mode="serve"):
        plan = {"mode": mode, "requests": str(self._requests), "replies": list(replies) or ["hello"]}
        self._monkeypatch.setenv("FAKE_MODEL", json.dumps(plan))

    def seen(self):
        return [json.loads(line) for line in self._requests.read_text().splitlines()]

    def bodies(self):
        return [line["body"] for line in self.seen() if "body" in line]

    def pids(self):
        return [line["pid"] for line in self.seen() if "pid" in line]


@pytest.fixture
async def fake(monkeypatch, tmp_path):
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"GGUF")
    monkeypatch.setattr(model_module, "find", lambda name: weights)
    monkeypatch.setattr(model_module, "runtime_is_installed", lambda: True)
    yield FakeModel(monkeypatch, tmp_path)
    await process.close_local_models()
