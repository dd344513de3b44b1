"""The command palette: every action of the screen, by its name."""

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from rollgrid_tui.actions import Action, in_scope
from rollgrid_tui.screens.base import FeedScreen


class ActionProvider(Provider):
    async def discover(self) -> Hits:
        for action in self._actions():
            yield DiscoveryHit(
                self._label(action), partial(self._run, action), text=action.label, help=action.description
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._actions():
            score = max(matcher.match(action.label), matcher.match(action.description) * 0.8)
            if score > 0:
                yield Hit(
                    score, self._label(action), partial(self._run, action), text=action.label, help=action.description
                )

    def _actions(self) -> list[Action]:
        screen = self.screen
        return list(in_scope(*screen.SCOPES, "app")) if isinstance(screen, FeedScreen) else []

    def _label(self, action: Action) -> Content:
        from rollgrid_tui.dashboard import Dashboard

        app = self.app
        keys = app.keymap.all(action.id) if isinstance(app, Dashboard) else ""
        return Content.assemble(action.label, "  ", (keys, "$muted"))

    async def _run(self, action: Action) -> None:
        screen = self.screen
        if isinstance(screen, FeedScreen):
            target = self.app if action.scope == "app" else screen.target(action.scope)
            await self.app.run_action(action.call, default_namespace=target)
