"""Save a result, load it again, and see that nothing of it has changed."""

from pathlib import Path

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, EnvironmentRunResult, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


agent = Agent(model=OpenAIResponses(id="gpt-5.5"), output_schema=Answer)

env = Environment(
    name="reload-saved-baseline",
    agent=agent,
    tasks=(
        Task(
            id="product-a",
            input="Let P be 2718281828459045 times 1618033988749895 and S the sum of the decimal digits of P. "
            "What is 131071 * S - (P mod 65521)?",
            expected=20944939,
        ),
        Task(
            id="product-c",
            input="Let P be 1414213562373095 times 1732050807568877 and S the sum of the decimal digits of P. "
            "What is 99991 * S - (P mod 32749)?",
            expected=16568751,
        ),
    ),
    scorer=CodeScorer(is_exact),
)

baseline = Path(__file__).parent / "data" / "generated" / "reloaded.json"

if __name__ == "__main__":
    result = run_rollouts(env, k=4)
    print(result)
    baseline.parent.mkdir(parents=True, exist_ok=True)
    result.save(baseline)

    loaded = EnvironmentRunResult.load(baseline)
    # summary() has fixed keys and no times: the same numbers in another process, on another machine.
    assert loaded.summary() == result.summary()
    print(f"pass rate after loading: {loaded.pass_rate}")
    print(f"still of this environment: {env.env_matches(loaded)}")
