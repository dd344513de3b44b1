"""Replay a stock ledger in one query: whether an event counts depends on every event before it."""

from pydantic import BaseModel, Field

from rollgrid.agent import Agent
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer
from rollgrid.scorer.sql import executes_to_expected_rows


class Query(BaseModel):
    sql: str = Field(..., description="One read-only SQLite query")


SETUP = """
CREATE TABLE inventory_events (
  event_id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL,
  event_type TEXT NOT NULL CHECK (event_type IN ('receive', 'reserve', 'release')),
  qty INTEGER,
  reserve_event_id INTEGER,
  changed_at TEXT NOT NULL
);
INSERT INTO inventory_events VALUES
  (1, 'A', 'receive', 10, NULL, '2025-06-02 08:00'),
  (2, 'A', 'reserve', 7, NULL, '2025-06-02 08:10'),
  (3, 'A', 'release', NULL, 7, '2025-06-02 08:20'),
  (4, 'A', 'release', NULL, 2, '2025-06-02 08:30'),
  (5, 'A', 'release', NULL, 2, '2025-06-02 08:40'),
  (6, 'A', 'reserve', 10, NULL, '2025-06-02 09:00'),
  (7, 'A', 'reserve', 7, NULL, '2025-06-02 08:50'),
  (8, 'A', 'receive', 1, NULL, '2025-06-02 09:10'),
  (10, 'B', 'receive', 5, NULL, '2025-06-02 08:05'),
  (11, 'B', 'reserve', 3, NULL, '2025-06-02 08:15'),
  (12, 'B', 'reserve', 3, NULL, '2025-06-02 08:15'),
  (13, 'B', 'release', NULL, 11, '2025-06-02 08:25'),
  (14, 'B', 'reserve', 4, NULL, '2025-06-02 08:35'),
  (15, 'B', 'release', NULL, 999, '2025-06-02 08:45');
"""

PROMPT = """
The SQLite table inventory_events(event_id, sku, event_type, qty, reserve_event_id, changed_at) is a ledger of stock.
Replay each sku on its own, in the order of changed_at and then event_id, from a stock of 0:

- receive always adds qty to the stock.
- reserve is accepted only when the stock at that moment is at least qty; it then takes qty out of the stock. A
  reserve that is not accepted is rejected and leaves the stock as it is.
- release is valid only when reserve_event_id names a reserve of the same sku that was accepted earlier in the replay
  and that no valid release has used up yet. A valid release puts the qty of that reserve back into the stock and uses
  the reserve up. Every other release (a second one, one of a rejected, unknown or later reserve, or of another sku)
  is invalid and changes nothing.

Return one row for each sku with the columns sku, final_stock, accepted_reserves, rejected_reserves, valid_releases,
invalid_releases, ordered by sku.
""".strip()

agent = Agent(
    model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low", verbosity="low"),
    instructions=(
        "Answer with one SQLite query that only reads. Take every rule about time literally, and rely on nothing that "
        "the schema does not say."
    ),
    output_schema=Query,
)

env = Environment(
    name="inventory-state-sql",
    agent=agent,
    tasks=(
        Task(
            id="inventory-state",
            input=PROMPT,
            expected={"setup": SETUP, "rows": [["A", 4, 2, 1, 1, 2], ["B", 1, 2, 1, 1, 1]]},
        ),
    ),
    scorer=CodeScorer(executes_to_expected_rows),
)

if __name__ == "__main__":
    print(run_rollouts(env, k=8, concurrency=4))
