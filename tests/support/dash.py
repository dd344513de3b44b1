"""The dashboard on a log in memory, for tests."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.feed import Feed
from rollgrid_tui.keymap import Keymap
from rollgrid_tui.review_desk import ReviewDesk
from support.fake_log import NOW, FakeLog


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_feed(log: FakeLog, clock: Clock | None = None, path: Path | None = None) -> Feed:
    path = path or Path(__file__)
    return Feed(
        path,
        open_reader=log.open,
        post_command=log.post,
        reviews=ReviewDesk(path, "ada", post=log.review, undo=log.undo),
        author="ada",
        fps=200,
        clock=clock or Clock(),
    )


@asynccontextmanager
async def dashboard(
    log: FakeLog,
    run_id: str | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    clock: Clock | None = None,
    keymap: Keymap | None = None,
    theme: str = "dark",
    ascii: bool = False,
    project: Path | None = None,
    baseline: Path | None = None,
    on_hint: Callable[[], None] | None = None,
) -> AsyncGenerator[tuple[Dashboard, Pilot[None]]]:
    """The application with its first screen drawn."""
    app = Dashboard(
        make_feed(log, clock),
        keymap=keymap or Keymap(),
        theme_name=theme,
        ascii=ascii,
        run_id=run_id,
        project=project or Path(__file__).parent,
        baseline=baseline,
        on_hint=on_hint,
    )
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot


async def settle(pilot: Pilot[None]) -> None:
    """Until the feed has looked at the log and what it found is drawn."""
    app = pilot.app
    assert isinstance(app, Dashboard)
    asked = app.feed.polls
    for _ in range(500):
        await pilot.pause(0.01)
        loading = any(
            worker.group in {"pane", "attempt", "baselines", "diff", "review", "session", "history"}
            and not worker.is_finished
            for worker in app.workers
        )
        if app.feed.polls > asked + 1 and not loading:
            break
    await pilot.pause()


async def resize(pilot: Pilot[None], width: int, height: int) -> None:
    """Until the screen has its new size: of several that come at once, textual waits for the last."""
    await pilot.resize_terminal(width, height)
    for _ in range(500):
        if pilot.app.screen.outer_size == (width, height):
            break
        await pilot.pause(0.01)
    for _ in range(2):  # the first makes the layout, the second waits for those who are told of it
        await pilot.pause()


def lines(app: Dashboard) -> list[str]:
    """The screen as text, a string a row."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return [strip.text[:width].rstrip() for strip in strips[:height]]


def text(app: Dashboard) -> str:
    return "\n".join(lines(app))
