"""The pytest plugin: what it asserts, and what a test report shows."""

import subprocess
import sys
from dataclasses import replace

import pytest
from junitparser import JUnitXml

from rollgrid import EnvironmentRunResult
from rollgrid.pytest_plugin import InconclusiveRun, assert_no_regression, assert_pass_rate
from support.results import result, task_result

GOOD = result(*(task_result(f"t{i}", "+" * 16) for i in range(20)))
HALF = result(*(task_result(f"t{i}", "++++++++--------") for i in range(20)))


def test_a_rate_that_is_surely_high_enough_passes():
    assert_pass_rate(GOOD, at_least=0.8, confidence=0.95)
    assert_pass_rate(HALF, at_least=0.4)


def test_a_rate_that_is_not_surely_high_enough_fails_with_the_interval():
    with pytest.raises(AssertionError, match=r"interval \[44\.6, 55\.4\] for tasks like these, at least 50 %"):
        assert_pass_rate(HALF, at_least=0.5)
    assert_pass_rate(HALF, at_least=0.5, confidence=None)
    with pytest.raises(AssertionError, match="at least 51 %"):
        assert_pass_rate(HALF, at_least=0.51, confidence=None)


def test_few_tasks_can_be_asked_about_themselves():
    few = result(*(task_result(f"t{i}", "+" * 8) for i in range(4)))
    with pytest.raises(AssertionError):
        assert_pass_rate(few, at_least=0.8)
    assert_pass_rate(few, at_least=0.8, scope="these")


def test_an_inconclusive_run_is_no_assertion_error():
    with pytest.raises(InconclusiveRun, match="error-storm"):
        assert_pass_rate(replace(HALF, stopped_early="error-storm"), at_least=0.9)
    assert not issubclass(InconclusiveRun, AssertionError)


def test_a_regression_fails_against_a_result_and_against_a_file(tmp_path):
    GOOD.save(tmp_path / "good.json")
    for baseline in (GOOD, str(tmp_path / "good.json")):
        assert_no_regression(GOOD, baseline)
        with pytest.raises(AssertionError, match="surely down"):
            assert_no_regression(HALF, baseline)
    assert isinstance(EnvironmentRunResult.load(tmp_path / "good.json"), EnvironmentRunResult)


SUITE = """
from rollgrid import CodeScorer, Environment, Task
from rollgrid.pytest_plugin import assert_pass_rate, environment_test

def made(name, answer):
    async def agent(question):
        if answer is None:
            raise OSError("no network")
        return answer
    scorer = CodeScorer(lambda run, expected: run.get_content_as_string() == expected)
    return Environment(name, [Task(f"q{i}", "42") for i in range(20)], scorer, agent)

test_right = environment_test(made("right", "42"), at_least=0.8, k=2)
test_wrong = environment_test(made("wrong", "41"), at_least=0.8, k=2)
test_down = environment_test(made("down", None), at_least=0.8, k=2)

def test_by_hand(rollouts):
    result = rollouts(made("right", "42"), k=5)
    assert_pass_rate(result, at_least=0.8)
    assert result.k == 3
"""


@pytest.fixture
def suite(tmp_path):
    """A folder with tests of its own; gives a function that runs pytest in it."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--rollgrid-k", "3", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


def test_an_environment_is_a_test(suite, tmp_path):
    done = suite("--junit-xml", "junit.xml")
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "InconclusiveRun" in done.stdout
    assert "AssertionError: gate failed: pass rate 0 %" in done.stdout
    assert "first error: OSError: no network" in done.stdout
    found = {case.name: case for suites in JUnitXml.fromfile(str(tmp_path / "junit.xml")) for case in suites}
    properties = {one.get("name"): one.get("value") for one in found["test_right"]._elem.iter("property")}
    assert properties["right.pass_rate"] == "1.0"
    assert properties["right.n_scored"] == "60"


def test_an_inconclusive_run_can_be_skipped(suite):
    done = suite("--rollgrid-inconclusive=skip")
    assert "1 failed, 2 passed, 1 skipped" in done.stdout


def test_loading_the_plugin_loads_nothing_heavy():
    heavy = ("openai", "scipy", "numpy", "pydantic", "textual")
    program = f"import sys, rollgrid.pytest_plugin; print(*(n for n in {heavy} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
