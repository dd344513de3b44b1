"""One large run on this machine: does anything grow with the number of attempts?

    python tests/bench/scale.py [--tasks 1000] [-k 100] [--concurrency 64] [--door command|script] [--keep FOLDER]

The simulated server is a process of its own, so is the run, and this one watches from outside: memory and processor
time of the runner from the operating system five times a second, the pace from the times that the log has of each
attempt's end. On a machine that others use too the processor time is the figure to read. Afterwards the commands that
read such a run are timed, each in a process of its own, with the memory that it took at most.
"""

import argparse
import bisect
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from support.server import server_process  # noqa: E402

ENVIRONMENT = """
import os

from pydantic import BaseModel

from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Task, run_rollouts


class Answer(BaseModel):
    value: int


def right(run, expected):
    return run.content is not None and run.content.value == expected


def prompt(index):
    return (
        f"Task {index}. Compute the following step by step and report the final integer. Take the number {index}, "
        "multiply it by seven and add one million to the product; then check the result by subtracting one million and "
        "dividing by seven, which must give back the number you started from. "
        f"Work carefully: a wrong digit counts as a failure. ANS={1_000_000 + 7 * index};"
    )


env = Environment(
    name="scale",
    tasks=tuple(Task(prompt(n), 1_000_000 + 7 * n, f"task{n}") for n in range(int(os.environ["SCALE_TASKS"]))),
    scorer=CodeScorer(right),
    agent=Agent(OpenAIResponses("simulated", base_url=os.environ["SCALE_URL"]), output_schema=Answer),
)

if __name__ == "__main__":
    import gc, resource, sys, time

    result = run_rollouts(env, k=int(os.environ["SCALE_K"]), concurrency=int(os.environ["SCALE_CONCURRENCY"]))
    print("passed", result.pass_rate, flush=True)
    if len(sys.argv) > 1:
        began = time.perf_counter()
        result.save(sys.argv[1])
        print(f"save from the script: {time.perf_counter() - began:.1f} s")
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB")
"""

COMMAND = "import sys; from rollgrid_tui.cli import main; sys.exit(main())"
MEASURED = """
import resource, sys
from rollgrid_tui.cli import main
try:
    main()
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
sys.stdout.flush()
print(used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr)
"""

READERS: tuple[tuple[str, ...], ...] = (
    ("runs",),
    ("show", "last"),
    ("show", "last", "--json"),
    ("show", "last", "task7"),
    ("show", "last", "task7", "3"),
    ("diff", "{first}", "last"),
    ("diff", "{first}", "last", "--json"),
    ("baseline", "save", "last", "{file}", "--force"),
    ("baseline", "show", "{file}", "--json"),
)


class Sample(NamedTuple):
    """`mb`: resident memory without the pages of files. `cpu`: seconds of processor time so far."""

    at: float
    mb: float
    cpu: float


def sample(pid: int) -> Sample | None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        folder = Path(f"/proc/{pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        if "RssAnon" in status:
            ticks = int(fields[11]) + int(fields[12])
            return Sample(time.time(), int(status["RssAnon"].split()[0]) / 1024, ticks / os.sysconf("SC_CLK_TCK"))
    return None


def watch(run: "subprocess.Popen[bytes]") -> list[Sample]:
    """Until the process ends."""
    samples: list[Sample] = []
    while run.poll() is None:
        found = sample(run.pid)
        if found is not None:
            samples.append(found)
        time.sleep(0.2)
    return samples


def tell_pace(log: Path, samples: list[Sample], step: int) -> None:
    """Attempts a second, processor time and memory by thousands."""
    with contextlib.closing(sqlite3.connect(log)) as connection:
        run_id = connection.execute("SELECT run_id FROM run ORDER BY created_seq DESC LIMIT 1").fetchone()[0]
        rows = connection.execute("SELECT ended_at FROM attempt WHERE run_id = ? ORDER BY ended_at", (run_id,))
        ends = [row[0] for row in rows]

    def cpu_at(at: float) -> float:
        # Between two samples, in proportion.
        after = min(bisect.bisect([one.at for one in samples], at), len(samples) - 1)
        low, high = samples[max(0, after - 1)], samples[after]
        share = (at - low.at) / (high.at - low.at) if high.at > low.at else 0.0
        return low.cpu + min(1.0, max(0.0, share)) * (high.cpu - low.cpu)

    print(f"{len(ends)} attempts in {ends[-1] - ends[0]:.1f} s")
    for first in range(0, len(ends) - step + 1, step):
        began, ended = ends[first], ends[first + step - 1]
        near = min(samples, key=lambda one: abs(one.at - ended))
        cpu = (cpu_at(ended) - cpu_at(began)) / step * 1000
        print(f"  {first:7} to {first + step:7}: {step / (ended - began):6.0f}/s  {cpu:5.2f} ms  {near.mb:7.1f} MB")
    print(f"  at the end, with the result printed: {samples[-1].mb:.1f} MB")


def tell_size(log: Path, attempts: int) -> None:
    with contextlib.closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        stored, raw = 0, 0
        for (size,) in connection.execute("SELECT length(data) FROM body"):
            stored += size
        with contextlib.suppress(sqlite3.Error):
            rows = list(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"))
            for name, size in rows:
                print(f"  {name:24} {size / attempts:7.0f} bytes an attempt")
        (bodies,) = connection.execute("SELECT count(*) FROM body").fetchone()
        for (data,) in connection.execute("SELECT data FROM body LIMIT 1000"):
            raw += len(zlib.decompress(data[1:]))
    print(f"log: {log.stat().st_size / 1e6:.1f} MB, {log.stat().st_size / attempts:.0f} bytes an attempt")
    print(f"bodies: {stored / bodies:.0f} bytes each, {raw / min(bodies, 1000):.0f} before compression")


def read_back(log: Path, folder: Path, environment: dict[str, str], first: str) -> None:
    for words in READERS:
        command = [word.format(first=first, file=folder / "baseline.json") for word in words]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *command], env=environment, capture_output=True, text=True, cwd=folder
        )
        seconds = time.perf_counter() - began
        *trouble, told = done.stderr.splitlines()
        peak, cpu = (float(word) for word in told.split())
        print(
            f"  {seconds:6.2f} s, CPU {cpu:5.2f} s  {peak / 1024:5.0f} MB  rollgrid {' '.join(words)} {trouble or ''}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--door", choices=("command", "script"), default="command")
    parser.add_argument("--runs", type=int, default=1, help="Runs one after the other into one log.")
    parser.add_argument("--step", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="A folder for the log; the default is thrown away.")
    args = parser.parse_args(arguments)
    attempts = args.tasks * args.k
    with contextlib.ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scale_env.py").write_text(ENVIRONMENT)
        log = folder / "log.db"
        server = stack.enter_context(server_process("p=0.75", life=36000))
        environment = {
            **os.environ,
            "ROLLGRID_LOG": str(log),
            "SCALE_URL": server.base_url,
            "SCALE_TASKS": str(args.tasks),
            "SCALE_K": str(args.k),
            "SCALE_CONCURRENCY": str(args.concurrency),
        }
        for _ in range(args.runs):
            server.reset()
            if args.door == "script":
                command = [sys.executable, "scale_env.py", "saved.json"]
            else:
                command = [sys.executable, "-c", COMMAND]
                command += ["run", "scale_env.py", "--headless"]
                command += ["-k", str(args.k), "-c", str(args.concurrency)]
            with open(folder / "out.txt", "wb") as out:
                run = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=out)
                samples = watch(run)
            if args.door == "script":
                print((folder / "out.txt").read_text().strip())
            if run.returncode:
                raise SystemExit(f"the run ended with {run.returncode}")
            tell_pace(log, samples, args.step)
        tell_size(log, attempts * args.runs)
        with contextlib.closing(sqlite3.connect(log)) as connection:
            (first,) = connection.execute("SELECT run_id FROM run ORDER BY created_seq LIMIT 1").fetchone()
        read_back(log, folder, environment, first)


if __name__ == "__main__":
    main()
