"""What a streamed run tells as it goes on. The last event is always `RunEnded`, unless the run raises."""

from dataclasses import dataclass

from rollgrid.agent.run import RunOutput, ToolExecution
from rollgrid.models.retry import RetryNotice


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A request went out to the model."""

    run: RunOutput


@dataclass(frozen=True, slots=True)
class TextArrived:
    """`text` is new; what has arrived of this answer so far is in `run.partial_text`."""

    run: RunOutput
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    run: RunOutput
    name: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    run: RunOutput
    execution: ToolExecution


@dataclass(frozen=True, slots=True)
class CallRetried:
    """A model call failed; text that had arrived with it is void."""

    run: RunOutput
    notice: RetryNotice


@dataclass(frozen=True, slots=True)
class RunEnded:
    run: RunOutput


RunEvent = ModelCalled | TextArrived | ToolStarted | ToolEnded | CallRetried | RunEnded
