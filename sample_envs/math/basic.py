"""A task that every model gets, beside one that it gets sometimes."""

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
    name="math-basic",
    agent=agent,
    tasks=(
        Task(id="single-product", input="What is 17 times 23?", expected=391),
        Task(
            id="recurrence-8",
            input="A sequence begins with a_0 = 271828 and goes on with a_n = (a_(n-1)^2 + 97*n + 31) mod 10000019. "
            "What is a_8?",
            expected=6856135,
        ),
    ),
    scorer=CodeScorer(is_exact),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6, concurrency=6)
    print(result)
    for task in result.summary()["tasks"]:
        print(f"{task['id']}: pass rate {task['pass_rate']}")
