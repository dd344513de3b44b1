"""Checks the demo's rates on the real weights: bands, since kernels differ between machines, never counts.

bands.py FILE      FILE is the stdout of `rollgrid demo --headless --json`
"""

import json
import sys
from pathlib import Path

BANDS = {"times-easy": (7 / 8, 1.0), "france": (7 / 8, 1.0), "times-hard": (0.0, 1 / 8)}
"""Task to (lowest, highest) pass rate."""


def main(path: Path) -> int:
    told = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    summary = told["summary"]
    rates = {task["id"]: task["pass_rate"] for task in summary["tasks"]}
    faults = [
        f"{task}: {rates.get(task)} is not between {low} and {high}"
        for task, (low, high) in BANDS.items()
        if not low <= (rates.get(task) if rates.get(task) is not None else -1) <= high
    ]
    if told["model_kind"] != "local":
        faults.append(f"the run was not on the embedded model but on {told['model']} ({told['model_kind']})")
    if told["state"] != "finished" or summary["n_unscored"]:
        faults.append(f"{told['state']}, {summary['n_unscored']} unscored")
    if not any(task["learning_zone"] for task in summary["tasks"]):
        faults.append("no task is in the learning zone")
    for fault in faults:
        print(f"bands: {fault}", file=sys.stderr)
    if not faults:
        print(f"The demo's rates are in their bands: {rates}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
