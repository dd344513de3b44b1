"""Every task with calls of its own: `expected` says which, and one scorer per attempt looks for them."""

from shop_tools import close_account, find_order, refund

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer, Score, ToolCallScorer


async def calls_are_right(run: RunOutput, expected: dict[str, dict[str, object]]) -> Score:
    """`expected` maps tools to the arguments that they must be given; an empty one means that no tool may run."""
    if not expected:
        ran = [tool.tool_name for tool in run.tools if not tool.tool_call_error]
        return Score(0.0 if ran else 1.0, not ran, reason=f"ran {ran}" if ran else "ran nothing, as it should")
    return await ToolCallScorer(list(expected), arguments=expected, allow_additional=False).ascore(run)


env = Environment(
    name="tool-reliability-per-task",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="You handle orders. Look an order up before you pay anything back, and pay back what was paid.",
        tools=[find_order, refund, close_account],
        tool_call_limit=4,
    ),
    tasks=(
        Task(id="ask", input="What did I pay for A-101?", expected={"find_order": {"order_id": "A-101"}}),
        Task(
            id="refund",
            input="The boots of A-101 leak. Money back, please.",
            expected={"find_order": {"order_id": "A-101"}, "refund": {"order_id": "A-101", "cents": 8900}},
        ),
        Task(id="goodbye", input="Close my account. - Ines", expected={"close_account": {"customer": "Ines"}}),
        Task(id="thanks", input="Thank you, that is all!", expected={}),
    ),
    scorer=CodeScorer(calls_are_right),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6)
    print(result)
    result.print_report()
