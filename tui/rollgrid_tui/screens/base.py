"""What every screen has: the feed, the glyphs, banners, and a status bar with the keys that matter here."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from rollgrid_tui.actions import in_scope
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.words import SIMULATED, join, plain, storm_line

if TYPE_CHECKING:
    from rollgrid.store.rows import RunRow
    from rollgrid_tui.dashboard import Dashboard

SAID_SECONDS = 6.0


class StatusBar(Bar):
    """Where one is on the left, keys on the right; for a few seconds what was just done or asked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="status")
        self._place = Content("")
        self._hints: Callable[[int], Content] = lambda room: Content("")
        self._said: Content | None = None
        self._timer: Timer | None = None

    def rest(self, left: Content, hints: Callable[[int], Content]) -> None:
        """`hints` is asked for as many keys as the room beside `left`, or beside what was said, holds."""
        self._place, self._hints = left, hints
        self._draw()

    def say(self, text: str, style: str = "$warn", seconds: float = SAID_SECONDS) -> None:
        """`text` is clean already."""
        self._said = plain(text, style)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(seconds, self.hush)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def hush(self) -> None:
        self._said = None
        self._draw()

    def _draw(self) -> None:
        left = self._said if self._said is not None else self._place
        self.show(left, self._hints(self.content_size.width - left.cell_length - 2))


class FeedScreen(Screen[None]):
    """A screen that shows what the feed has. `sync` draws everything, `log_changed` what is new."""

    AUTO_FOCUS = ""
    SCOPES: ClassVar[tuple[str, ...]] = ()
    """The scopes of the actions that work here, innermost first."""

    UNHINTED: ClassVar[frozenset[str]] = frozenset()
    """Actions that the status bar passes over here."""

    @property
    def dashboard(self) -> "Dashboard":
        return cast("Dashboard", self.app)  # pyright: ignore[reportUnknownMemberType]

    @property
    def is_there(self) -> bool:
        """False once it is being taken down: a worker that waited meanwhile has nothing to show its find on."""
        return self.is_running and bool(self.children)

    def on_screen_resume(self) -> None:
        self.sync()

    def sync(self) -> None:
        raise NotImplementedError

    def log_changed(self) -> None:
        self.sync()

    def target(self, scope: str) -> Widget:
        """The widget whose method carries out an action of this scope."""
        return self

    @property
    def status(self) -> StatusBar:
        return self.query_one(StatusBar)

    def is_hinted(self, action_id: str) -> bool:
        """Whether the status bar may name the key of an action now."""
        return action_id not in self.UNHINTED

    def hints(self, room: int) -> Content:
        """Keys and words for the status bar, as many as `room` columns hold."""
        keymap = self.dashboard.keymap
        actions = [
            action
            for action in in_scope(*self.SCOPES, "app")
            if action.hint and self.is_hinted(action.id) and keymap.first(action.id)
        ]
        parts: list[Content] = []
        used = 0
        # Help and quit close the list and always show.
        for action in [*actions[-2:], *actions[:-2]]:
            part = Content.assemble((keymap.first(action.id), "$accent"), f" {action.hint}")
            used += part.cell_length + (2 if parts else 0)
            if used > room:
                break
            parts.append(part)
        return join([*parts[2:], *parts[:2]], "  ")

    def show_banners(self, run: "RunRow | None") -> None:
        """The banners stand above everything: made-up answers for good, a storm while it lasts."""
        simulated = self.query_one("#simulated", Bar)
        simulated.display = run is not None and run.model_kind == "simulated"
        simulated.show(SIMULATED)
        self.show_storm(run)

    def show_storm(self, run: "RunRow | None") -> None:
        storm = self.query_one("#storm", Bar)
        in_storm = run is not None and bool(run.storm)
        storm.display = in_storm
        if run is not None and in_storm:
            storm.show(storm_line(run, self.dashboard.glyphs), self.storm_advice(run))

    def storm_advice(self, run: "RunRow") -> Content:
        """Short, for the cause has to fit beside it on 80 columns. What to do hangs on the cause: the desk says it."""
        parts = ["paused"] if run.effective_state == "paused" else []
        if "alerts" not in self.SCOPES and "control" in self.SCOPES:
            parts.append(f"{self.dashboard.keymap.first('control.alerts')} what to do")
        return Content("  ".join([*parts, ""])[:-1])
