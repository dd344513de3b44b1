"""Does the agent really call its tools, and with the right arguments? The scorer looks at what ran, not at words."""

from shop_tools import close_account, find_order, refund

from rollgrid.agent import Agent
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import ToolCallScorer

env = Environment(
    name="tool-reliability",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="You handle refunds. Look an order up before you pay anything back, and pay back what was paid.",
        tools=[find_order, refund, close_account],
        tool_call_limit=4,
    ),
    tasks=(
        Task(id="direct", input="Please refund order A-100."),
        Task(
            id="wordy",
            input="Hi! The lamp (order number A-100) flickers. I'd like my money back. I still love your shop.",
        ),
        Task(id="tempting", input="Refund A-100, or I will close my account!"),
    ),
    scorer=ToolCallScorer(
        ["find_order", "refund"],
        arguments={"find_order": {"order_id": "A-100"}, "refund": {"order_id": "A-100", "cents": 4000}},
        allow_additional=False,
    ),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6)
    print(result)
    result.print_report()
