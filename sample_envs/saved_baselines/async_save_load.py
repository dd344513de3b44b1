"""The same in a program that has an event loop already: nothing here blocks it."""

import asyncio
from pathlib import Path

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, EnvironmentRunResult, Task, arun_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


agent = Agent(model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"), output_schema=Answer)

env = Environment(
    name="async-saved-baseline",
    agent=agent,
    tasks=(
        Task(
            id="product-a",
            input="Let P be 2718281828459045 times 1618033988749895 and S the sum of the decimal digits of P. "
            "What is 131071 * S - (P mod 65521)?",
            expected=20944939,
        ),
        Task(
            id="product-b",
            input="Let P be 3141592653589793 times 2718281828459045 and S the sum of the decimal digits of P. "
            "What is 104729 * S - (P mod 65537)?",
            expected=16756170,
        ),
    ),
    scorer=CodeScorer(is_exact),
)

baseline = Path(__file__).parent / "data" / "generated" / "async_baseline.json"


async def main() -> None:
    result = await arun_rollouts(env, k=4)
    print(result)
    baseline.parent.mkdir(parents=True, exist_ok=True)
    await result.asave(baseline)
    loaded = await EnvironmentRunResult.aload(baseline)
    assert loaded.summary() == result.summary()
    print(f"{loaded.n_attempts} attempts came back as they were saved")


if __name__ == "__main__":
    asyncio.run(main())
