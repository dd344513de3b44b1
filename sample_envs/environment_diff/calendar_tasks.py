"""The environment that the scripts of this folder run."""

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Answer(BaseModel):
    value: int


def is_exact(run: RunOutput, expected: int) -> bool:
    return run.content.value == expected


def days(start: str, end: str) -> str:
    return f"How many days lie between {start} and {end}, counting the second date but not the first?"


def calendar_environment(instructions: str) -> Environment:
    return Environment(
        name="calendar",
        agent=Agent(
            model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
            instructions=instructions,
            output_schema=Answer,
        ),
        tasks=(
            Task(id="one-month", input=days("2024-02-10", "2024-03-10"), expected=29),
            Task(id="no-leap-year", input=days("1899-12-31", "1900-03-01"), expected=60),
            Task(id="long-span", input=days("1867-11-07", "2023-04-18"), expected=56775),
            Task(id="iso-week", input="What is the ISO week number of 2027-01-01?", expected=53),
        ),
        scorer=CodeScorer(is_exact),
    )
