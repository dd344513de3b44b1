"""From the registry of actions and a user's own keys to what textual binds and what a screen shows."""

from collections.abc import Mapping

from textual.binding import Binding, BindingType
from textual.keys import format_key

from rollgrid.config import ConfigError
from rollgrid_tui.actions import ACTIONS, BY_ID, SCOPES, in_scope

TOGETHER: tuple[tuple[str, ...], ...] = (
    ("runs", "app"),
    ("run", "control", "grid", "app"),
    ("run", "control", "transcript", "app"),
    ("attempt", "control", "transcript", "app"),
    ("contrast", "control", "transcript", "app"),
    ("baselines", "list", "app"),
    ("diff", "control", "list", "app"),
    ("diff", "control", "transcript", "app"),
    ("mismatch", "transcript", "app"),
    ("alerts", "control", "list", "app"),
    ("alerts", "control", "transcript", "app"),
    ("review", "list", "app"),
    ("review", "transcript", "app"),
)
"""Scopes that are live at the same time, so that a key may have one meaning among them."""

SHOWN = {
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "space": "Space",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "backspace": "Backspace",
}
"""Words for keys that textual would show as arrows, which some terminals draw two cells wide."""


def bindings(*scopes: str) -> list[BindingType]:
    """The bindings of a class whose actions are those of `scopes`."""
    return [
        Binding(",".join(action.keys), action.call, action.label, show=False, id=action.id, tooltip=action.description)
        for action in in_scope(*scopes)
        if action.keys
    ]


class Keymap:
    """Which keys an action has. Raises `ConfigError`, one line, for an unknown action or a key with two meanings."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self.own = dict(own or {})
        for name in self.own:
            if name not in BY_ID:
                raise ConfigError(f"there is no action {name!r} to give a key", f"Known: {', '.join(sorted(BY_ID))}.")
        self._keys = {
            action.id: tuple(key.strip() for key in self.own[action.id].split(",") if key.strip())
            if action.id in self.own
            else action.keys
            for action in ACTIONS
        }
        self._refuse_clashes()

    def keys(self, action_id: str) -> tuple[str, ...]:
        return self._keys[action_id]

    def first(self, action_id: str) -> str:
        """The key to show for an action, as a person writes it; empty when it has none."""
        keys = self._keys[action_id]
        return show_key(keys[0]) if keys else ""

    def all(self, action_id: str) -> str:
        return " ".join(show_key(key) for key in self._keys[action_id])

    def for_textual(self) -> dict[str, str]:
        return {action_id: ",".join(self._keys[action_id]) for action_id in self.own}

    def _refuse_clashes(self) -> None:
        if not self.own:
            return
        for scopes in TOGETHER:
            taken: dict[str, str] = {}
            for action in in_scope(*scopes):
                for key in self._keys[action.id]:
                    other = taken.setdefault(key, action.id)
                    if other != action.id and (other in self.own or action.id in self.own):
                        raise ConfigError(
                            f"the key {key!r} would mean both {other} and {action.id}",
                            "Give one of them another key in the dashboard's keys.",
                        )


def show_key(key: str) -> str:
    *modifiers, last = key.split("+")
    return "+".join([*(modifier.capitalize() for modifier in modifiers), SHOWN.get(last) or format_key(last)])


__all__ = ["SCOPES", "Keymap", "bindings", "show_key"]
