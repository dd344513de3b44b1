"""The work that every runner of the comparison does, and what is measured of it. Needs the standard library only."""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

INSTRUCTIONS = "Return only the requested integer in the field `value`."
MODEL = "simulated"

os.environ["OPENAI_API_KEY"] = "none"


def answer(index: int) -> int:
    return 1_000_000 + 7 * index


def prompt(index: int) -> str:
    return (
        f"Task {index}. Compute the following step by step and report the final integer. Take the number {index}, "
        "multiply it by seven and add one million to the product; then check the result by subtracting one million and "
        "dividing by seven, which must give back the number you started from. "
        f"Work carefully: a wrong digit counts as a failure. ANS={answer(index)};"
    )


@dataclass(frozen=True)
class Work:
    """`tasks` tasks `k` times each, at most `concurrency` at once; what a runner keeps goes into `folder`."""

    base_url: str
    tasks: int
    k: int
    concurrency: int
    folder: Path
    variant: str

    @property
    def attempts(self) -> int:
        return self.tasks * self.k


def measured(run: Callable[[Work], int]) -> None:
    """Carry out the work of the command line with `run`, which gives the number of attempts that passed.

    Imports and what is made before the call are left out; what `run` keeps on the disk is counted.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("tasks", type=int)
    parser.add_argument("k", type=int)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("variant", nargs="?", default="")
    work = Work(**vars(parser.parse_args()))
    before, wall = _cpu(), time.perf_counter()
    passed = run(work)
    seconds = time.perf_counter() - wall
    kept = sum(path.stat().st_size for path in work.folder.rglob("*") if path.is_file())
    print(
        json.dumps(
            {
                "cpu_ms": (_cpu() - before) / work.attempts * 1000,
                "per_second": work.attempts / seconds,
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "kept": kept / work.attempts,
                "passed": passed,
            }
        ),
        flush=True,
    )


def _cpu() -> float:
    """Processor time of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
