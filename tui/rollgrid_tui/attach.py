"""Attaching to a large run: its sums first, which is all that the grid shows, and its attempts bit by bit."""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self

from rollgrid.store.overview import Overview
from rollgrid.store.rows import AttemptRow, RunRow, TaskRow
from rollgrid_tui.state.run_view import Changes, RunView

LARGE = 2000
"""From so many attempts on the sums are read first."""

ROWS_AT_ONCE = 2000
"""About as many attempts are read between two looks at the keyboard: some hundredths of a second."""


class Reader(Protocol):
    async def attempts(self, run_id: str, after_seq: int = 0, task: int | None = None) -> list[AttemptRow]: ...
    async def overview(self, run_id: str, *, lately: bool = False) -> Overview: ...


class Attachment:
    """What is still to be read of the run that `view` shows. Tasks that are looked at, or that change, come first."""

    def __init__(self, view: RunView, run: RunRow, overview: Overview, changes: Changes) -> None:
        self._view = view
        self._run_id = run.run_id
        self._at_once = max(1, ROWS_AT_ONCE // max(1, run.k))
        hidden = set(range(view.n_tasks)) - set(view.order)
        self._left = [*sorted(hidden, reverse=True), *reversed(view.order)]
        """Tasks to read, the next one last."""
        self.seq = overview.seq
        """The last change that was surely in the sums."""
        self.changes = changes
        """What the sums changed."""

    @classmethod
    async def begin(cls, reader: Reader, view: RunView, run: RunRow, tasks: Sequence[TaskRow] | None) -> Self:
        """With the sums in the view."""
        overview = await reader.overview(run.run_id, lately=run.alive)
        return cls(view, run, overview, view.apply(run, tasks) | view.apply_overview(overview))

    @property
    def is_whole(self) -> bool:
        return not self._left

    async def read_on(self, reader: Reader, watched: tuple[int, int] | None) -> bool:
        """Read a few tasks more; whether something came that a screen may wait for."""
        waited = watched is not None and not self._view.is_filled(watched[0])
        if watched is not None:
            await self.read_tasks(reader, watched[:1])
        count = 0
        while self._left and count < self._at_once:
            task = self._left.pop()
            if not self._view.is_filled(task):
                await self.read_tasks(reader, (task,))
                count += 1
        return waited or self.is_whole

    async def read_tasks(self, reader: Reader, tasks: Iterable[int]) -> None:
        """What of these tasks is not read yet."""
        for task in tasks:
            if not self._view.is_filled(task):
                self._view.fill(task, await reader.attempts(self._run_id, 0, task), since=self.seq)
