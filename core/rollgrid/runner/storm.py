"""When many attempts fail for one reason. Pure: no clock, no I/O."""

from collections import deque
from dataclasses import dataclass

from rollgrid.runner.schedule import Slot

SMALLEST_WINDOW = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt gave no score. `signature` is equal for failures of one cause, `sample` is one whole message."""

    signature: str
    error_type: str
    sample: str


@dataclass(frozen=True, slots=True)
class Storm:
    """The last `window` completions all failed alike. `slots` are the attempts of the storm, oldest first."""

    signature: str
    sample: str
    window: int
    slots: tuple[Slot, ...]


class StormWatch:
    """Looks at completions in the order in which they come in.

    A storm is called when the last `window` completions all failed with one signature, at any time in the run: one
    early pass does not hide an outage. In a run of a single task the first `window` completions need only share the
    error's type.
    """

    def __init__(self, concurrency: int, *, single_task: bool = False) -> None:
        self._single_task = single_task
        self._recent: deque[tuple[Slot, Failure]] = deque()
        self._streak_is_whole_run = True
        self.set_concurrency(concurrency)

    def set_concurrency(self, concurrency: int) -> None:
        self.window = max(concurrency, SMALLEST_WINDOW)

    def observe(self, slot: Slot, failure: Failure | None) -> Storm | None:
        """Take in one completion; None as failure means that the attempt was scored."""
        if failure is None:
            self._recent.clear()
            self._streak_is_whole_run = False
            return None
        if self._recent and not self._continues(failure):
            self._recent.clear()
            self._streak_is_whole_run = False
        self._recent.append((slot, failure))
        if len(self._recent) < self.window:
            return None
        storm = Storm(failure.signature, failure.sample, self.window, tuple(slot for slot, _ in self._recent))
        return storm

    def _continues(self, failure: Failure) -> bool:
        last = self._recent[-1][1]
        if failure.signature == last.signature:
            return True
        return self._single_task and self._streak_is_whole_run and failure.error_type == last.error_type

    def reset(self) -> None:
        """Forget the streak: somebody says that the cause is gone."""
        self._recent.clear()
        self._streak_is_whole_run = False
