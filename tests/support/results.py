"""Results made by hand, for tests that look at what is done with them."""

from collections.abc import Callable, Sequence
from typing import Any

from rollgrid.agent.run import Message, RunOutput, RunStatus, ToolExecution
from rollgrid.environments.attempt import AttemptResult, StopReason
from rollgrid.environments.result import EnvironmentRunResult, TaskResult
from rollgrid.environments.task import Task
from rollgrid.scorer.base import Score


def run_output(answer: Any = "42", *, prompt: str = "question", system: str | None = None, **fields: Any) -> RunOutput:
    """A completed run that answered `answer` in text."""
    told = [] if system is None else [Message(role="system", content=system)]
    said = [] if answer is None else [Message(role="assistant", content=answer)]
    defaults = {
        "content": answer,
        "raw_text": answer,
        "input": prompt,
        "status": RunStatus.completed,
        "messages": [*told, Message(role="user", content=prompt), *said],
    }
    return RunOutput(**(defaults | fields))


def tool(name: str, result: str = "ok", **fields: Any) -> ToolExecution:
    arguments = fields.pop("args", {})
    return ToolExecution(tool_name=name, tool_args=arguments, result=result, **fields)


class Elsewhere:
    """Transcripts that lie elsewhere, and what was asked for."""

    def __init__(self, load: Callable[[], RunOutput | None]) -> None:
        self.load = load
        self.kept: list[AttemptResult] = []

    def read(self, attempt: AttemptResult) -> RunOutput | None:
        return self.load()

    def keeps(self, attempt: AttemptResult) -> None:
        self.kept.append(attempt)


def attempt(outcome: str = "+", run: RunOutput | None = None, **fields: Any) -> AttemptResult:
    """`+` passed, `-` failed, `!` error, `t` timeout, `c` cancelled, `p` paused, `u` completed but unscored.

    With `load` the transcript lies elsewhere and is what that gives.
    """
    if "load" in fields:
        fields |= {"run": None, "source": Elsewhere(fields.pop("load"))}
    stops = {"!": "error", "t": "timeout", "c": "cancelled", "p": "paused"}
    score = {"+": Score(1.0, True), "-": Score(0.0, False)}.get(outcome)
    errors = {"!": "ValueError: broken", "t": "timeout after 5 s", "u": "scorer: TypeError: no score"}
    defaults: dict[str, Any] = {
        "run": run if run is not None else run_output(),
        "score": score,
        "stop_reason": StopReason(stops.get(outcome, "completed")),
        "duration_seconds": 1.5,
        "error": errors.get(outcome),
        "error_type": {"!": "ValueError", "t": "AttemptTimeout", "u": "TypeError"}.get(outcome),
    }
    return AttemptResult(**(defaults | fields))


def task_result(id: str, outcomes: str | Sequence[AttemptResult], **task: Any) -> TaskResult:
    made = [attempt(one) if isinstance(one, str) else one for one in outcomes]
    for number, one in enumerate(made, start=1):
        one.index = number
    return TaskResult(Task(**({"input": "question", "expected": "42", "id": id} | task)), tuple(made))


def result(*tasks: TaskResult, **fields: Any) -> EnvironmentRunResult:
    defaults: dict[str, Any] = {
        "env_name": "arithmetic",
        "k": max((len(one.attempts) for one in tasks), default=1),
        "env_fingerprint": "rgenv1:aa",
        "policy_fingerprint": "pp",
        "task_results": tuple(tasks),
        "duration_seconds": 12.0,
    }
    return EnvironmentRunResult(**(defaults | fields))


def run_of(one: AttemptResult) -> RunOutput:
    """The transcript, which must be there."""
    assert one.run is not None
    return one.run


def score_of(one: AttemptResult) -> Score:
    """The score, which must be there."""
    assert one.score is not None
    return one.score
