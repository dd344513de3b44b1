"""Run a part of a task set, chosen by what is known of its tasks."""

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


env = Environment(
    name="metadata-task-set",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="Calculate exactly, without tools.",
        output_schema=Answer,
    ),
    tasks=(
        Task(
            input="Multiply 2718281828459045 by 1618033988749895. Take the sum of the product's decimal digits times "
            "131071, less the remainder of the product by 65521.",
            expected=20944939,
            id="chained-product-a",
            metadata={"split": "validation", "difficulty": "calibration"},
        ),
        Task(
            input="Multiply 3141592653589793 by 1414213562373095. Take the sum of the product's decimal digits times "
            "104729, less the remainder of the product by 65537.",
            expected=16731173,
            id="chained-product-b",
            metadata={"split": "validation", "difficulty": "calibration"},
        ),
        Task(
            input="How much is 43 times 47?",
            expected=2021,
            id="easy-product",
            metadata={"split": "smoke", "difficulty": "anchor"},
        ),
    ),
    scorer=CodeScorer(is_exact),
)

if __name__ == "__main__":
    # The very objects of env.tasks: a task that was built anew would be another one.
    chosen = [task for task in env.tasks if task.metadata["difficulty"] == "calibration"]
    result = run_rollouts(env, tasks=chosen, k=4)
    print(result)
    for one in result.task_results:
        facts = ", ".join(f"{key}={value}" for key, value in one.task.metadata.items())
        print(f"{one.task.id}: {facts}, pass_rate={one.pass_rate}")
