"""Every key of the screen below, what the glyphs mean, and how to filter."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from rollgrid_tui.actions import SCOPES, in_scope
from rollgrid_tui.glyphs import CELL_WORDS, MARK_WORDS, Glyphs
from rollgrid_tui.keymap import Keymap
from rollgrid_tui.state.attempt_view import Block, Kind
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import plain

FILTERS = (
    ("cats", "the text, in the id or the metadata"),
    ("split:validation", "metadata that is exactly so"),
    ("zone:learning", "learning, hopeless, saturated, unmeasured"),
    ("is:error", "has such an attempt: fail, error, timeout, running, ..."),
    ("-zone:saturated", "a minus turns any of them round; several must all hold"),
)


class HelpScreen(ModalScreen[None]):
    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,backspace", "dismiss", "close", show=False)
    ]

    def __init__(self, scopes: Sequence[str], keymap: Keymap, glyphs: Glyphs) -> None:
        super().__init__()
        self.blocks = help_blocks(scopes, keymap, glyphs)

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield TranscriptView(id="text")

    def on_mount(self) -> None:
        self.query_one(Bar).show(plain("Help", "bold"), plain("Esc closes", "$muted"))
        text = self.query_one(TranscriptView)
        text.show(self.blocks, "help")
        text.focus()


def help_blocks(scopes: Sequence[str], keymap: Keymap, glyphs: Glyphs) -> list[Block]:
    """What help shows for a screen where the actions of `scopes` work."""
    blocks: list[Block] = []
    for scope in (*scopes, "app"):
        blocks.append(Block(Kind.heading, SCOPES[scope]))
        for action in in_scope(scope):
            command = f"; {action.command}" if action.command else ""
            keys = keymap.all(action.id) or "-"
            blocks.append(Block(Kind.text, f"{keys:<18}  {action.description}{command}", indent=2, hang=20))
        blocks.append(Block(Kind.gap))
    if "grid" in scopes:
        blocks.append(Block(Kind.heading, "Cells"))
        blocks += [Block(Kind.text, f"{glyphs.cells[cell]}  {words}", indent=2) for cell, words in CELL_WORDS.items()]
        blocks += [
            Block(Kind.text, f"{glyphs.reviewed[mark]}  {words}", indent=2) for mark, words in MARK_WORDS.items()
        ]
        settled = ((glyphs.settled, "settled, and as what"), (glyphs.given_up, "not settled, and why not"))
        blocks += [Block(Kind.gap), Block(Kind.heading, "Tasks of a run until decided")]
        blocks += [Block(Kind.text, f"{mark}  {words}", indent=2) for mark, words in settled]
        blocks += [Block(Kind.gap), Block(Kind.heading, "Filter")]
        blocks += [Block(Kind.text, f"{example:<18}  {words}", indent=2, hang=20) for example, words in FILTERS]
        blocks.append(Block(Kind.gap))
    blocks.append(Block(Kind.heading, "Own keys"))
    blocks.append(
        Block(Kind.text, 'In pyproject.toml, [tool.rollgrid.dashboard.keys]: "control.more" = "plus,f6"', indent=2)
    )
    names = ", ".join(action.id for action in in_scope(*scopes, "app"))
    blocks.append(Block(Kind.quiet, f"The names, in the order of the lists above: {names}", indent=2))
    return blocks
