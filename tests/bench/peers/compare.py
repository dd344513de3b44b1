"""What an attempt costs with other runners of evaluations: the same work, the same server, in turns.

    make bench-peers   or   python tests/bench/peers/compare.py [--tasks 50] [-k 8] [--rounds 3] [--only NAME ...]

Each runner has an environment of its own below `.venv-peers`, made when it is missing, with the versions named here.
Every measurement is a process of its own against one simulated server without latency. Rounds are interleaved, so that
what else the machine does falls on all alike; the figures are medians, and the ratios are what to read. Counted is the
processor time from the first request to the kept result, without imports. A runner that cannot be installed or does not
run is told and left out.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[3]
sys.path.insert(0, str(HERE.parents[2]))

from support.server import server_process  # noqa: E402

ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "bare": ("openai==3.57.0",),
    "agno": ("agno==2.9.0", "openai==3.57.0"),
    "inspect-ai": ("inspect-ai==0.3.285", "openai==3.57.0"),
    "verifiers": ("verifiers==0.1.14",),
    "pydantic-evals": ("pydantic-evals==2.62.0", "pydantic-ai-slim[openai]==2.62.0"),
}


@dataclass(frozen=True)
class Runner:
    """`environment` None: the one that this runs in."""

    name: str
    script: str
    environment: str | None
    variant: str = ""
    note: str = ""


RUNNERS = (
    Runner("bare", "run_bare.py", "bare", note="loop over `AsyncOpenAI.responses.create`, nothing kept"),
    Runner("rollgrid", "run_rollgrid.py", None, note="streaming, log on"),
    Runner("rollgrid-whole", "run_rollgrid.py", None, "whole", "not streaming, log on"),
    Runner("pydantic-evals", "run_pydantic_evals.py", "pydantic-evals", note="report saved at the end"),
    Runner("agno-shared", "run_agno.py", "agno", "shared", "one client for all attempts, file saved at the end"),
    Runner("agno", "run_agno.py", "agno", note="as its documentation has it, file saved at the end"),
    Runner("verifiers", "run_verifiers.py", "verifiers", note="chat completions, results saved"),
    Runner("inspect-ai", "run_inspect.py", "inspect-ai", note="one epoch an attempt, log on"),
)


def python_of(environment: str) -> Path:
    """The interpreter of a runner's environment, which is made when it is missing."""
    folder = ROOT / ".venv-peers" / environment
    python = folder / "bin" / "python"
    stamp, wanted = folder / ".stamp", "\n".join(ENVIRONMENTS[environment])
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"making {folder.relative_to(ROOT)}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv")
    if uv is not None:
        make = [uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        make = [sys.executable, "-m", "venv", str(folder)]
        install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run(make, check=True)
    subprocess.run([*install, *ENVIRONMENTS[environment]], check=True)
    stamp.write_text(wanted)
    return python


def measure(runner: Runner, base_url: str, args: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own. Raises `CalledProcessError` and `ValueError` when it does not go through."""
    python = sys.executable if runner.environment is None else str(python_of(runner.environment))
    with tempfile.TemporaryDirectory() as folder:
        words = [base_url, str(args.tasks), str(args.k), str(args.concurrency), folder, runner.variant]
        done = subprocess.run(
            [python, str(HERE.parent / runner.script), *words],
            env={**os.environ, "HOME": folder, "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"},
            cwd=folder,
            capture_output=True,
            check=True,
            text=True,
            timeout=args.patience,
        )
    return json.loads(done.stdout.strip().splitlines()[-1])


def table(rows: dict[str, list[dict[str, Any]]], attempts: int) -> str:
    """Medians, as the table of docs/performance.md."""
    middle = {
        name: {key: statistics.median(row[key] for row in found) for key in found[0]}
        for name, found in rows.items()
        if found
    }
    notes = {one.name: one.note for one in RUNNERS}
    lines = [
        "| runner | CPU an attempt | ratio | attempts a second | memory | kept an attempt | passed |",
        "|---|---|---|---|---|---|---|",
    ]
    bare = middle.get("bare", next(iter(middle.values())))["cpu_ms"]
    for name, found in middle.items():
        lines.append(
            f"| {name}: {notes[name]} | {found['cpu_ms']:.2f} ms | {found['cpu_ms'] / bare:.2f} "
            f"| {found['per_second']:.0f} | {found['rss_mb']:.0f} MB | {found['kept']:.0f} B "
            f"| {found['passed']:.0f} of {attempts} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=900, help="Seconds after which a run is given up.")
    parser.add_argument("--only", nargs="*", choices=[one.name for one in RUNNERS], help="These runners alone.")
    args = parser.parse_args(arguments)
    chosen = [one for one in RUNNERS if not args.only or one.name in args.only]
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in chosen:
        try:
            if one.environment is not None:
                python_of(one.environment)
            rows[one.name] = []
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{one.name} cannot be installed: {error}", file=sys.stderr)
    with server_process("p=0.75", life=36000) as server:
        for number in range(1, args.rounds + 1):
            for one in chosen:
                if one.name not in rows:
                    continue
                # The draws start over, so that every measurement gets the same answers.
                server.reset()
                try:
                    found = measure(one, server.base_url, args)
                except (subprocess.SubprocessError, ValueError) as error:
                    told = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
                    print(f"{one.name} does not run and is left out: {told[-1] if told else error}", file=sys.stderr)
                    del rows[one.name]
                    continue
                rows[one.name].append(found)
                print(f"round {number}: {one.name:15} {found['cpu_ms']:7.2f} ms, {found['passed']}", file=sys.stderr)
    print(f"\n{args.tasks} tasks {args.k} times, {args.concurrency} at once, medians of {args.rounds} rounds")
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.system()}\n")
    print(table(rows, args.tasks * args.k))


if __name__ == "__main__":
    main()
