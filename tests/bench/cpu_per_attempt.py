"""What an attempt costs: processor time of rollgrid with its log on, beside a bare loop over the openai client.

    python tests/bench/cpu_per_attempt.py [--attempts 4000] [--concurrency 64] [--rounds 3]

Every measurement is a process of its own against one simulated server without latency. Rounds are interleaved, so that
what else the machine does falls on all alike; the figures are medians, and the ratios are what to read. Counted is the
processor time of the whole process, threads included, from the first request to the result, without imports.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from pydantic import BaseModel  # noqa: E402

from support.server import server_process  # noqa: E402

K = 8
WARM_UP = 64

LABELS = {
    "bare": "AsyncOpenAI.responses.create, nothing else",
    "rollgrid": "rollgrid, streaming, log on",
    "rollgrid-whole": "rollgrid, not streaming, log on",
    "rollgrid-nolog": "rollgrid, streaming, log off",
}


class Answer(BaseModel):
    value: int


def prompt(index: int) -> str:
    return (
        f"Task {index}. Compute the following step by step and report the final integer. Take the number {index}, "
        "multiply it by seven and add one million to the product; then check the result by subtracting one million and "
        "dividing by seven, which must give back the number you started from. "
        f"Work carefully: a wrong digit counts as a failure. ANS={answer(index)};"
    )


def answer(index: int) -> int:
    return 1_000_000 + 7 * index


def right(run: Any, expected: int) -> bool:
    return run.content is not None and run.content.value == expected


async def bare(base_url: str, attempts: int, concurrency: int) -> int:
    """The plainest loop that gives the same answers."""
    from openai import AsyncOpenAI

    schema = {**Answer.model_json_schema(), "additionalProperties": False}
    text: Any = {"format": {"type": "json_schema", "name": "Answer", "schema": schema, "strict": True}}
    queue = [index for _ in range(K) for index in range(attempts // K)]
    passed = 0
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:

        async def worker() -> None:
            nonlocal passed
            while queue:
                index = queue.pop()
                reply = await client.responses.create(model="simulated", input=prompt(index), text=text, store=False)
                passed += json.loads(reply.output_text)["value"] == answer(index)

        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    return passed


async def rollgrid(base_url: str, attempts: int, concurrency: int, *, stream: bool) -> int:
    from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Task, arun_rollouts

    environment = Environment(
        name="bench",
        tasks=tuple(Task(prompt(index), answer(index), f"task{index}") for index in range(attempts // K)),
        scorer=CodeScorer(right),
        agent=Agent(OpenAIResponses("simulated", base_url=base_url, stream=stream), output_schema=Answer),
    )
    result = await arun_rollouts(environment, k=K, concurrency=concurrency)
    return sum(task.n_passed for task in result.task_results)


async def measure(mode: str, base_url: str, attempts: int, concurrency: int) -> dict[str, Any]:
    async def once(n: int) -> int:
        if mode == "bare":
            return await bare(base_url, n, concurrency)
        return await rollgrid(base_url, n, concurrency, stream=mode != "rollgrid-whole")

    await once(WARM_UP)
    cpu, wall = time.process_time(), time.perf_counter()
    passed = await once(attempts)
    return {
        "cpu_ms": (time.process_time() - cpu) / attempts * 1000,
        "per_second": attempts / (time.perf_counter() - wall),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passed": passed,
    }


def in_child(mode: str, base_url: str, args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        log = "off" if mode == "rollgrid-nolog" else str(Path(folder) / "log.db")
        numbers = ["--attempts", str(args.attempts), "--concurrency", str(args.concurrency)]
        done = subprocess.run(
            [sys.executable, str(HERE), "--measure", mode, "--base-url", base_url, *numbers],
            env={**os.environ, "ROLLGRID_LOG": log},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=4000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", choices=LABELS, help=argparse.SUPPRESS)
    parser.add_argument("--base-url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(asyncio.run(measure(args.measure, args.base_url, args.attempts, args.concurrency))))
        return
    rows: dict[str, list[dict[str, Any]]] = {mode: [] for mode in LABELS}
    with server_process("p=0.75", life=7200) as server:
        for number in range(1, args.rounds + 1):
            for mode, found in rows.items():
                # The draws start over, so that every measurement gets the same answers.
                server.reset()
                found.append(in_child(mode, server.base_url, args))
                print(f"round {number}: {mode:15} {found[-1]['cpu_ms']:6.3f} ms", file=sys.stderr)
    middle = {
        mode: {key: statistics.median(row[key] for row in found) for key in found[0]} for mode, found in rows.items()
    }
    print(f"\nCPU per attempt, {args.attempts} attempts, {args.concurrency} in flight, medians of {args.rounds} rounds")
    for mode, figures in middle.items():
        ratio = figures["cpu_ms"] / middle["bare"]["cpu_ms"]
        memory = figures["rss_mb"] / middle["bare"]["rss_mb"]
        print(
            f"ratio {ratio:5.2f}   {figures['cpu_ms']:6.3f} ms   memory {memory:4.2f}   "
            f"{figures['per_second']:6.0f}/s   {figures['passed']:.0f} passed   {LABELS[mode]}"
        )


if __name__ == "__main__":
    main()
