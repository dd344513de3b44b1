"""Read an invoice out of a letter. Every field is worth the same; all of them right is a pass."""

from datetime import date
from typing import Any, cast

from pydantic import BaseModel, Field

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer, Score


class Line(BaseModel):
    item: str
    quantity: int
    unit_price_cents: int


class Invoice(BaseModel):
    vendor: str
    number: str
    issued: date
    currency: str = Field(description="ISO 4217 code")
    lines: list[Line]
    total_cents: int = Field(description="What is to be paid, taxes and discounts included")


FIELDS = ("vendor", "number", "issued", "currency", "lines", "total_cents")


def fields_are_right(run: RunOutput, expected: dict[str, Any]) -> Score:
    """The share of right fields. Text is compared without regard to case and blanks, lines without regard to order."""
    if run.content is None:
        return Score(0.0, False, reason=f"no invoice: {run.problem}")
    found = run.content.model_dump(mode="json")
    wrong = [name for name in FIELDS if _plain(found[name]) != _plain(expected[name])]
    value = (len(FIELDS) - len(wrong)) / len(FIELDS)
    return Score(
        value, not wrong, reason=f"wrong: {', '.join(wrong)}" if wrong else "all right", detail={"wrong": wrong}
    )


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split()).casefold()
    if isinstance(value, list):
        lines = cast("list[dict[str, Any]]", value)
        return sorted([sorted((key, _plain(inner)) for key, inner in line.items()) for line in lines], key=str)
    return value


env = Environment(
    name="structured-extraction",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="Extract the invoice from the letter. Amounts are in cents.",
        output_schema=Invoice,
    ),
    tasks=(
        Task(
            id="plain",
            input="INVOICE 2031\nHarbour Paper Ltd., 2 March 2026\n\n12 reams A4 at 4.50 EUR\n1 stapler at 9.95 EUR\n\n"
            "Total due: 63.95 EUR",
            expected={
                "vendor": "Harbour Paper Ltd.",
                "number": "2031",
                "issued": "2026-03-02",
                "currency": "EUR",
                "lines": [
                    {"item": "reams A4", "quantity": 12, "unit_price_cents": 450},
                    {"item": "stapler", "quantity": 1, "unit_price_cents": 995},
                ],
                "total_cents": 6395,
            },
            metadata={"trap": "none"},
        ),
        Task(
            id="discount-and-tax",
            input="Dear Ms Okafor,\n\nour bill no. K/77-4 of 30/11/2025 (day first): three desk lamps, GBP 40 each. "
            "Ten percent off for the delay, then 20 % VAT on what is left.\n\nYours, Lumen & Sons",
            expected={
                "vendor": "Lumen & Sons",
                "number": "K/77-4",
                "issued": "2025-11-30",
                "currency": "GBP",
                "lines": [{"item": "desk lamps", "quantity": 3, "unit_price_cents": 4000}],
                "total_cents": 12960,
            },
            metadata={"trap": "the total must be worked out"},
        ),
        Task(
            id="corrected",
            input="Quarry Tools, invoice 900 of 5 January 2026 replaces invoice 899.\n899 said: 5 drill bits at "
            "USD 7.20, total USD 36.00.\nCorrect is: 4 drill bits at USD 7.20 and 1 chuck key at USD 3.10. Pay "
            "USD 31.90.",
            expected={
                "vendor": "Quarry Tools",
                "number": "900",
                "issued": "2026-01-05",
                "currency": "USD",
                "lines": [
                    {"item": "drill bits", "quantity": 4, "unit_price_cents": 720},
                    {"item": "chuck key", "quantity": 1, "unit_price_cents": 310},
                ],
                "total_cents": 3190,
            },
            metadata={"trap": "an older version in the same letter"},
        ),
    ),
    scorer=CodeScorer(fields_are_right),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6)
    print(result)
    print(f"mean share of right fields: {result.mean_value}")
    result.print_report()
