"""One thing that a key can do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """`id` is `scope.name`, the name that a user's configuration uses; `call` is what textual runs. Keys are textual's.

    `hint` is the word that the status bar shows beside the key; empty keeps the action out of there. `command` is the
    shell command that does the same.
    """

    id: str
    call: str
    keys: tuple[str, ...]
    label: str
    description: str
    hint: str = ""
    command: str = ""

    @property
    def scope(self) -> str:
        return self.id.partition(".")[0]
