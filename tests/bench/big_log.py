"""Logs as large as anybody's, in a minute: `python tests/bench/big_log.py FILE --runs 50 --tasks 100 -k 40`.

Written through the log's own writer, so that every derived row is what a runner would have left. Tasks differ in how
hard they are, and some attempts end in errors and timeouts. With `--live ATTEMPTS` the last run is still going, and as
many attempts of it are left to be written; `Live` writes them at a given rate.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollgrid.store import events, lease
from rollgrid.store.codec import encode
from rollgrid.store.writer import LogWriter

STARTED = 1_750_000_000.0
EACH = 4000
"""Events between two flushes."""

ANSWERS = 64
"""Different transcripts, which the attempts share."""


def run_id(number: int) -> str:
    return f"big{number:03d}"


def transcript(number: int) -> bytes:
    """About what an agent with one tool leaves behind: some 3 kB of JSON."""
    words = " ".join(f"step {n}: {n} times {number} is {n * number}." for n in range(40))
    return encode(
        {
            "content": str(number),
            "raw_text": f"The answer is {number}.",
            "model": "simulated-model",
            "messages": [
                {"role": "system", "content": "You are a careful calculator."},
                {"role": "user", "content": f"What is {number} times one? Think step by step."},
                {"role": "assistant", "content": words},
                {"role": "assistant", "content": f"The answer is {number}."},
            ],
            "metrics": {"input_tokens": 120, "output_tokens": 240},
        }
    )


class Maker:
    """Events of runs of `tasks` times `k` attempts, the same for the same seed."""

    def __init__(self, tasks: int, k: int, seed: int = 1) -> None:
        self.tasks, self.k = tasks, k
        self._random = random.Random(seed)
        self._bodies = [transcript(number) for number in range(ANSWERS)]

    def created(self, run: str, at: float) -> list[Any]:
        tasks = tuple(
            events.TaskInfo(
                id=f"task-{n:04d}",
                input=f"What is {n} times one?",
                expected=n,
                metadata={"split": "validation" if n % 5 == 0 else "train", "level": n % 10},
            )
            for n in range(self.tasks)
        )
        return [
            events.RunCreated(
                run_id=run, at=at, env_name="arithmetic", env_fingerprint="rgenv1:big", policy_fingerprint="big",
                k=self.k, tasks=tasks, model="simulated-model", model_kind="simulated", timeout_seconds=60.0,
                source={"ref": "env.py"}, author="bench", host="bench",
            ),
            events.SessionStarted(
                run_id=run, at=at, session=1, pid=1, host="bench", boot_id="", author="bench", concurrency=64
            ),
            events.RunStateChanged(run_id=run, at=at, state="running"),
        ]  # fmt: skip

    def attempt(self, run: str, task: int, attempt: int, at: float, ended: float) -> Iterator[tuple[Any, bytes | None]]:
        draw = self._random.random
        place = {"run_id": run, "task": task, "attempt": attempt, "take": 1}
        yield events.AttemptStarted(at=at, **place), None
        told: dict[str, Any]
        luck = draw()
        if luck < 0.02:
            told = {
                "stop_reason": "error", "error": "HTTP 500: the server had an error", "error_type": "APIStatusError",
                "error_signature": "APIStatusError 500", "status": 500,
            }  # fmt: skip
        elif luck < 0.03:
            told = {"stop_reason": "timeout", "error": "no answer within 60 s", "limit": "attempt"}
        else:
            passed = draw() < (task % 10) / 9
            told = {"stop_reason": "completed", "passed": passed, "value": float(passed)}
            told["reason"] = None if passed else "the answer is another one"
        yield (
            events.AttemptEnded(
                at=ended,
                duration_seconds=0.5 + draw(),
                input_tokens=120,
                output_tokens=240,
                cost=0.001,
                **(place | told),
            ),
            self._bodies[self._random.randrange(ANSWERS)],
        )

    def ended(self, run: str, at: float) -> list[Any]:
        return [
            events.RunStateChanged(run_id=run, at=at, state="finished"),
            events.SessionEnded(run_id=run, at=at, session=1, active_seconds=600.0),
        ]


async def write(path: Path, *, runs: int, tasks: int, k: int, live: int = 0) -> None:
    """`runs` runs, the newest last. `live` attempts of the last one are left out and the run stays in progress."""
    maker = Maker(tasks, k)
    async with LogWriter.open_cm(path) as writer:
        for number in range(runs):
            run, at = run_id(number), STARTED + number * 3600
            left = live if number == runs - 1 else 0
            if left:
                at = time.time()
            for event in maker.created(run, at):
                writer.append(event)
            pending = 0
            for place in range(tasks * k - left):
                for event, body in maker.attempt(run, place % tasks, place // tasks + 1, at, at + place * 0.01):
                    writer.append(event, body)
                pending += 2
                if pending >= EACH:
                    await writer.flush()
                    pending = 0
            if not left:
                for event in maker.ended(run, at + 600):
                    writer.append(event)
            await writer.flush()
        if writer.fault is not None:
            raise OSError(writer.fault)


async def go_on(path: Path, run: str, *, tasks: int, k: int, done: int, rate: float, seconds: float) -> int:
    """Write further attempts of a run in progress, `rate` a second, as its runner would; how many it were."""
    maker = Maker(tasks, k, seed=2)
    held = await lease.acquire(path, run)
    began, place = time.monotonic(), done
    async with LogWriter.open_cm(path) as writer, asyncio.TaskGroup() as group:
        beats = group.create_task(held.keep())
        while (passed := time.monotonic() - began) < seconds and place < tasks * k:
            now = time.time()
            while place < min(tasks * k, done + int(passed * rate)):
                for event, body in maker.attempt(run, place % tasks, place // tasks + 1, now - 1, now):
                    writer.append(event, body)
                place += 1
            await asyncio.sleep(0.02)
        beats.cancel()
    await held.release()
    return place - done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("-k", type=int, default=40)
    parser.add_argument("--live", type=int, default=0, help="attempts of the last run that are left to be written")
    options = parser.parse_args()
    began = time.monotonic()
    asyncio.run(write(options.file, runs=options.runs, tasks=options.tasks, k=options.k, live=options.live))
    attempts = options.runs * options.tasks * options.k - options.live
    size = options.file.stat().st_size
    print(f"{attempts} attempts, {size >> 20} MB, {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
