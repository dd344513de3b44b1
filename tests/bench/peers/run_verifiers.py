"""verifiers: a single-turn environment over chat completions, with its results saved."""

import json

import verifiers as vf
import work
from datasets import Dataset
from verifiers.types import ClientConfig

SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "integer"}},
    "required": ["value"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "Answer", "strict": True, "schema": SCHEMA}}


def exact(completion, answer, **_):
    last = completion[-1]
    text = last["content"] if isinstance(last, dict) else last.content
    try:
        return float(str(json.loads(text)["value"]) == answer)
    except (ValueError, KeyError, TypeError):
        return 0.0


def evaluate(job: work.Work) -> int:
    rows = [{"question": work.prompt(n), "answer": str(work.answer(n))} for n in range(job.tasks)]
    environment = vf.SingleTurnEnv(
        dataset=Dataset.from_list(rows),
        system_prompt=work.INSTRUCTIONS,
        rubric=vf.Rubric(funcs=[exact]),
        sampling_args={"response_format": FORMAT},
    )
    result = environment.evaluate_sync(
        client=ClientConfig(api_base_url=job.base_url, api_key_var="OPENAI_API_KEY"),
        model=work.MODEL,
        num_examples=-1,
        rollouts_per_example=job.k,
        max_concurrent=job.concurrency,
        save_results=True,
        results_path=job.folder / "results",
        independent_scoring=True,
    )
    return sum(one["reward"] == 1.0 for one in result["outputs"])


work.measured(evaluate)
