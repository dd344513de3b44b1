"""Names and import paths that scripts rely on, and what importing them costs."""

import importlib
import subprocess
import sys

import pytest

PATHS = {
    "rollgrid.agent": ["Agent"],
    "rollgrid.models.openai": ["OpenAIResponses", "OpenAIChat"],
    "rollgrid.environments": [
        "Environment",
        "Task",
        "run_rollouts",
        "arun_rollouts",
        "EnvironmentRunResult",
        "EnvironmentDiff",
        "TaskResult",
        "AttemptResult",
        "StopReason",
        "ExportReport",
        "to_sft_jsonl",
        "ato_sft_jsonl",
        "FingerprintError",
        "MismatchError",
    ],
    "rollgrid.scorer": [
        "Scorer",
        "Score",
        "CodeScorer",
        "JudgeScorer",
        "ToolCallScorer",
        "FingerprintError",
        "MismatchError",
    ],
}


@pytest.mark.parametrize(("module", "names"), PATHS.items(), ids=PATHS.keys())
def test_every_documented_name_is_where_it_is_documented_and_at_the_top(module, names):
    for name in names:
        value = getattr(importlib.import_module(module), name)
        assert getattr(importlib.import_module("rollgrid"), name) is value


@pytest.mark.parametrize("module", ["rollgrid", "rollgrid.environments", "rollgrid.scorer"])
def test_everything_that_is_promised_can_be_had(module):
    package = importlib.import_module(module)
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_the_errors_are_one_class_on_both_paths():
    environments, scorer = importlib.import_module("rollgrid.environments"), importlib.import_module("rollgrid.scorer")
    assert environments.FingerprintError is scorer.FingerprintError
    assert environments.MismatchError is scorer.MismatchError


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import rollgrid", "pydantic openai textual rich scipy aiosqlite orjson numpy"),
        ("import rollgrid.environments, rollgrid.scorer", "pydantic openai textual rich scipy aiosqlite numpy"),
        ("from rollgrid.environments import Environment, Task, EnvironmentRunResult", "openai textual rich scipy"),
        ("from rollgrid.scorer import CodeScorer, ToolCallScorer", "openai textual rich scipy aiosqlite numpy"),
    ],
)
def test_an_import_loads_no_more_than_it_must(statement, absent):
    program = f"import sys\n{statement}\nprint(*(n for n in {absent.split()!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
