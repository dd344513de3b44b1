"""What workers of a Ray cluster bring and cost: `python tests/bench/ray_scaling.py`, with Ray installed.

Scaling: attempts whose scorer computes for a while, with 1, 2 and 4 workers of one processor each, and locally. What a
machine of two cores can show of that is two at a time. Overhead: attempts that take no time, locally and on workers:
processor time of the runner for each, and how many a second pass.
"""

import argparse
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.cli import Shell
from support.ray_cluster import VARIABLES, cluster_process

ENVIRONMENT = """\
import hashlib
from rollgrid import CodeScorer, Environment, Task

class Echo:
    model_id = "echo"
    async def arun(self, input):
        return input
    def prompt_fields(self):
        return {}
    def policy(self):
        return {}

def score(run, expected):
    # Many short steps: Python's lock is what threads of one process share.
    digest = b""
    for _ in range(ROUNDS):
        digest = hashlib.sha256(digest).digest()
    return run.content == expected

env = Environment(
    name="bench",
    tasks=[Task(f"q{n}", f"q{n}", id=f"t{n}") for n in range(20)],
    scorer=CodeScorer(score),
    agent=Echo(),
)
"""


class Figures(NamedTuple):
    seconds: float
    """From the first attempt to the last."""
    cpu: float
    """Processor time of the runner, its start included."""


def run(shell: Shell, k: int, at_once: int, *args: str) -> Figures:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = shell.run("run", "env.py", "-k", str(k), "-c", str(at_once), "--headless", "--json", *args, timeout=900)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if told.returncode != 0:
        raise SystemExit(told.stderr)
    (newest, *_) = shell.runs()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figures(newest["active_seconds"], cpu)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=100_000, help="how long a scorer computes")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; the best of {options.repeat}")
    with (
        tempfile.TemporaryDirectory(prefix="rg-ray-", ignore_cleanup_errors=True) as folder,
        cluster_process(Path(folder), n_nodes=4) as cluster,
        tempfile.TemporaryDirectory() as work,
    ):
        shell = Shell(Path(work), dict(VARIABLES))
        (shell.folder / "rollgrid.toml").touch()
        ray = ("--engine", "ray", "--ray-address", cluster.address, "--ray-workers")
        ways: dict[str, tuple[str, ...]] = {"local": (), **{f"{n} workers": (*ray, str(n)) for n in (1, 2, 4)}}

        (shell.folder / "env.py").write_text(f"ROUNDS = {options.rounds}\n{ENVIRONMENT}")
        print(f"\n200 attempts, 8 at once, {options.rounds} rounds of SHA-256 as a scorer")
        best = measure(shell, options.repeat, 10, 8, ways)
        for way, figures in best.items():
            print(f"{way:10} {figures.seconds:7.2f} s {best['1 workers'].seconds / figures.seconds:6.2f} x one worker")

        (shell.folder / "env.py").write_text(f"ROUNDS = 0\n{ENVIRONMENT}")
        for at_once in (1, 64):
            few, many = (1, 6) if at_once == 1 else (5, 55)
            n = 20 * (many - few)
            base = measure(shell, options.repeat, few, at_once, ways)
            best = measure(shell, options.repeat, many, at_once, ways)
            print(f"\n{n} further attempts that take no time, {at_once} at once")
            for way in ways:
                seconds, cpu = (best[way][i] - base[way][i] for i in (0, 1))
                print(f"{way:10} {1000 * seconds / n:6.2f} ms each, {1000 * cpu / n:6.2f} ms of the runner's processor")


def measure(shell: Shell, repeat: int, k: int, at_once: int, ways: dict[str, Any]) -> dict[str, Figures]:
    """The best of each way; they take turns, so that a busy machine is busy for all of them."""
    found: dict[str, Figures] = {}
    for _ in range(repeat):
        for way, args in ways.items():
            now = run(shell, k, at_once, *args)
            old = found.get(way, now)
            found[way] = Figures(min(now.seconds, old.seconds), min(now.cpu, old.cpu))
    return found


if __name__ == "__main__":
    main()
