"""How a run stands, counted as its attempts end, and what of them stays in memory."""

from functools import partial

from rollgrid.agent.run import RunOutput
from rollgrid.environments.attempt import AttemptResult, Transcripts
from rollgrid.runner.sink import EventSink

KEPT_BYTES = 32 << 20
"""About so much memory goes to the transcripts of a result that a caller waits for; the others stay in the log."""

_TRANSCRIPT_BYTES = 4096
"""What the objects of a short transcript take."""

_UNSCORED, _FAILED, _PASSED = 1, 2, 3


class Tally:
    """Counts every attempt once, by its newest take. A byte an attempt."""

    def __init__(self) -> None:
        self.n_ended = self.n_scored = self.n_passed = 0
        self._outcomes: dict[int, bytearray] = {}

    def take(self, task: int, attempt: int, result: AttemptResult) -> None:
        """This result counts from now on."""
        of_task = self._outcomes.setdefault(task, bytearray())
        of_task.extend(bytes(max(0, attempt + 1 - len(of_task))))
        before, now = of_task[attempt], _outcome(result)
        of_task[attempt] = now
        self.n_ended += not before
        self.n_scored += (now >= _FAILED) - (before >= _FAILED)
        self.n_passed += (now == _PASSED) - (before == _PASSED)


def _outcome(result: AttemptResult) -> int:
    if result.score is None:
        return _UNSCORED
    return _PASSED if result.score.passed else _FAILED


class Shelf:
    """Takes transcripts out of memory when there is no room for more, once the log has them.

    So a small result is in memory as a whole, whatever becomes of the log, and a large one does not outgrow it.
    """

    def __init__(self, sink: EventSink, source: Transcripts) -> None:
        self._sink = sink
        self._source = source
        self._room = KEPT_BYTES

    def put(self, result: AttemptResult, task: int) -> None:
        """Take in an attempt whose end was appended to the log just now."""
        run = result.run
        if run is None:
            return
        self._room -= _size(run)
        if self._room < 0:
            # A log knows the values of an instance and not its class, so an answer that is no text stays as it is.
            content = None if isinstance(run.content, str) else run.content
            self._sink.when_saved(partial(result.leave_to, self._source, task, content))


def _size(run: RunOutput) -> int:
    texts = sum(len(message.content or "") + len(message.reasoning or "") for message in run.messages)
    return _TRANSCRIPT_BYTES + texts + sum(len(tool.result or "") for tool in run.tools) + len(run.raw_text or "")
