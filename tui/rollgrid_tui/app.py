"""The door to the dashboard. Textual is imported only once it opens, after what it reads at import is set."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rollgrid_tui.first_time import is_first_time, remember
from rollgrid_tui.glyphs import wants_ascii
from rollgrid_tui.settings import Settings

if TYPE_CHECKING:
    from rollgrid_tui.dashboard import Dashboard


@dataclass(frozen=True, slots=True)
class DashboardExit:
    """Which run was shown last, its state then, and whether a runner still works on it."""

    run_id: str | None
    run_state: str | None
    alive: bool


def run_dashboard(
    log_path: Path,
    *,
    run_id: str | None = None,
    ascii: bool = False,
    fps: float | None = None,
    baseline: Path | None = None,
) -> DashboardExit:
    """Show the log full-screen until it is left. Raises `RollgridError`, one line, for settings it cannot follow.

    `ascii` forces the ASCII glyphs; else the terminal and the settings decide. `fps` overrides how often a second the
    log is looked at. `baseline` is a file to which the grid shows the differences of `run_id`, live.
    """
    settings = Settings.load()
    # Nothing here is worth moving on its own: over SSH every frame is bytes, and locally it is unrest.
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    os.environ["TEXTUAL_SMOOTH_SCROLL"] = "0"
    # How long textual waits after a key before it draws, not how often it draws: that is up to the log.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from rollgrid_tui.startup import hurry

    with hurry() as as_usual:
        app = _dashboard(log_path, run_id, settings, ascii=ascii, fps=fps, baseline=baseline, on_shown=as_usual)
        app.run()
    if app.failure is not None:
        # The caller says it in one line; a traceback across a restored terminal helps nobody.
        raise app.failure
    run = app.feed.run.run if app.feed.run is not None else None
    return DashboardExit(
        run.run_id if run is not None else run_id,
        run.effective_state if run is not None else None,
        run.alive if run is not None else False,
    )


def _dashboard(
    log_path: Path,
    run_id: str | None,
    settings: Settings,
    *,
    ascii: bool,
    fps: float | None,
    baseline: Path | None,
    on_shown: Callable[[], None],
) -> "Dashboard":
    """The application with all that it is made of. A look at the log begins before textual is imported."""
    from rollgrid_tui.startup import EarlyLook

    early = EarlyLook(log_path, run_id) if run_id is not None else None
    environ = dict(os.environ)

    from rollgrid.runner.machine import author
    from rollgrid.store.commands import post_command
    from rollgrid.store.paths import project_folder
    from rollgrid.store.reader import LogReader
    from rollgrid_tui.dashboard import Dashboard
    from rollgrid_tui.feed import Feed
    from rollgrid_tui.keymap import Keymap
    from rollgrid_tui.theme import choose

    feed = Feed(
        log_path,
        open_reader=early.open_reader if early is not None else LogReader.open,
        post_command=post_command,
        author=author(),
        fps=fps if fps is not None else settings.fps,
    )
    return Dashboard(
        feed,
        keymap=Keymap(settings.keys),
        theme_name=choose(settings.theme, environ),
        ascii=ascii or (wants_ascii(environ) if settings.ascii is None else settings.ascii),
        run_id=run_id,
        project=project_folder(),
        baseline=baseline.absolute() if baseline is not None else None,
        on_hint=remember if settings.hints and is_first_time() else None,
        on_shown=on_shown,
    )
