"""Tasks in a file of their own, to be reviewed and versioned like any other data."""

from pathlib import Path

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
    model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
    instructions="Calculate exactly, without tools.",
    output_schema=Answer,
)

env = Environment(
    name="jsonl-task-set",
    agent=agent,
    tasks=Task.from_jsonl(Path(__file__).parent / "data" / "chained_arithmetic.jsonl"),
    scorer=CodeScorer(is_exact),
)

if __name__ == "__main__":
    print(run_rollouts(env, k=4))
