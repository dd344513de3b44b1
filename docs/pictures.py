"""Makes every picture of the README and the pages here, from the dashboard itself: `make pictures`, or this file.

Two runs of the sample environment on the simulated model, a third that is still going, and one against the simulated
server with faults, are made in a temporary folder. Needs no key and no network.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rollgrid_tui.actions import BY_ID
from rollgrid_tui.picture import export_from_log

DOCS = Path(__file__).resolve().parent
PORT_SPEC = "p=0.7,e500=0.12,e429=0.05"
LIVE_AFTER = 92
"""Attempts scored of the 9 tasks x 16 of the run that is still going when its picture is taken."""

FAULTS = '''\
"""An endpoint on a bad day."""

from pydantic import BaseModel
from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Task


class Answer(BaseModel):
    value: int


env = Environment(
    name="checkout",
    tasks=[Task(f"Add up order {n}. ANS={n}", n, id=f"order-{n:02d}") for n in range(1, 13)],
    scorer=CodeScorer(lambda run, expected: run.content is not None and run.content.value == expected),
    agent=Agent(model=OpenAIResponses(id="simulated-model", max_retries=0), output_schema=Answer),
)
'''


class Picture(NamedTuple):
    """`run` is the name of one of the runs; `actions` are pressed before it is taken."""

    name: str
    run: str
    columns: int
    rows: int
    actions: tuple[str, ...] = ()


PICTURES = (
    Picture("live-grid", "live", 128, 17, ("grid.down", "grid.right")),
    Picture("attempt", "second", 100, 24, ("grid.down", "run.next_failure", "grid.open")),
    Picture("contrast", "second", 110, 15, ("grid.down", "run.next_failure", "grid.open", "attempt.contrast")),
    Picture("alerts", "faults", 110, 20, ("control.alerts",)),
    Picture("diff", "second", 150, 21, ("app.baselines", "list.open")),
)


def rollgrid(folder: Path, *arguments: str, **variables: str) -> str:
    """Run a command in `folder` and return its stdout; what it says is shown only when it fails."""
    done = subprocess.run(
        _command(arguments), cwd=folder, env=_environ(folder, variables), capture_output=True, text=True
    )
    if done.returncode not in {0, 3}:
        raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def _command(arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "rollgrid_tui", *arguments]


def _environ(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "ROLLGRID_LOG": str(folder / "log.db"), "OPENAI_API_KEY": "none", **variables}


@contextlib.contextmanager
def run_in_progress(folder: Path) -> Iterator[Path]:
    """The log of a run that is two thirds done and goes on; it is stopped in the end."""
    log = folder / "live.db"
    environ = _environ(folder, {"ROLLGRID_LOG": str(log)})
    command = _command(("demo", "--simulated", "--headless", "-k", "16"))
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        while not log.exists() or _scored(folder, log) < LIVE_AFTER:
            if child.poll() is not None:
                raise SystemExit(f"the run that is pictured ended too soon, with exit code {child.returncode}")
            time.sleep(0.1)
        try:
            yield log
        finally:
            child.send_signal(signal.SIGINT)


def _scored(folder: Path, log: Path) -> int:
    runs = json.loads(rollgrid(folder, "runs", "--json", "--log", str(log)))["runs"]
    return runs[0]["n_scored"] if runs else 0


def make_runs(folder: Path) -> Mapping[str, Path]:
    """The log of each run by its name; the run is the last of its log."""
    (folder / "rollgrid.toml").touch()
    (folder / "checkout.py").write_text(FAULTS, encoding="utf-8")
    rollgrid(folder, "demo", "--simulated", "--headless", "-k", "8")
    rollgrid(folder, "baseline", "save", "last", "baselines/quickstart.json")
    rollgrid(folder, "demo", "--simulated", "--headless", "-k", "16")
    server = [sys.executable, "-m", "rollgrid.testing", "--spec", PORT_SPEC, "--until-eof"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        url = child.stdout.readline().strip().partition(" ")[2]
        log = folder / "faults.db"
        options = ("--headless", "-k", "8", "--log", str(log))
        rollgrid(folder, "run", "checkout.py", *options, OPENAI_BASE_URL=url, ROLLGRID_LOG=str(log))
        child.communicate()
    return {"second": folder / "log.db", "faults": folder / "faults.db"}


def take(picture: Picture, log: Path) -> str:
    """The picture as SVG."""
    keys = [BY_ID[action].keys[0] for action in picture.actions]
    size = (picture.columns, picture.rows)
    return asyncio.run(export_from_log(log, "last", size=size, keys=keys, title="rollgrid"))


def main(out: Path = DOCS) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "quickstart"
        folder.mkdir()
        logs = make_runs(folder)
        # Baselines are looked for in the project that the dashboard is opened in.
        with contextlib.chdir(folder), run_in_progress(folder) as live:
            for picture in PICTURES:
                log = live if picture.run == "live" else logs[picture.run]
                (out / f"{picture.name}.svg").write_text(take(picture, log), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DOCS)
