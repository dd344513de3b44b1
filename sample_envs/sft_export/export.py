"""Passing attempts as training conversations, and pairs of a passing and a failing attempt as preferences."""

from pathlib import Path

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts, to_preference_jsonl, to_sft_jsonl
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


env = Environment(
    name="sft-export",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="Count exactly.",
        output_schema=Answer,
    ),
    tasks=(
        Task(id="vowels", input="How many of the letters a, e, i, o and u are in 'the unequal heirloom'?", expected=9),
        Task(id="digits", input="How many digits does 7 to the power of 40 have?", expected=34),
        Task(id="primes", input="How many prime numbers lie between 200 and 300?", expected=16),
    ),
    scorer=CodeScorer(is_exact),
)

folder = Path(__file__).parent / "data" / "generated"

if __name__ == "__main__":
    result = run_rollouts(env, k=8)
    print(result)
    folder.mkdir(parents=True, exist_ok=True)
    # Tasks that always pass teach little, and tasks that never pass have nothing to teach.
    kept = to_sft_jsonl(result.learning_zone(), folder / "train.jsonl")
    print(f"conversations: {kept}")
    pairs = to_preference_jsonl(result, folder / "preferences.jsonl")
    print(f"preference pairs: {pairs}")
