"""One environment, two policies: what does more reasoning change, task by task?"""

from calendar_tasks import calendar_environment

from rollgrid.environments import run_rollouts
from rollgrid.models.openai import OpenAIResponses

env = calendar_environment("Use the Gregorian calendar.")

if __name__ == "__main__":
    baseline = run_rollouts(env, k=6)
    current = run_rollouts(env, k=6, model=OpenAIResponses(id="gpt-5.5", reasoning_effort="high"))
    diff = current.diff(baseline)
    print(diff)
    print(f"the policy changed: {diff.policy_changed}")
    print(f"improved: {list(diff.improved)}, regressed: {list(diff.regressed)}")
    # That is how the rates moved. Whether it is more than chance is another question.
    for task in diff.statistics().tasks:
        print(f"{task.id}: {task.verdict}")
