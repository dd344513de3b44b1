"""What sampling until something is decided costs beside a fixed number of attempts, and how often it is wrong.

    python tests/bench/simulation/sequential.py [--tasks 20000] [--seed 1]

Prints a table for each claim of docs/statistics.md and ends with 1 when a figure leaves the range that the page states.
The suite runs the same at a small size (tests/core/analysis/test_sequential.py).
"""

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rollgrid.analysis.sequential import ZoneQuestion
from rollgrid.analysis.sequential_change import ChangeQuestion
from support.sampling import (
    HARD_MIXES,
    MIXES,
    compare_changes,
    compare_zones,
    true_changes,
    true_zones,
    walk,
    wrong_share,
)

MOST = 64


class Checks:
    """Prints figures and remembers those outside their range."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def most(self, what: str, value: float, limit: float) -> str:
        if value > limit:
            self.broken.append(f"{what}: {value:.3f} is above {limit:g}")
            return f"{value:8.3f}!"
        return f"{value:8.3f} "


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--tasks", type=int, default=20000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    checks = Checks()
    zones_exactly(checks)
    zones(checks, given.tasks, given.seed)
    changes_exactly(checks)
    changes(checks, max(1, given.tasks // 10), given.seed)
    for line in checks.broken:
        print(f"BROKEN {line}", file=sys.stderr)
    return 1 if checks.broken else 0


def zones_exactly(checks: Checks) -> None:
    print("\nZone of one task, looked at after every attempt (exact): mean attempts, chance of a wrong claim (<= 0.05)")
    question = ZoneQuestion()
    for rate in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0):
        told = walk(question, rate, 1500)
        wrong = checks.most(f"wrong zone at {rate}", wrong_share(told, true_zones(question, rate)), 0.05)
        within = 1 - walk(question, rate, MOST).undecided
        print(f"  rate {rate:4.2f}  {told.mean_attempts:6.1f} attempts  wrong {wrong}  within {MOST}: {within:6.1%}")
    worst = max(wrong_share(walk(question, i / 500, 1500), true_zones(question, i / 500)) for i in range(501))
    print(f"  worst of all rates {checks.most('worst wrong zone', worst, 0.05)}")


def zones(checks: Checks, m: int, seed: int) -> None:
    print(f"\nZones of many tasks, at most {MOST} attempts each, beside the least fixed k that always settles them")
    print(f"{'':46} k   mean  share    same  right   open  wrong  (fixed)")
    for mix in (*MIXES, *HARD_MIXES):
        found = compare_zones(mix, m, MOST, seed)
        share = checks.most(f"attempts, {mix.name}", found.share, 0.5 if mix in MIXES else 1.0)
        checks.most(f"wrong, {mix.name}", found.wrong, 0.05)
        checks.most(f"not the same, {mix.name}", 1 - found.same, 0.03 if mix in MIXES else 0.1)
        print(
            f"{mix.name:46}{found.fixed_k:3} {found.attempts:6.1f}{share} {found.same:6.3f} {found.both_right:6.3f} "
            f"{found.undecided:6.3f} {found.wrong:6.4f} ({found.wrong_fixed:.4f})"
        )


def changes_exactly(checks: Checks) -> None:
    print("\nChange of one task, the baseline drawn too (exact, 64 attempts): chance of a wrong claim (<= 0.05)")
    for n_before in (4, 8, 16):
        for before, now in ((1.0, 0.7), (0.9, 0.9), (0.5, 0.5), (0.95, 0.65), (0.1, 0.4), (0.8, 0.5), (0.3, 0.3)):
            wrong = 0.0
            for passed in range(n_before + 1):
                chance = math.comb(n_before, passed) * before**passed * (1 - before) ** (n_before - passed)
                if chance > 1e-6:
                    question = ChangeQuestion(passed, n_before, delta=0.3)
                    wrong += chance * wrong_share(walk(question, now, MOST), true_changes(question, before, now))
            told = checks.most(f"wrong change {before} to {now}, baseline of {n_before}", wrong, 0.05)
            print(f"  baseline of {n_before:2} at {before:4.2f}, now {now:4.2f}: {told}")


def changes(checks: Checks, m: int, seed: int) -> None:
    print(f"\nChanges of 30 points, at most {MOST} attempts a task beside exactly {MOST} (Boschloo, Newcombe)")
    print("baseline  broken   mean  share   found (fixed)  settled (fixed)   wrong (fixed)")
    for baseline_k in (8, 16, 32):
        for broken in (0.0, 0.2):
            found = compare_changes(MIXES[0], m, MOST, baseline_k, broken, seed)
            share = checks.most(f"attempts, baseline of {baseline_k}", found.attempts / MOST, 0.5)
            checks.most(f"wrong changes, baseline of {baseline_k}", found.wrong, 0.05)
            finds = f"{found.found:6.2f} ({found.found_fixed:.2f})"
            settles = f"{found.settled:10.2f} ({found.settled_fixed:.2f})"
            wrong = f"{found.wrong:9.4f} ({found.wrong_fixed:.4f})"
            print(f"{baseline_k:8} {broken:7.0%} {found.attempts:6.1f}{share} {finds} {settles} {wrong}")


if __name__ == "__main__":
    sys.exit(main())
