"""From the log's rows to the runs of a history. Pure."""

from collections.abc import Iterable

from rollgrid.analysis.comparison import Count
from rollgrid.analysis.history import PastRun
from rollgrid.store.past import PastRow

__all__ = ["past_runs"]


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
