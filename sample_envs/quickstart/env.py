"""Nine small questions for a very small model: some it always gets, some sometimes, some never."""

from pydantic import BaseModel

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.local import LocalModel
from rollgrid.scorer import CodeScorer


class Reply(BaseModel):
    answer: int | str


def says(run: RunOutput, expected: str) -> bool:
    """The answer is the expected word or number; case and a full stop do not matter."""
    reply = run.content
    return isinstance(reply, Reply) and str(reply.answer).strip().rstrip(".").casefold() == expected.casefold()


agent = Agent(
    model=LocalModel(temperature=0.8, max_tokens=48),
    output_schema=Reply,
)

env = Environment(
    name="quickstart",
    agent=agent,
    tasks=(
        Task("What is 12 * 13?", "156", id="times-easy", metadata={"topic": "arithmetic"}),
        Task("What is 17 * 23?", "391", id="times-middle", metadata={"topic": "arithmetic"}),
        Task("What is 127 * 346?", "43942", id="times-hard", metadata={"topic": "arithmetic"}),
        Task("How many letters are in the word banana?", "6", id="letters", metadata={"topic": "text"}),
        Task("How many times does the letter r occur in strawberry?", "3", id="letter-r", metadata={"topic": "text"}),
        Task(
            "Which is the largest of these: 482, 915, 377, 908, 851?", "915", id="largest", metadata={"topic": "order"}
        ),
        Task("What is the capital of France?", "Paris", id="france", metadata={"topic": "capitals"}),
        Task("What is the capital of Australia?", "Canberra", id="australia", metadata={"topic": "capitals"}),
        Task("Write the word planet backwards.", "tenalp", id="backwards", metadata={"topic": "text"}),
    ),
    scorer=CodeScorer(says),
    timeout_seconds=60,
)

if __name__ == "__main__":
    print(run_rollouts(env, k=8))
