"""agno's environments, saved as a file at the end. The variant `shared` makes the attempts share one client."""

import os

os.environ["AGNO_TELEMETRY"] = "false"

import work
from agno.agent import Agent
from agno.environments import Environment, Task, run_rollouts
from agno.models.openai import OpenAIResponses
from agno.scorer import CodeScorer
from pydantic import BaseModel


class Answer(BaseModel):
    value: int


def right(run, expected):
    return run.content.value == expected


def rollouts(job: work.Work) -> int:
    model = OpenAIResponses(id=work.MODEL, base_url=job.base_url, api_key="none", store=False)
    if job.variant == "shared":
        model.get_async_client()
    environment = Environment(
        name="peers",
        agent=Agent(model=model, output_schema=Answer, instructions=work.INSTRUCTIONS, telemetry=False),
        tasks=tuple(Task(input=work.prompt(n), expected=work.answer(n), id=f"task{n}") for n in range(job.tasks)),
        scorer=CodeScorer(right),
    )
    result = run_rollouts(environment, k=job.k, concurrency=job.concurrency)
    result.save(job.folder / "result.json")
    return sum(one.n_passed for one in result.task_results)


work.measured(rollouts)
