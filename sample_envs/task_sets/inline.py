"""Tasks written down where they are used: an anchor, a step in the middle, and one that is two of those steps."""

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


TASKS = (
    Task(input="How much is 43 times 47?", expected=2021, id="easy-product"),
    Task(
        input="Multiply 2718281828459045 by 1618033988749895. Take the sum of the product's decimal digits times "
        "131071, less the remainder of the product by 65521.",
        expected=20944939,
        id="chained-product-a",
    ),
    Task(
        input="Work out two numbers and add them up. The first: multiply 2718281828459045 by 1618033988749895; take "
        "the sum of the product's decimal digits times 131071, less the remainder of the product by 65521. The second: "
        "multiply 3141592653589793 by 1414213562373095; take the sum of the product's decimal digits times 104729, "
        "less the remainder of the product by 65537. Answer with their sum.",
        expected=37676112,
        id="dual-chain-sum",
    ),
)

agent = Agent(
    model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
    instructions="Calculate exactly, without tools.",
    output_schema=Answer,
)

env = Environment(name="inline-task-set", agent=agent, tasks=TASKS, scorer=CodeScorer(is_exact))

if __name__ == "__main__":
    result = run_rollouts(env, k=4)
    print(result)
    for one in result.task_results:
        print(f"{one.task.id}: {one.n_passed} of {one.n_scored}")
