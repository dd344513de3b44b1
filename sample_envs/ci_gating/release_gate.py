"""What a release must be able to do: a small smoke set that CI runs on every change."""

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


env = Environment(
    name="release-gate",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="Convert exactly and answer with the whole number.",
        output_schema=Answer,
    ),
    tasks=(
        Task(id="roman", input="What is MCMXLIV as a number?", expected=1944),
        Task(id="binary", input="What is 1011010 in base 2?", expected=90),
        Task(id="seconds", input="How many seconds are 2 hours, 3 minutes and 4 seconds?", expected=7384),
        Task(id="hexadecimal", input="What is 0x3F2 as a decimal number?", expected=1010),
    ),
    scorer=CodeScorer(is_exact),
)
