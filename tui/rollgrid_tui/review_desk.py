"""The feed's share in reviews: it writes those of the person at the screen, and reads what is new of everybody's."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from rollgrid.store.codec import storable
from rollgrid.store.rows import ReviewRow

PostReview = Callable[..., Awaitable[ReviewRow]]
"""As `rollgrid.store.reviews.post_review`, which is used when none is given; so it is with `undo_review`."""

UndoReview = Callable[[Path, tuple[str, int, int, int], str], Awaitable[ReviewRow]]

Take = tuple[int, int, int]
"""Task, attempt and take."""


class ReviewReader(Protocol):
    async def reviews(self, run_id: str, after_seq: int = 0) -> list[ReviewRow]: ...


class ReviewDesk:
    """Of one log and one author. `written` is called after every write, so that what was said shows soon."""

    def __init__(
        self,
        path: Path,
        author: str,
        *,
        post: PostReview | None = None,
        undo: UndoReview | None = None,
        written: Callable[[], None] = lambda: None,
    ) -> None:
        self.author = storable(author)
        self._path = path
        self._post = post
        self._undo = undo
        self._written = written
        self._run_id = ""
        self._seen = 0

    def follow(self, run_id: str) -> None:
        """Read the reviews of this run from now on, from the first."""
        self._run_id, self._seen = run_id, 0

    async def news(self, reader: ReviewReader, run_id: str) -> Sequence[ReviewRow]:
        """Reviews of the run that were made or taken back since the last call; none of another run."""
        rows = await reader.reviews(run_id, self._seen)
        if not rows or run_id != self._run_id:
            return ()
        self._seen = rows[-1].touched
        return rows

    async def post(self, take: Take, **said: Any) -> None:
        """Keep what the author says of a take of the followed run. Raises `RollgridError` when that cannot be."""
        await (self._post or _writers()[0])(self._path, (self._run_id, *take), self.author, **said)
        self._written()

    async def undo(self, take: Take) -> None:
        """Take back the author's newest review of a take. Raises `RollgridError` when there is none."""
        await (self._undo or _writers()[1])(self._path, (self._run_id, *take), self.author)
        self._written()


def _writers() -> tuple[PostReview, UndoReview]:
    """Who writes into the log. Its events are pydantic models, a quarter of what the dashboard would load first."""
    from rollgrid.store.reviews import post_review, undo_review

    return post_review, undo_review
