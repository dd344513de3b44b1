"""rollgrid with its log on. The variant `whole` does not stream."""

import os

import work
from pydantic import BaseModel

from rollgrid import Agent, CodeScorer, Environment, OpenAIResponses, Task, run_rollouts


class Answer(BaseModel):
    value: int


def right(run, expected):
    return run.content is not None and run.content.value == expected


def rollouts(job: work.Work) -> int:
    os.environ["ROLLGRID_LOG"] = str(job.folder / "log.db")
    model = OpenAIResponses(work.MODEL, base_url=job.base_url, stream=job.variant != "whole")
    environment = Environment(
        name="peers",
        tasks=tuple(Task(work.prompt(n), work.answer(n), f"task{n}") for n in range(job.tasks)),
        scorer=CodeScorer(right),
        agent=Agent(model, output_schema=Answer, instructions=work.INSTRUCTIONS),
    )
    return run_rollouts(environment, k=job.k, concurrency=job.concurrency).n_passed


work.measured(rollouts)
