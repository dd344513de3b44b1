"""Two chains of the same four steps; only the length of the numbers differs."""

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


agent = Agent(
    model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low", verbosity="low", max_output_tokens=3000),
    instructions="Calculate exactly, without tools, and answer with the last integer.",
    output_schema=Answer,
)

env = Environment(
    name="math-chained-arithmetic",
    agent=agent,
    tasks=(
        Task(
            id="short-chain",
            input="Multiply 9999999967 by 9999999973. Multiply the sum of the product's decimal digits by 104729. Take "
            "away the remainder of the product by 7919.",
            expected=9838934,
        ),
        Task(
            id="long-chain",
            input="Multiply 2718281828459045 by 1618033988749895. Multiply the sum of the product's decimal digits by "
            "131071. Take away the remainder of the product by 65521.",
            expected=20944939,
        ),
    ),
    scorer=CodeScorer(is_exact),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6, concurrency=6)
    print(result)
    print("passes sometimes:", [one.task.id for one in result.task_results if one.in_learning_zone])
