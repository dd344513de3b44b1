"""pytest: an environment as a test, judged by its pass rate and how surely that is known.

    from rollgrid.pytest_plugin import assert_pass_rate, environment_test

    def test_marks(rollouts):
        assert_pass_rate(rollouts(env, k=8), at_least=0.8, confidence=0.95)

    test_the_same = environment_test(env, k=8, at_least=0.8)

pytest loads this module by itself wherever rollgrid is installed; nothing heavy is imported until a test uses it.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import pytest

if TYPE_CHECKING:
    from rollgrid.environments import Environment, EnvironmentRunResult

__all__ = ["InconclusiveRun", "Rollouts", "assert_no_regression", "assert_pass_rate", "environment_test"]

REPORT_NAME = "rollgrid"


class InconclusiveRun(Exception):
    """A run that says nothing either way: broken infrastructure, no wrong answers.

    It is no `AssertionError`, so that a test report tells the two apart. `--rollgrid-inconclusive=skip` skips the test.
    """


class Rollouts(Protocol):
    """What the fixture `rollouts` gives: `run_rollouts` with the options of the command line."""

    def __call__(
        self, env: "Environment", *, k: int = 8, concurrency: int = 4, **options: Any
    ) -> "EnvironmentRunResult": ...


def assert_pass_rate(
    result: "EnvironmentRunResult",
    at_least: float,
    *,
    confidence: float | None = 0.95,
    scope: Literal["like-these", "these"] = "like-these",
    max_unscored: float = 0.1,
) -> None:
    """Fail unless the pass rate is at least `at_least`.

    With a `confidence` the lower end of the interval at that confidence must reach it; with None the rate as it is.
    `scope` says whether the interval answers for tasks like these (clustered by task, wide with few tasks) or for
    exactly these tasks run again. Raises `InconclusiveRun` when the run ended early, scored nothing, or left more than
    the share `max_unscored` unscored.
    """
    from rollgrid.analysis.gate import GateRules, decide

    __tracebackhide__ = True
    if confidence is None:
        rules = GateRules(min_pass_rate=at_least, max_unscored=max_unscored)
    else:
        rules = GateRules(min_lower_bound=at_least, max_unscored=max_unscored, confidence=confidence, scope=scope)
    _judge(decide(result, rules))


def assert_no_regression(
    result: "EnvironmentRunResult",
    baseline: "EnvironmentRunResult | str",
    *,
    confidence: float = 0.95,
    max_unscored: float = 0.1,
) -> None:
    """Fail when the run, or a task of it, is worse than the baseline (a result or a file) by more than chance.

    Raises `InconclusiveRun` as `assert_pass_rate` does, and `MismatchError` for a baseline of another environment.
    """
    from rollgrid.analysis.gate import GateRules, decide
    from rollgrid.environments import EnvironmentRunResult

    __tracebackhide__ = True
    before = baseline if isinstance(baseline, EnvironmentRunResult) else EnvironmentRunResult.load(baseline)
    _judge(decide(result, GateRules(confidence=confidence, max_unscored=max_unscored), before))


def environment_test(
    env: "Environment", *, at_least: float, k: int = 8, confidence: float | None = 0.95, **options: Any
) -> Callable[[Rollouts], None]:
    """A test function that runs `env` and asserts its pass rate; bind it to a name that starts with `test_`.

    `options` are those of `run_rollouts`, and `scope` and `max_unscored` of `assert_pass_rate`.
    """
    judged = {name: options.pop(name) for name in ("scope", "max_unscored") if name in options}

    def test_environment(rollouts: Rollouts) -> None:
        __tracebackhide__ = True
        assert_pass_rate(rollouts(env, k=k, **options), at_least, confidence=confidence, **judged)

    test_environment.__doc__ = f"The pass rate of the environment {env.name} is at least {at_least:g}."
    return test_environment


@pytest.fixture
def rollouts(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Rollouts:
    """Run environments in a test: `rollouts(env, k=8)` gives the result.

    The grid becomes a section of the test's report, and figures become properties in JUnit XML. `--rollgrid-k` and
    `--rollgrid-concurrency` beat what the test says.
    """

    def run(env: "Environment", *, k: int = 8, concurrency: int = 4, **options: Any) -> "EnvironmentRunResult":
        from rollgrid.environments import run_rollouts

        own: int | None = request.config.getoption("rollgrid_k")
        at_once: int | None = request.config.getoption("rollgrid_concurrency")
        result = run_rollouts(env, k=own or k, concurrency=at_once or concurrency, **options)
        item = cast("pytest.Item", request.node)  # pyright: ignore[reportUnknownMemberType]
        item.add_report_section("call", REPORT_NAME, str(result))
        for name in ("pass_rate", "n_scored", "n_unscored"):
            record_property(f"{env.name}.{name}", getattr(result, name))
        if result.about.get("run_id"):
            record_property(f"{env.name}.run_id", result.about["run_id"])
        return result

    return run


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("rollgrid", "environments as tests")
    group.addoption("--rollgrid-k", type=int, metavar="N", help="attempts of each task, whatever the tests say")
    group.addoption("--rollgrid-concurrency", type=int, metavar="N", help="attempts at once, whatever the tests say")
    group.addoption(
        "--rollgrid-inconclusive",
        choices=("error", "skip"),
        default="error",
        help="what a run that says nothing does to its test (default: error)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """An inconclusive run may skip its test; it never counts as a wrong answer."""
    try:
        return (yield)
    except InconclusiveRun as error:
        if item.config.getoption("rollgrid_inconclusive") == "skip":
            pytest.skip(f"inconclusive: {error}")
        raise


def _judge(decision: Any) -> None:
    """Raise what a decision asks for. `AssertionError` is raised by hand: `python -O` would take an assert away."""
    __tracebackhide__ = True
    if decision.outcome == "inconclusive":
        raise InconclusiveRun(str(decision))
    if decision.outcome == "failed":
        raise AssertionError(str(decision))
