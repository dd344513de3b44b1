"""The outcome of one attempt."""

from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from rollgrid.agent.run import RunOutput
from rollgrid.scorer.base import Score


class StopReason(StrEnum):
    """Why an attempt stopped. Only a completed one is scored."""

    completed = "completed"
    error = "error"
    timeout = "timeout"
    cancelled = "cancelled"
    paused = "paused"


class Usage(NamedTuple):
    """What the model calls of an attempt took. `cost` is US dollars, None when no price is known."""

    input_tokens: int
    output_tokens: int
    cost: float | None


class Transcripts(Protocol):
    """Where the transcripts of attempts lie that are not in memory: the log, or a baseline file."""

    def read(self, attempt: "AttemptResult") -> RunOutput | None:
        """The transcript, made anew at each call. May fill in what lies beside it (the score's `detail`)."""
        ...

    def keeps(self, attempt: "AttemptResult") -> None:
        """Told that the attempt has its transcript in memory now; may take it away again, later."""
        ...


class AttemptResult:
    """One attempt, complete. A failure is data here, never an exception.

    `score` is None when the attempt is unscored. `run` is what the agent left behind; where that lies in the log or in
    a large file it is read when it is asked for, so that a large result stays small. `index` is the attempt's number
    (1-based), `take` how often it has been run, `limit` the clock that fired on a timeout, `status` the HTTP status of
    the error where there was one.
    """

    __slots__ = (
        "_content",
        "_run",
        "_source",
        "_usage",
        "duration_seconds",
        "error",
        "error_type",
        "index",
        "limit",
        "place",
        "score",
        "status",
        "stop_reason",
        "take",
        "tool_call_limit_hit",
    )

    def __init__(
        self,
        run: RunOutput | None,
        score: Score | None,
        stop_reason: StopReason,
        duration_seconds: float,
        error: str | None = None,
        tool_call_limit_hit: bool = False,
        error_type: str | None = None,
        *,
        index: int = 0,
        take: int = 1,
        limit: str | None = None,
        status: int | None = None,
        source: Transcripts | None = None,
        place: int = 0,
        usage: Usage | None = None,
    ) -> None:
        self._run = run
        self._source = source
        self._usage = usage
        self._content: Any = None
        self.place = place
        """Where the source has it: the position of its task, or of its line."""
        self.score = score
        self.stop_reason = stop_reason
        self.duration_seconds = duration_seconds
        self.error = error
        self.tool_call_limit_hit = tool_call_limit_hit
        self.error_type = error_type
        self.index = index
        self.take = take
        self.limit = limit
        self.status = status

    @property
    def run(self) -> RunOutput | None:
        if self._run is None and self._source is not None:
            self._run = self._read(self._source)
            if self._run is not None:
                self._source.keeps(self)
        return self._run

    def drop_run(self) -> None:
        """Forget the transcript, which the log or a file has; the figures stay."""
        self._usage = self.usage
        self._run = None

    def leave_to(self, source: Transcripts, place: int, content: Any = None) -> None:
        """Forget the transcript, which is read from `source` when it is asked for again.

        `content` is the answer where it must stay what it was: a source knows the values of an instance, not its class.
        """
        self._source, self.place, self._content = source, place, content
        self.drop_run()

    @property
    def is_loaded(self) -> bool:
        """Whether the transcript is in memory."""
        return self._run is not None

    def read_run(self) -> RunOutput | None:
        """As `run`, without keeping what had to be loaded: for going through many attempts once."""
        if self._run is None and self._source is not None:
            return self._read(self._source)
        return self._run

    def _read(self, source: Transcripts) -> RunOutput | None:
        run = source.read(self)
        if run is not None and self._content is not None:
            run.content = self._content
        return run

    @property
    def usage(self) -> Usage | None:
        """Tokens and cost, without reading a transcript from the log; None when they are not known."""
        if self._usage is None and self._run is not None:
            metrics = self._run.metrics
            return Usage(metrics.input_tokens, metrics.output_tokens, metrics.cost)
        return self._usage

    @property
    def passed(self) -> bool:
        return self.score is not None and self.score.passed

    def __repr__(self) -> str:
        outcome = self.stop_reason.value if self.score is None else ("pass" if self.score.passed else "fail")
        return f"AttemptResult(#{self.index}, {outcome}, {self.duration_seconds:.2f}s)"
