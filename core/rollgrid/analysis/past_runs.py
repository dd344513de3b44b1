"""The runs of an environment out of the log, as a history takes them."""

from collections.abc import Iterable
from pathlib import Path

from rollgrid.analysis.comparison import Count
from rollgrid.analysis.history import History, PastRun, history
from rollgrid.store.past import PastRow, env_name_of, read_past

__all__ = ["RUNS", "aread_history", "past_runs"]

RUNS = 40
"""As many of the newest runs are looked at, where nothing else is said."""


async def aread_history(
    path: Path, env: str, *, limit: int = RUNS, rescored: bool = False, confidence: float = 0.95
) -> History:
    """The history of the environment that `env` names, its name or its file. `RollgridError` when there is none."""
    name = await env_name_of(path, env)
    return history(name, past_runs(await read_past(path, name, limit=limit, rescored=rescored)), confidence)


def past_runs(rows: Iterable[PastRow]) -> list[PastRun]:
    """Every run that scored something; the others have no rate to show."""
    return [_run(row) for row in rows if any(one.scored for one in row.counts)]


def _run(row: PastRow) -> PastRun:
    return PastRun(
        run_id=row.run_id,
        at=row.created_at,
        model=row.model,
        simulated=row.model_kind == "simulated",
        env_fingerprint=row.env_fingerprint,
        policy_fingerprint=row.policy_fingerprint,
        counts={one.task: Count(one.passed, one.scored) for one in row.counts},
        n_unscored=sum(one.ended - one.scored for one in row.counts),
        k=row.k,
        stopped_early=row.stopped_early,
        scoring=row.scoring,
        fingerprint_parts=row.fingerprint_parts,
    )
