"""What the dashboard costs on large logs, in a real terminal: `python tests/bench/dashboard.py [--folder KEEP]`.

One log of 1 000 tasks times 64 attempts, one of 200 000 attempts in 50 runs, both made by `big_log.py` (kept in
`--folder` for a second call). Wall clock times are what a person waits, processor times what this machine would take
when nobody else used it; each is the median (or the 95th percentile where it says so).
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

import big_log  # noqa: E402

from support.terminal import Terminal  # noqa: E402

TASKS, K = 1000, 64
LEFT = 20_000
"""Attempts of the live run that are left to be written."""

RATE = 200
TICK = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def resident_mb(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def say(what: str, value: str, wanted: str = "") -> None:
    print(f"{what:<58}{value:>24}   {wanted}", flush=True)


def milliseconds(values: Sequence[float], share: float = 0.5) -> str:
    return f"{sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1000:.0f} ms"


# -- start-up

PROBE = """
import sys, time
began, used = time.perf_counter(), time.process_time()
{code}
print(len(sys.modules), time.perf_counter() - began, time.process_time() - used, file=sys.stderr)
"""


def start_up() -> None:
    command = "from rollgrid_tui.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    cases = {
        "import rollgrid": ("import rollgrid", "<= 100 ms"),
        "rollgrid --help": (command, "<= 150 ms"),
        "the dashboard's imports": ("import rollgrid_tui.dashboard, rollgrid.store.reader", ""),
    }
    for name, (code, wanted) in cases.items():
        rows = [_probe(code) for _ in range(5)]
        wall, cpu = (statistics.median(row[n] for row in rows) for n in (1, 2))
        say(name, f"{wall * 1000:.0f} ms, cpu {cpu * 1000:.0f}", f"{wanted}  ({rows[0][0]:.0f} modules)")


def _probe(code: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True, check=True)
    return [float(part) for part in done.stderr.split()[-3:]]


# -- attaching


@contextmanager
def watching(log: Path, run: str | None, columns: int = 160, rows: int = 48) -> Generator[Terminal]:
    command = ["watch", run] if run else []
    with Terminal("-m", "rollgrid_tui", *command, "--log", str(log), columns=columns, rows=rows) as terminal:
        yield terminal


def until(terminal: Terminal, condition: Callable[[str], bool], what: str, seconds: float = 60) -> float:
    """Seconds until the screen is so."""
    began = time.perf_counter()
    while not condition(terminal.screen()):
        if time.perf_counter() - began > seconds:
            raise TimeoutError(f"{what} did not come:\n{terminal.screen()}")
        terminal.read_some(1.0)
    return time.perf_counter() - began


def attach(name: str, log: Path, run: str | None, sign: str, wanted: str) -> None:
    waits: list[float] = []
    used: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        with watching(log, run) as terminal:
            until(terminal, lambda screen: sign in screen, sign)
            waits.append(time.perf_counter() - began)
            used.append(cpu_seconds(terminal.process.pid))
    say(name, f"{milliseconds(waits)}, cpu {milliseconds(used)}", wanted)


# -- while a run writes


def status_says(text: str) -> Callable[[str], bool]:
    return lambda screen: text in screen.rpartition("\n")[2]


def live(log: Path, seconds: float) -> None:
    run, done = big_log.run_id(0), TASKS * K - LEFT
    code = (
        "import asyncio, sys; from pathlib import Path; import big_log; "
        f"asyncio.run(big_log.go_on(Path({str(log)!r}), {run!r}, tasks={TASKS}, k={K}, done={done}, rate={RATE},"
        f" seconds={seconds + 60}))"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], cwd=HERE.parent)
    try:
        with watching(log, run) as terminal:
            until(terminal, lambda screen: "at once" in screen and "task-0001" in screen, "the live grid")
            terminal.read(2)
            pid = terminal.process.pid
            memory = resident_mb(pid)
            began, used = time.perf_counter(), cpu_seconds(pid)
            sent = 0
            while time.perf_counter() - began < seconds:
                sent += len(terminal.read(0.5))
            passed = time.perf_counter() - began
            say(
                f"UI process at {RATE} attempts a second",
                f"{(cpu_seconds(pid) - used) / passed:.1%}",
                "<= 15% of a core",
            )
            say("bytes a second at 10 updates a second", f"{sent / passed / 1024:.1f} KiB")
            keys = moves(terminal)
            say("key to paint meanwhile, median", milliseconds(keys))
            say("key to paint meanwhile, 95th percentile", milliseconds(keys, 0.95), "<= 30 ms")
            say("resident memory at first, later", f"{memory:.0f} MB, {resident_mb(pid):.0f} MB", "<= 150 MB and flat")
    finally:
        writer.kill()
        writer.wait()


def moves(terminal: Terminal, count: int = 120) -> list[float]:
    """Seconds from a key to the screen that it leads to, for moves of the cursor by row, by cell and by page."""
    waits: list[float] = []
    row, column = 1, 1
    draw = random.Random(3)
    terminal.press("g")
    until(terminal, status_says(f"task 1/{TASKS}"), "the first row")
    for _ in range(count):
        what = draw.choice("jjll")
        row, column = (row + 1, column) if what == "j" else (row, column % K + 1)
        if what == "l" and column == 1:
            column = K
            continue
        terminal.press(what)
        waits.append(until(terminal, status_says(f"task {row}/{TASKS}  attempt {column}/{K}"), f"{row}, {column}"))
        terminal.read(0.03)
    return waits


# -- looking around in a finished run


def around(log: Path) -> None:
    with watching(log, big_log.run_id(0)) as terminal:
        until(terminal, status_says(f"task 1/{TASKS}"), "the grid")
        terminal.read(1.5)
        pid = terminal.process.pid
        begun = cpu_seconds(pid)
        keys = moves(terminal, 80)
        say("key to paint at rest, median and 95th percentile", f"{milliseconds(keys)}, {milliseconds(keys, 0.95)}")
        say("processor time a key", f"{(cpu_seconds(pid) - begun) / len(keys) * 1000:.1f} ms")
        opened: list[float] = []
        for place in (3, 200, 500, 999):
            terminal.press("/")
            terminal.press(f"task-{place:04d}\r")
            until(terminal, status_says(f"hides {TASKS - 1}"), "the filter")
            terminal.press("\r")
            opened.append(until(terminal, status_says("y copy"), "the attempt"))
            terminal.press("\x1b")
            until(terminal, lambda screen: "s sort" in screen and "hides" in screen, "the grid again")
            terminal.press("\x1b")
            until(terminal, lambda screen: "s sort" in screen and "hides" not in screen, "all rows")
        say("open an attempt anywhere", milliseconds(opened))
        sorts: list[float] = []
        for word in ("zone", "rate", "errors", "cost", "latency"):
            terminal.press("s")
            sorts.append(until(terminal, lambda screen, word=word: f"by {word}" in screen, word))
            terminal.read(0.2)
        say("sort", milliseconds(sorts))
        filters: list[float] = []
        for text in ("is:error", "zone:learning", "split:validation", "7"):
            terminal.press("/")
            terminal.read(0.2)
            terminal.press(text)
            filters.append(until(terminal, status_says(f"filter {text} hides"), text))
            terminal.press("\x1b")
            until(terminal, lambda screen: "hides" not in screen.rpartition("\n")[2], "all rows")
        say("filter, typed in one go", milliseconds(filters))
        say("resident memory", f"{resident_mb(pid):.0f} MB", "<= 150 MB")
        terminal.settle(0.7)
        begun = cpu_seconds(pid)
        quiet = terminal.read(5)
        say("idle for 5 s: bytes, share of a core", f"{len(quiet)}, {(cpu_seconds(pid) - begun) / 5:.1%}", "no byte")


def make(folder: Path, name: str, **shape: int) -> Path:
    log = folder / f"{name}.db"
    if not log.exists():
        part = folder / f"{name}.part"
        asyncio.run(big_log.write(part, **shape))
        part.rename(log)
    return log


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the logs are kept; a temporary one without")
    parser.add_argument("--seconds", type=float, default=10, help="how long the live run is watched")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        start_up()
        wide = make(folder, "wide", runs=1, tasks=TASKS, k=K)
        many = make(folder, "many", runs=50, tasks=100, k=40)
        attach(f"attach to {TASKS * K} attempts, first paint", wide, big_log.run_id(0), "task-0001", "<= 500 ms")
        attach("attach to a run of 50 with 200 000 attempts", many, "last", "task-0001", "<= 500 ms")
        attach("the list of 50 runs", many, None, big_log.run_id(49), "<= 500 ms")
        around(wide)
        with tempfile.TemporaryDirectory() as scratch:
            going = make(Path(scratch), "live", runs=1, tasks=TASKS, k=K, live=LEFT)
            live(going, options.seconds)


if __name__ == "__main__":
    main()
