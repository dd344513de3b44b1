"""A line in which something is typed, asked for by name."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input

from rollgrid.text import clean_line


class TextPrompt(Input):
    """Hidden until opened. Enter answers, Escape gives no answer."""

    @dataclass
    class Answered(Message):
        """`text` is None when no answer was given."""

        what: str
        text: str | None

    def __init__(self, *, most: int, id: str | None = None) -> None:
        super().__init__(id=id, select_on_focus=False)
        # A blinking cursor would write to the terminal twice a second.
        self.cursor_blink = False
        self.display = False
        self._what = ""
        self._most = most

    def open(self, what: str, text: str, suggestions: Sequence[str] = ()) -> None:
        """Ask for `what`, with `text` to start from; of `suggestions` the one that goes on what is typed shows."""
        self._what = what
        self.placeholder = f"{what}: Enter keeps it, Esc leaves it as it was"
        clean = [clean_line(each, self._most) for each in suggestions]
        self.suggester = SuggestFromList(clean, case_sensitive=False) if clean else None
        self.value = text
        self.display = True
        self.cursor_position = len(self.value)
        # At once: what is typed right behind the key that opened it is meant for it.
        self.screen.set_focus(self)

    def on_key(self, event: events.Key) -> None:
        if event.key in {"escape", "enter"}:
            event.stop()
            event.prevent_default()
            self.display = False
            self.post_message(self.Answered(self._what, self.value if event.key == "enter" else None))

    def validate_value(self, value: str) -> str:
        """What was pasted is drawn too, so it is cleaned."""
        return clean_line(value, self._most)
