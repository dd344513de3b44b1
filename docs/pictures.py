"""Makes every picture of the README and the pages here, from the dashboard itself: `make pictures`, or this file.

Two runs of the sample environment on the simulated model, and one against the simulated server with faults, are made in
a temporary folder. Needs no key and no network.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rollgrid_tui.actions import BY_ID
from rollgrid_tui.picture import export_from_log

DOCS = Path(__file__).resolve().parent
PORT_SPEC = "p=0.7,e500=0.12,e429=0.05"

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
    Picture("live-grid", "second", 128, 17, ("grid.down", "grid.right")),
    Picture("attempt", "second", 100, 24, ("grid.down", "run.next_failure", "grid.open")),
    Picture("contrast", "second", 110, 15, ("grid.down", "run.next_failure", "grid.open", "attempt.contrast")),
    Picture("alerts", "faults", 110, 20, ("control.alerts",)),
    Picture("diff", "second", 150, 21, ("app.baselines", "list.open")),
)


def rollgrid(folder: Path, *arguments: str, **variables: str) -> None:
    """Run a command in `folder`; what it says is shown only when it fails."""
    command = [sys.executable, "-m", "rollgrid_tui", *arguments]
    environ = {**os.environ, "ROLLGRID_LOG": str(folder / "log.db"), "OPENAI_API_KEY": "none", **variables}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode not in {0, 3}:
        raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")


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
        before = Path.cwd()
        # Baselines are looked for in the project that the dashboard is opened in.
        os.chdir(folder)
        try:
            for picture in PICTURES:
                (out / f"{picture.name}.svg").write_text(take(picture, logs[picture.run]), encoding="utf-8")
        finally:
            os.chdir(before)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DOCS)
