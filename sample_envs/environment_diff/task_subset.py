"""Compare a run of some tasks with a run of all: what has no partner is listed, not dropped."""

from calendar_tasks import calendar_environment

from rollgrid.environments import run_rollouts

env = calendar_environment("Use the Gregorian calendar.")

if __name__ == "__main__":
    baseline = run_rollouts(env, k=4)
    chosen = [task for task in env.tasks if task.id in ("no-leap-year", "long-span")]
    current = run_rollouts(env, tasks=chosen, k=4)
    diff = current.diff(baseline)
    print(diff)
    print(f"compared: {[row['id'] for row in diff.rows]}")
    print(f"only in the baseline: {list(diff.unmatched_baseline)}")
