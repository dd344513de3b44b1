"""How often the stated intervals hold the truth and how often a verdict is wrong, at a size that shows half a percent.

    python tests/bench/simulation/coverage.py [--rounds 5000] [--seed 1]

Prints a table for each claim of docs/statistics.md and ends with 1 when a figure leaves the range that the page states.
The suite runs the same at a small size (tests/core/analysis/test_coverage.py).
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.simulation import (
    CHANGES,
    POPULATIONS,
    RARE_BREAKS,
    RARE_HOPELESS,
    coverage_of_clustered,
    coverage_of_delta,
    coverage_of_pooled,
    coverage_of_wilson,
    discoveries,
)

STATED = (0.93, 0.97)
TASKS = (3, 5, 10, 20, 50, 200)


class Checks:
    """Prints figures and remembers those outside their range."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def within(self, what: str, value: float, low: float, high: float) -> str:
        if not low <= value <= high:
            self.broken.append(f"{what}: {value:.3f} is outside {low:g} to {high:g}")
            return f"{value:7.3f}!"
        return f"{value:7.3f} "


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--rounds", type=int, default=5000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    checks = Checks()
    one_task(checks)
    overall(checks, given.rounds, given.seed)
    these_tasks(checks, given.rounds, given.seed)
    deltas(checks, max(1, given.rounds // 2), given.seed)
    findings(checks, max(1, given.rounds // 5), given.seed)
    for line in checks.broken:
        print(f"BROKEN {line}", file=sys.stderr)
    return 1 if checks.broken else 0


def one_task(checks: Checks) -> None:
    print("\nWilson's 95 % interval of one task: mean and least coverage over all rates")
    print("   n    mean    least")
    for n in (1, 2, 4, 8, 16, 32, 64, 128):
        mean, least = coverage_of_wilson(n)
        print(
            f"{n:4} {checks.within(f'mean at n={n}', mean, *STATED)} {checks.within(f'least, n={n}', least, 0.79, 1)}"
        )


def overall(checks: Checks, rounds: int, seed: int) -> None:
    for k in (4, 8, 32):
        print(f"\nOverall 95 % interval for tasks like these, k = {k}: coverage by number of tasks")
        print(f"{'':30}" + "".join(f"{m:8}" for m in TASKS))
        for population in (*POPULATIONS, RARE_HOPELESS):
            cells = ""
            for m in TASKS:
                found = coverage_of_clustered(population, m, k, rounds if m < 200 else rounds // 4, seed + m)
                # With few tasks the interval is on the careful side; from ten tasks on it is what it says.
                low, high = (0.85, 1.0) if m < 10 else (0.915, 0.985)
                if population is RARE_HOPELESS:
                    low, high = (0.2, 1.0) if m < 50 else (0.88, 1.0)
                cells += checks.within(f"{population.name}, {m} tasks, k={k}", found, low, high)
            print(f"{population.name:30}{cells}")


def these_tasks(checks: Checks, rounds: int, seed: int) -> None:
    print("\nOverall 95 % interval for exactly these tasks, k = 8: coverage")
    cases = {
        "twenty tasks at 0.5": [0.5] * 20,
        "twenty tasks at 0.9": [0.9] * 20,
        "twenty tasks evenly spread": [(i + 0.5) / 20 for i in range(20)],
        "twelve always, eight at 0.5": [1.0] * 12 + [0.5] * 8,
    }
    for name, rates in cases.items():
        found = coverage_of_pooled(rates, 8, rounds, seed)
        print(f"{name:30}{checks.within(name, found, 0.93, 1.0)}")


def deltas(checks: Checks, rounds: int, seed: int) -> None:
    print("\nOverall paired delta, 16 attempts a task against 8: coverage by number of tasks (wrong verdicts)")
    print(f"{'':42}" + "".join(f"{m:16}" for m in TASKS[1:]))
    for change in (*CHANGES, RARE_BREAKS):
        cells = ""
        for m in TASKS[1:]:
            found = coverage_of_delta(change, m, 8, rounds if m < 200 else rounds // 4, seed + m, k_old=16)
            low = 0.78 if change is RARE_BREAKS else 0.915
            coverage = checks.within(f"delta, {change.name}, {m} tasks", found.like_these, low, 1.0)
            wrong = checks.within(f"wrong verdicts, {change.name}, {m} tasks", found.wrong_verdicts, 0.0, 0.085)
            cells += f"{coverage} ({wrong.strip()})".rjust(16)
        print(f"{change.name:42}{cells}")


def findings(checks: Checks, rounds: int, seed: int) -> None:
    print("\nVerdicts of tasks: false-discovery rate (at most 0.05), any wrong finding, share of real changes found")
    for m, k, changed in ((10, 8, 0.0), (50, 8, 0.0), (50, 8, 0.2), (50, 16, 0.2), (50, 32, 0.2), (200, 16, 0.1)):
        found = discoveries(m, k, changed, rounds, seed)
        rate = checks.within(f"false discoveries, {m} tasks, k={k}", found.false_rate, 0.0, 0.05)
        print(f"{m:4} tasks, k={k:3}, {changed:4.0%} broken  {rate} {found.any_false:7.3f} {found.power:7.3f}")


if __name__ == "__main__":
    sys.exit(main())
