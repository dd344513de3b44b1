"""The same gate as a script: 0 it passes, 1 it does not, 3 there is too little to go by."""

import sys
from pathlib import Path

from release_gate import env

from rollgrid.analysis import GateRules, decide
from rollgrid.environments import EnvironmentRunResult, run_rollouts

baseline = Path(__file__).parent / "data" / "generated" / "baseline.json"
rules = GateRules(min_pass_rate=0.8, max_unscored=0.05)

if __name__ == "__main__":
    result = run_rollouts(env, k=8)
    print(result)
    before = EnvironmentRunResult.load(baseline) if baseline.exists() else None
    decision = decide(result, rules, baseline=before)
    print(decision)
    if before is None and decision.exit_code == 0:
        baseline.parent.mkdir(parents=True, exist_ok=True)
        result.save(baseline)
        print(f"no baseline yet: this run is now it, {baseline}")
    sys.exit(decision.exit_code)
