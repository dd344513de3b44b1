"""Without the libraries."""

import sys

import pytest

from rollgrid import adapters
from rollgrid.adapters import AgnoAgent, OpenAIAgentsAgent, PydanticAIAgent, adapted, is_foreign
from rollgrid.adapters.foreign import library


@pytest.mark.parametrize(
    ("adapter", "module", "extra"),
    [(PydanticAIAgent, "pydantic_ai", "pydantic-ai"), (OpenAIAgentsAgent, "agents", "openai-agents")],
)
def test_a_missing_library_is_named_with_what_to_install(monkeypatch, adapter, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"{module} is not installed.*rollgrid\[{extra}\]"):
        adapter(object())


def test_a_library_that_misses_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        library("half_there", "half")


def test_what_is_of_no_known_library_is_left_as_it_is():
    class Agent:
        """Of the same name only."""

    for thing in (Agent(), Agent, None, "agent", len):
        assert not is_foreign(thing)
        assert adapted(thing) is thing


def test_every_public_name_can_be_imported():
    for name in adapters.__all__:
        assert getattr(adapters, name) is not None
    assert AgnoAgent.library_name == "agno"
