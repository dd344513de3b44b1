"""An event as the fold takes it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rollgrid.store.states import Key

__all__ = ["Entry"]


class Entry(NamedTuple):
    """An event with its place in the log. `data` is the event as its JSON has it (`run_created` without task texts)."""

    seq: int
    kind: str
    run_id: str
    at: float
    data: Mapping[str, Any]

    @property
    def key(self) -> Key | None:
        task = self.data.get("task")
        return None if task is None else (self.run_id, task, self.data["attempt"], self.data["take"])
