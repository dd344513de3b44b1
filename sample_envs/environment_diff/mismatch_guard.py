"""A baseline of another environment is refused, and the refusal says what differs."""

from calendar_tasks import calendar_environment

from rollgrid.environments import MismatchError, run_rollouts

env = calendar_environment("Use the Gregorian calendar.")
reworded = calendar_environment("Use the Gregorian calendar, and check the leap years first.")

if __name__ == "__main__":
    baseline = run_rollouts(env, k=2)
    current = run_rollouts(reworded, k=2)
    try:
        current.diff(baseline)
    except MismatchError as error:
        print(f"refused: {error}")
    else:
        raise SystemExit("results of two prompts were compared as if they were of one environment")
