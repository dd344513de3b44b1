"""The attempt under the cursor, in brief, beside the grid."""

from collections.abc import Hashable, Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from rollgrid.store.rows import AttemptRow, TaskRow
from rollgrid_tui.glyphs import Glyphs
from rollgrid_tui.state.attempt_view import Block, Kind, pane_blocks
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import attempt_figures, cell_word, join, one_line, plain


class AttemptPane(Vertical):
    """Title, state and figures; below, verdict and conversation."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Bar(id="pane-title")
        yield Bar(id="pane-state", keep_left=True)
        yield TranscriptView(id="pane-text")

    @property
    def text(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def show(
        self,
        task: TaskRow,
        attempt: int,
        columns: int,
        row: AttemptRow | None,
        transcript: Mapping[str, Any] | None,
        prompt: str,
        *,
        live: bool,
    ) -> None:
        # `columns` are the attempts that the task wants or has.
        name = plain(one_line(task.id, 80), "bold")
        self.query_one("#pane-title", Bar).show(name, plain(f"attempt {attempt} of {columns}", "$muted"))
        state = cell_word(row, self.glyphs, live=live)
        if row is None and attempt > columns:
            state = plain("the task wants no such attempt", "$muted")
        self.query_one("#pane-state", Bar).show(state, attempt_figures(row))
        blocks = pane_blocks(row, transcript, prompt)
        if not blocks and row is not None and row.phase == "ended":
            blocks = [Block(Kind.quiet, "No transcript was kept of this attempt.")]
        key: Hashable = (task.index, attempt, row.take if row else 0, row.phase == "ended" if row else False)
        self.text.show(blocks, key, follow=row is not None and row.phase != "ended")

    def show_nothing(self, why: str) -> None:
        self.query_one("#pane-title", Bar).show(plain(why, "$muted"))
        self.query_one("#pane-state", Bar).show(join([Content("")]))
        self.text.show((), None)
