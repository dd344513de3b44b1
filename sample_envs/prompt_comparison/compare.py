"""Two prompts for one job, side by side. They are two environments, so nothing here is called better or worse."""

from dataclasses import replace

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, compare_prompts, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer


class Route(BaseModel):
    queue: str


QUEUES = "billing, delivery, returns, technical"


def is_right_queue(run: RunOutput, expected: str) -> bool:
    return run.content.queue.strip().lower() == expected


def router(instructions: str) -> Agent:
    model = OpenAIResponses(id="gpt-5.5", reasoning_effort="low")
    return Agent(model=model, instructions=instructions, output_schema=Route)


terse = Environment(
    name="router-terse",
    agent=router(f"Name the queue for this message: {QUEUES}."),
    tasks=(
        Task(id="charged-twice", input="You took the money for order 5521 two times.", expected="billing"),
        Task(
            id="not-here", input="Tracking has said 'out for delivery' since Monday. Where is it?", expected="delivery"
        ),
        Task(id="wrong-size", input="The boots pinch. Can I have them a size up instead?", expected="returns"),
        Task(id="no-login", input="The app says my password is fine and then logs me out again.", expected="technical"),
        Task(id="money-back-parcel", input="The parcel came back to you, so where is my refund?", expected="billing"),
        Task(id="broken-on-arrival", input="The lamp arrived in pieces. I want a whole one.", expected="returns"),
    ),
    scorer=CodeScorer(is_right_queue),
)

detailed = replace(
    terse,
    name="router-detailed",
    agent=router(
        f"Name the queue for this message: {QUEUES}.\n"
        "Decide by what the customer wants to happen next, not by what went wrong before. Money that is owed is "
        "billing, goods that are to be swapped are returns, goods that are on their way are delivery, and what happens "
        "on a screen is technical."
    ),
)

if __name__ == "__main__":
    comparison = compare_prompts(run_rollouts(terse, k=6), run_rollouts(detailed, k=6))
    print(comparison)
