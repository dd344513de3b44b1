"""inspect-ai: one epoch for each attempt of a task, with its log."""

import json

import work
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import generate, system_message
from inspect_ai.util import json_schema
from pydantic import BaseModel


class Answer(BaseModel):
    value: int


@scorer(metrics=[accuracy()])  # pyright: ignore[reportUntypedFunctionDecorator]
def exact():
    async def score(state, target):
        try:
            found = json.loads(state.output.completion)["value"]
        except (ValueError, KeyError, TypeError):
            return Score(value=INCORRECT)
        return Score(value=CORRECT if str(found) == target.text else INCORRECT, answer=str(found))

    return score


def evaluate(job: work.Work) -> int:
    config = GenerateConfig(
        max_connections=job.concurrency,
        response_schema=ResponseSchema(name="Answer", json_schema=json_schema(Answer)),
    )
    model = get_model(f"openai/{work.MODEL}", base_url=job.base_url, api_key="none", responses_api=True, config=config)
    samples = [Sample(id=f"task{n}", input=work.prompt(n), target=str(work.answer(n))) for n in range(job.tasks)]
    task = Task(
        dataset=MemoryDataset(samples),
        solver=[system_message(work.INSTRUCTIONS), generate()],
        scorer=exact(),
    )
    (log,) = eval(
        task,
        model=model,
        epochs=job.k,
        max_samples=job.concurrency,
        max_connections=job.concurrency,
        display="none",
        log_dir=str(job.folder),
    )
    if log.status != "success" or log.results is None:
        raise SystemExit(f"the evaluation ended with {log.status}: {log.error}")
    return round(log.results.scores[0].metrics["accuracy"].value * job.attempts)


work.measured(evaluate)
