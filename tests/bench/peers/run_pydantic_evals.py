"""pydantic-evals over an agent of pydantic-ai, with its report saved."""

from dataclasses import dataclass

import work
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReportAdapter


class Answer(BaseModel):
    value: int


@dataclass
class Exact(Evaluator):  # pyright: ignore[reportUntypedBaseClass]
    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return ctx.output.value == ctx.expected_output


def evaluate(job: work.Work) -> int:
    model = OpenAIResponsesModel(work.MODEL, provider=OpenAIProvider(base_url=job.base_url, api_key="none"))
    agent = Agent(model, output_type=NativeOutput(Answer), instructions=work.INSTRUCTIONS)

    async def task(inputs: str) -> Answer:
        return (await agent.run(inputs)).output

    cases = [Case(name=f"task{n}", inputs=work.prompt(n), expected_output=work.answer(n)) for n in range(job.tasks)]
    dataset = Dataset(name="peers", cases=cases, evaluators=[Exact()])
    report = dataset.evaluate_sync(task, max_concurrency=job.concurrency, repeat=job.k, progress=False)
    (job.folder / "report.json").write_bytes(EvaluationReportAdapter.dump_json(report))
    return sum(all(one.value for one in case.assertions.values()) for case in report.cases)


work.measured(evaluate)
