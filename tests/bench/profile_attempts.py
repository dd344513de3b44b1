"""Where the processor time of an attempt goes: by part of the program, in the runner's thread and beside it.

    python tests/bench/profile_attempts.py [--attempts 2000] [--concurrency 64] [--whole] [--top 25]

Two runs of the same work: one for the processor time of each thread, one under the profiler, whose own cost inflates
small functions; of it, read the shares.
"""

import argparse
import asyncio
import cProfile
import os
import pstats
import tempfile
import time
from collections import Counter
from pathlib import Path

import cpu_per_attempt as bench

PARTS = (
    ("rollgrid/models", "rollgrid.models: requests out, streams in"),
    ("rollgrid/agent", "rollgrid.agent: prompt, loop, transcript"),
    ("rollgrid/runner", "rollgrid.runner: schedule, lanes, one attempt under its clock"),
    ("rollgrid/store", "rollgrid.store: events, projection, compression"),
    ("rollgrid/masking", "rollgrid.masking"),
    ("rollgrid/", "the rest of rollgrid"),
    ("openai/", "openai"),
    ("httpx2/", "httpx2"),
    ("httpx/", "httpx"),
    ("httpcore2/", "httpcore2"),
    ("httpcore/", "httpcore"),
    ("h11/", "h11"),
    ("anyio/", "anyio"),
    ("aiohttp/", "aiohttp"),
    ("aiosqlite/", "aiosqlite"),
    ("pydantic", "pydantic"),
    ("asyncio/", "asyncio"),
    ("selectors", "asyncio"),
    ("ssl", "asyncio"),
    ("json/", "json"),
    ("uuid", "uuid"),
)


def part_of(name: str, function: str) -> str:
    if name == "~":
        for word, label in (
            ("zlib", "zlib"),
            ("orjson", "orjson"),
            ("socket", "sockets and epoll"),
            ("epoll", "sockets and epoll"),
            ("Context", "asyncio"),
            ("_asyncio", "asyncio"),
            ("pydantic", "pydantic"),
        ):
            if word in function:
                return label
        return "builtins"
    for path, label in PARTS:
        if path in name:
            return label
    return "other packages"


def threads() -> dict[str, float]:
    """Seconds of processor time by thread of this process, the first one called main."""
    found: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        name = "main" if int(task.name) == os.getpid() else (task / "comm").read_text().strip() + " " + task.name
        found[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


async def once(base_url: str, args: argparse.Namespace) -> None:
    await bench.rollgrid(base_url, args.attempts, args.concurrency, stream=not args.whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--whole", action="store_true", help="Do not stream.")
    parser.add_argument("--top", type=int, default=25)
    args = parser.parse_args()
    with bench.server_process("p=0.75", life=3600) as server, tempfile.TemporaryDirectory() as folder:
        os.environ["ROLLGRID_LOG"] = str(Path(folder) / "log.db")
        few = argparse.Namespace(**{**vars(args), "attempts": bench.WARM_UP})
        asyncio.run(once(server.base_url, few))
        before, cpu = threads().get("main", 0.0), time.process_time()
        asyncio.run(once(server.base_url, args))
        whole = (time.process_time() - cpu) / args.attempts * 1000
        mine = (threads()["main"] - before) / args.attempts * 1000
        print(f"{whole:.3f} ms an attempt: {mine:.3f} ms in the event loop's thread, {whole - mine:.3f} ms beside it")
        print("(the log's connection, scorers that are plain functions)\n")
        profile = cProfile.Profile()
        profile.runcall(asyncio.run, once(server.base_url, args))
    stats = pstats.Stats(profile)
    shares: Counter[str] = Counter()
    for (name, _, function), (_, _, own, _, _) in stats.stats.items():  # pyright: ignore[reportAttributeAccessIssue]
        if "epoll" not in function or "poll" not in function:
            shares[part_of(name, function)] += own
    total = sum(shares.values())
    for label, seconds in shares.most_common():
        if seconds / total >= 0.005:
            print(f"{100 * seconds / total:5.1f} %  {label}")
    stats.sort_stats("tottime").print_stats(args.top)


if __name__ == "__main__":
    main()
