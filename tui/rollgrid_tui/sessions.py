"""A further session of a run, started from the dashboard: a runner of its own, which outlives the dashboard."""

from collections.abc import Sequence
from pathlib import Path


def start_session(log: Path, run_id: str, author: str, *, more: int | None = None, tasks: Sequence[str] = ()) -> None:
    """Go on with a run that no runner works on; with `more`, for so many further attempts of `tasks` (none: of all).

    Returns once the runner is ready; blocks meanwhile. Raises `RollgridError`, one line, when it cannot start.
    """
    from rollgrid.runner.request import RunRequest
    from rollgrid.runner.spawn import start_runner

    start_runner(
        RunRequest(
            run_id=run_id,
            log=log,
            author=author,
            resume=True,
            more=more,
            tasks=tuple(tasks),
            storm_action="pause",
        )
    )
