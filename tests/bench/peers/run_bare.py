"""The plainest loop over the openai client that gives the same answers. Nothing is kept."""

import asyncio
import json
from typing import Any

import work
from openai import AsyncOpenAI

SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "integer"}},
    "required": ["value"],
    "additionalProperties": False,
}


async def loop(job: work.Work) -> int:
    text: Any = {"format": {"type": "json_schema", "name": "Answer", "schema": SCHEMA, "strict": True}}
    queue = [index for _ in range(job.k) for index in range(job.tasks)]
    passed = 0
    async with AsyncOpenAI(base_url=job.base_url, max_retries=0) as client:

        async def worker() -> None:
            nonlocal passed
            while queue:
                index = queue.pop()
                reply = await client.responses.create(
                    model=work.MODEL,
                    instructions=work.INSTRUCTIONS,
                    input=work.prompt(index),
                    text=text,
                    store=False,
                )
                passed += json.loads(reply.output_text)["value"] == work.answer(index)

        async with asyncio.TaskGroup() as group:
            for _ in range(job.concurrency):
                group.create_task(worker())
    return passed


work.measured(lambda job: asyncio.run(loop(job)))
