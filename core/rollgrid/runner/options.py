"""What a session is asked to do, how it stands, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from rollgrid.environments.result import EnvironmentRunResult
from rollgrid.models.pricing import PriceList
from rollgrid.runner.budget import Limits
from rollgrid.runner.carrier import LocalCarrier, MakeCarrier

RESTRICTED = "restricted"
"""`stopped_early` of a run that was resumed for some of its tasks, and lacks attempts of others."""

FinalState = Literal["finished", "interrupted", "stopped"]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Where a run stands, for a progress line."""

    run_id: str
    state: str
    n_planned: int
    n_ended: int
    n_scored: int
    n_passed: int
    n_in_flight: int
    active_seconds: float
    log_fault: str | None
    concurrency: int = 0
    adaptive: bool = False
    holding: str | None = None
    """Why nothing more is started although the concurrency would let it."""
    n_tasks: int = 0
    n_settled: int | None = None
    """Tasks of which something is settled; None in a run of a fixed number of attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """`log` None: nothing is written. `collect`: keep every attempt with its transcript for the result.

    `on_ready` is called once the run is in the log, `on_progress` after each attempt and about once a second,
    `on_message` with a line for the person at the terminal.
    """

    log: Path | None
    author: str
    concurrency: int
    run_id: str
    adaptive: bool = False
    """Find the concurrency out as the run goes on."""
    limits: Limits = field(default_factory=Limits)
    price: PriceList | None = None
    """Prices to use instead of the price list."""
    make_carrier: MakeCarrier = LocalCarrier
    """Who carries the attempts out."""
    storm_action: Literal["stop", "pause"] = "stop"
    handle_signals: bool = False
    collect: bool = True
    drain_seconds: float = 30.0
    log_patience: float | None = None
    """How long to wait at the end for a log that cannot be written, in seconds; None: until a signal says otherwise."""
    on_ready: Callable[[str], None] = field(default=lambda _run_id: None)
    on_progress: Callable[[RunProgress], None] = field(default=lambda _progress: None)
    on_message: Callable[[str], None] = field(default=lambda _text: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """How the session ended. `result` holds the attempts of earlier sessions too."""

    run_id: str
    log: Path | None
    state: FinalState
    stopped_early: str | None
    reason: str | None
    result: EnvironmentRunResult

    def with_result(self, result: EnvironmentRunResult) -> Self:
        return replace(self, result=result)

    @property
    def exit_code(self) -> int:
        """0 done, 3 nothing scored or stopped by a storm, 4 stopped by a budget, 130 interrupted.

        A resume that was restricted to some tasks is done when these are.
        """
        if self.state == "interrupted":
            return 130
        if self.stopped_early == "budget":
            return 4
        if self.stopped_early == RESTRICTED:
            return 0
        if self.stopped_early is not None or (self.result.n_attempts > 0 and self.result.n_scored == 0):
            return 3
        return 0
