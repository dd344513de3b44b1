"""Pictures of the dashboard, made by the dashboard: `python -m rollgrid_tui.picture LOG RUN OUT.svg`.

Nothing is drawn for the occasion: the application runs without a terminal, reads the log, and exports its screen. So a
picture in the documentation is what a reader will see.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from textual.pilot import Pilot

from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.feed import Feed
from rollgrid_tui.keymap import Keymap

SETTLE_SECONDS = 0.15
"""A body is loaded once the cursor has rested."""

LOADERS = frozenset({"pane", "attempt", "baselines", "diff"})
"""Groups of the workers that read for a screen."""


async def export_svg(
    feed: Feed,
    run_id: str | None,
    *,
    size: tuple[int, int] = (120, 30),
    keys: Sequence[str] = (),
    theme: str = "dark",
    ascii: bool = False,
    title: str = "rollgrid",
) -> str:
    """The screen on `run_id` (or the list of runs) after `keys` were pressed, as SVG. `size` is columns by rows."""
    app = Dashboard(feed, keymap=Keymap(), theme_name=theme, ascii=ascii, run_id=run_id)
    async with app.run_test(size=size) as pilot:
        await _settle(app, pilot)
        for key in keys:
            await pilot.press(key)
            await _settle(app, pilot)
        return app.export_screenshot(title=title)


async def _settle(app: Dashboard, pilot: Pilot[None]) -> None:
    """Until the log was looked at anew, and what the screen loads in the background is there."""
    await pilot.pause(SETTLE_SECONDS)
    polls = app.feed.polls
    while app.feed.polls <= polls + 1 or any(
        worker.group in LOADERS and not worker.is_finished for worker in app.workers
    ):
        await pilot.pause(0.02)
    await pilot.pause()


async def export_from_log(log: Path, run: str, **options: object) -> str:
    """Like `export_svg`, on a log file. `run` is an id, the beginning of one, or `last`."""
    from rollgrid.store.commands import post_command
    from rollgrid.store.reader import LogReader

    reader = await LogReader.open(log)
    try:
        run_id = await reader.resolve(run)
    finally:
        await reader.aclose()
    feed = Feed(log, open_reader=LogReader.open, post_command=post_command, author="picture")
    return await export_svg(feed, run_id, **options)  # pyright: ignore[reportArgumentType]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Export the dashboard's screen on a run as SVG.")
    parser.add_argument("log", type=Path)
    parser.add_argument("run", help="a run id, the beginning of one, or last")
    parser.add_argument("out", type=Path)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--theme", choices=("dark", "light", "terminal"), default="dark")
    parser.add_argument("--press", action="append", default=[], help="a key to press first; may be given several times")
    parser.add_argument("--title", default="rollgrid")
    options = parser.parse_args(arguments)
    svg = asyncio.run(
        export_from_log(
            options.log,
            options.run,
            size=(options.columns, options.rows),
            keys=options.press,
            theme=options.theme,
            title=options.title,
        )
    )
    options.out.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
