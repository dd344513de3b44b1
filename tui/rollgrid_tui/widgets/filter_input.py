"""The line in which a filter is typed; it works while one types."""

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import Input

from rollgrid.text import clean_line

FILTERS = "text  split:validation  zone:learning  is:error  -zone:saturated"


class FilterInput(Input):
    """Hidden until opened. Enter keeps what was typed, Escape takes it away."""

    @dataclass
    class Closed(Message):
        kept: bool

    def __init__(self, *, id: str | None = None, placeholder: str = FILTERS) -> None:
        super().__init__(
            placeholder=placeholder,
            id=id,
            select_on_focus=False,
        )
        # A blinking cursor would write to the terminal twice a second.
        self.cursor_blink = False
        self.display = False

    def open(self, text: str) -> None:
        self.value = text
        self.display = True
        self.cursor_position = len(text)
        # At once: what is typed right behind the key that opened it is meant for it.
        self.screen.set_focus(self)

    def close(self, *, keep: bool) -> None:
        self.display = False
        self.post_message(self.Closed(keep))

    def on_key(self, event: events.Key) -> None:
        if event.key in {"escape", "enter"}:
            event.stop()
            event.prevent_default()
            self.close(keep=event.key == "enter")

    def validate_value(self, value: str) -> str:
        """What was pasted is drawn too, so it is cleaned."""
        return clean_line(value, 200)
