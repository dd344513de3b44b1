"""One recurrence, and how many rounds of it a model can carry."""

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
    instructions="Work the recurrence out exactly and answer with its last term.",
    output_schema=Answer,
)

env = Environment(
    name="math-recurrence-boundary",
    agent=agent,
    tasks=tuple(
        Task(
            id=f"recurrence-{rounds}",
            input="A sequence begins with a_0 = 271828 and goes on with a_n = (a_(n-1)^2 + 97*n + 31) mod 10000019. "
            f"What is a_{rounds}?",
            expected=expected,
            metadata={"rounds": rounds},
        )
        for rounds, expected in ((8, 6856135), (9, 7826798), (10, 542370))
    ),
    scorer=CodeScorer(is_exact),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6, concurrency=6)
    print(result)
    for one in result.task_results:
        print(f"{one.task.metadata['rounds']} rounds: {one.n_passed} of {one.n_scored}, {one.n_unscored} unscored")
