"""Run an environment and keep the whole result as a baseline file."""

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


agent = Agent(model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"), output_schema=Answer)

env = Environment(
    name="saved-baseline-basic",
    agent=agent,
    tasks=(
        Task(
            id="product-a",
            input="Let P be 2718281828459045 times 1618033988749895 and S the sum of the decimal digits of P. "
            "What is 131071 * S - (P mod 65521)?",
            expected=20944939,
        ),
        Task(
            id="product-d",
            input="Let P be 2236067977499789 times 2449489742783178 and S the sum of the decimal digits of P. "
            "What is 524287 * S - (P mod 99991)?",
            expected=76998482,
        ),
    ),
    scorer=CodeScorer(is_exact),
)

baseline = Path(__file__).parent / "data" / "generated" / "baseline.json"

if __name__ == "__main__":
    result = run_rollouts(env, k=6)
    print(result)
    baseline.parent.mkdir(parents=True, exist_ok=True)
    result.save(baseline)
    print(f"{result.n_attempts} attempts saved to {baseline}")
