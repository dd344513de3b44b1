"""The bodies of the last attempts that were looked at."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

__all__ = ["Bodies"]


class Bodies:
    """Keeps the `most` that were asked for last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, dict[str, Any] | None] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def __getitem__(self, key: Hashable) -> dict[str, Any] | None:
        self._kept.move_to_end(key)
        return self._kept[key]

    def __setitem__(self, key: Hashable, body: dict[str, Any] | None) -> None:
        self._kept[key] = body
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
