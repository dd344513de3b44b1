"""How many transcripts that lie elsewhere are in memory at once."""

from collections import deque

from rollgrid.environments.attempt import AttemptResult

__all__ = ["RECENT", "Recent"]

RECENT = 256
"""So many transcripts that were read for `attempt.run` stay in memory; an older one is read again when asked for."""


class Recent:
    """Lets go of the transcript that was read longest ago when there are too many."""

    def __init__(self, size: int = RECENT) -> None:
        self._attempts: deque[AttemptResult] = deque()
        self._size = size

    def keeps(self, attempt: AttemptResult) -> None:
        """As `Transcripts.keeps`."""
        self._attempts.append(attempt)
        while len(self._attempts) > self._size:
            self._attempts.popleft().drop_run()
